# SPDX-License-Identifier: Apache-2.0
"""A section of a page that a program of its own writes. It is between two marks, so that each
program can write its part of the page."""
import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Section:
    name: str  # in the marks

    @property
    def _begin(self) -> str:
        return f"<!-- {self.name}: begin -->"

    @property
    def _end(self) -> str:
        return f"<!-- {self.name}: end -->"

    def write(self, page: pathlib.Path, text: str) -> None:
        before, _, after = self._parts(page.read_text(encoding="utf-8"))
        page.write_text(f"{before}{self._begin}\n{text}{self._end}{after}", encoding="utf-8")

    def present(self, page: pathlib.Path) -> str:
        """As it is in the page now, with its marks, for programs that write the rest of it."""
        if not page.exists():
            return f"{self._begin}\n{self._end}"
        return f"{self._begin}{self._parts(page.read_text(encoding='utf-8'))[1]}{self._end}"

    def _parts(self, text: str) -> tuple[str, str, str]:
        if self._begin not in text:
            return f"{text.rstrip()}\n\n", "\n", "\n"
        before, rest = text.split(self._begin, 1)
        section, after = rest.split(self._end, 1)
        return before, section, after


LARGE_CLUSTERS = Section("large clusters")
SNAPSHOTS = Section("snapshots")
