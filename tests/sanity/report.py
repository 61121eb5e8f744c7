# SPDX-License-Identifier: Apache-2.0
"""Reads csi-sanity's JUnit report and the list of explained skips."""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree

SPEC = "[It] "  # other nodes of the suite count only when they fail


@dataclasses.dataclass(frozen=True)
class Spec:
    name: str
    outcome: str  # passed, failed or skipped
    text: str  # why it failed or was skipped


def read(path):
    """Returns the specs of a report, none if csi-sanity wrote no report."""
    if not path.exists():
        return []
    specs = []
    for case in ElementTree.parse(path).iter("testcase"):
        outcome = {"passed": "passed", "skipped": "skipped", "pending": "skipped"}.get(
            case.get("status"), "failed")
        if case.get("name").startswith(SPEC) or outcome == "failed":
            specs.append(Spec(case.get("name").removeprefix(SPEC), outcome, reason(case)))
    return specs


def reason(case):
    """Returns the report's text about a spec that did not pass; the body repeats the message."""
    kinds = ("skipped", "failure", "error")
    elements = [element for kind in kinds for element in case.findall(kind)]
    return "\n".join((element.text or element.get("message") or "").strip() for element in elements)


class Skips:
    """The files' lines are `CAPABILITY regular expression over spec names`; # starts a comment."""

    def __init__(self, *paths):
        lines = [line.strip() for path in paths for line in path.read_text().splitlines()]
        self.lines = [line for line in lines if line and not line.startswith("#")]
        self.used = set()

    def capability(self, name):
        """Returns the capability that a skipped spec needs, or None if no line explains it."""
        for line in self.lines:
            capability, pattern = line.split(maxsplit=1)
            if re.search(pattern, name):
                self.used.add(line)
                return capability
        return None

    def unused(self):
        return [line for line in self.lines if line not in self.used]
