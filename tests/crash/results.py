# SPDX-License-Identifier: Apache-2.0
"""The results of a run, as a table and as JSON: saved as they arrive, so that an interrupted run
can be continued."""

import collections
import dataclasses
import hashlib
import json
import os
import platform

import plan
from case import Case, Result

COLUMNS = ("kill", "kill-child", "stop", "power", "error", "cancel", "deadline", "given up", "second kill",
           "power later")
BEGIN, END = "<!-- crash: begin -->", "<!-- crash: end -->"


class Results:
    """One file with one line of JSON per result; the first line identifies the binary."""

    def __init__(self, path, binary, fresh):
        self.path = path
        self.header = {"binary": hashlib.sha256(binary.read_bytes()).hexdigest()}
        self.found = {}  # by case
        path.parent.mkdir(parents=True, exist_ok=True)
        if not fresh and path.exists():
            self.read()
        if not self.found:
            path.write_text(json.dumps(self.header) + "\n")

    def read(self):
        header, *lines = self.path.read_text().splitlines()
        if json.loads(header) != self.header:
            return
        for line in lines:
            try:
                result = Result(**json.loads(line))
            except ValueError:  # interrupted while it was written
                continue
            if not result.problem:  # a problem is tried again
                self.found[result.case] = result

    def add(self, result):
        self.found[result.case] = result
        with self.path.open("a") as file:
            file.write(json.dumps(dataclasses.asdict(result)) + "\n")

    def of(self, cases):
        return [self.found[str(case)] for case in cases if str(case) in self.found]


def problems(results):
    return [result for result in results if result.problem]


def tally(results):
    """By row (operation, filesystem, provisioning): how many calls were counted, and by kind of
    fault how many cases were tried and survived; not those whose call did not come."""
    rows = collections.defaultdict(lambda: {"calls": 0, "tried": collections.Counter(),
                                            "survived": collections.Counter()})
    for result in results:
        case = Case.parse(result.case)
        row, kind = rows[plan.row_of(case)], plan.kind_of_fault(case)
        if case.fault == "none":
            if case.then == "again":
                row["calls"] = len(result.points)
        elif result.problem or (result.second_struck if case.second else result.struck):
            row["tried"][kind] += 1
            row["survived"][kind] += not result.problem
    return rows


def cell(tried, survived):
    if not tried:
        return ""
    return str(tried) if tried == survived else f"**{survived} of {tried}**"


def table(results):
    """Markdown, with a last row of sums."""
    rows = tally(results)
    lines = ["| operation | filesystem | calls | " + " | ".join(COLUMNS) + " |",
             "|---|---|" + "---:|" * (1 + len(COLUMNS))]
    tried, survived, calls = collections.Counter(), collections.Counter(), 0
    for (operation, filesystem, provisioning), row in rows.items():
        cells = [cell(row["tried"][kind], row["survived"][kind]) for kind in COLUMNS]
        lines.append(f"| {operation} | {filesystem} {provisioning} | {row['calls']} | "
                     + " | ".join(cells) + " |")
        tried.update(row["tried"])
        survived.update(row["survived"])
        calls += row["calls"]
    cells = [cell(tried[kind], survived[kind]) for kind in COLUMNS]
    lines.append(f"| **all** | | {calls} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def as_json(results, seconds):
    rows = tally(results)
    return json.dumps({
        "seconds": round(seconds), "kernel": platform.release(), "cores": os.cpu_count(),
        "tried": sum(sum(row["tried"].values()) for row in rows.values()),
        "survived": sum(sum(row["survived"].values()) for row in rows.values()),
        "rows": [{"operation": operation, "filesystem": filesystem, "provisioning": provisioning,
                  "calls": row["calls"], "tried": dict(row["tried"]),
                  "survived": dict(row["survived"])}
                 for (operation, filesystem, provisioning), row in rows.items()],
        "problems": [dataclasses.asdict(result) for result in problems(results)]}, indent=1) + "\n"


def write_into(page, text):
    """Replaces the text between the marks on a page."""
    head, _, rest = page.read_text().partition(BEGIN)
    _, _, tail = rest.partition(END)
    page.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}")
