# SPDX-License-Identifier: Apache-2.0
"""The kernel calls that both sides made, as kernel_calls.cc notes them."""
import dataclasses
import pathlib

STEP_ENDS_AFTER = 50_000_000  # nanoseconds without a call: a pause of the driver


@dataclasses.dataclass(frozen=True)
class Call:
    name: str
    start: int  # nanoseconds
    end: int
    bytes: int


class Log:
    def __init__(self, library: pathlib.Path, path: pathlib.Path):
        self._path = path
        self.environment = {"LD_PRELOAD": str(library), "HOLDFAST_BENCH_CALLS": str(path)}

    def take(self) -> list[Call]:
        """What was noted since the last time."""
        calls = self.read()
        self._path.unlink(missing_ok=True)
        return calls

    def read(self) -> list[Call]:
        if not self._path.exists():
            return []
        lines = self._path.read_text(encoding="utf-8").splitlines()
        return sorted((Call(name, *map(int, numbers))
                       for name, *numbers in map(str.split, lines)), key=lambda call: call.start)


def frozen_microseconds(calls: list[Call]) -> list[float]:
    """From the start of each freeze to the end of its thaw."""
    times, start = [], None
    for call in calls:
        if call.name == "freeze":
            start = call.start
        elif call.name == "thaw" and start is not None:
            times.append((call.end - start) / 1000)
            start = None
    return times


def unshared(calls: list[Call]) -> int:
    """Bytes."""
    return sum(call.bytes for call in calls if call.name == "unshare")


def unshare_rate(calls: list[Call]) -> float:
    """Bytes per second while it was at work; the time between the calls of a step counts."""
    work = [call for call in calls if call.name == "unshare"]
    seconds = 0
    first = work[0].start
    for call, following in zip(work, work[1:] + [None]):
        if following is None or following.start - call.end > STEP_ENDS_AFTER:
            seconds += (call.end - first) / 1e9
            first = following.start if following else 0
    return unshared(work) / seconds
