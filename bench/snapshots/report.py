# SPDX-License-Identifier: Apache-2.0
"""The section of docs/benchmarks.md on snapshots, from the results and bench/snapshots/text.md."""
import pathlib
import string

from harness import tables
from harness.section import SNAPSHOTS
from harness.settings import FILESYSTEMS

from . import figures, plot

TEXT = pathlib.Path(__file__).resolve().parent / "text.md"
STEPS = {"snapshot": "CreateSnapshot", "restore": "CreateVolume from a snapshot",
         "stage_restored": "NodeStageVolume of the copy, first",
         "delete_restored": "DeleteVolume of the copy", "delete_snapshot": "DeleteSnapshot"}


def write(results: dict, docs: pathlib.Path) -> None:
    plot.draw(results, docs / "images/bench-snapshots.svg")
    link = results["link"]
    SNAPSHOTS.write(docs / "benchmarks.md", string.Template(
        TEXT.read_text(encoding="utf-8")).substitute(
            taken=tables.taken(results), targets=tables.targets(figures.rows(results)),
            calls=_calls(results), link=_link(link),
            cpu=", ".join(f"{seconds:.1f} s for the {name}"
                          for name, seconds in link["cpu_seconds"].items()),
            mebibytes=link["mebibytes"], cores=results["machine"]["cores"]))


def _calls(results: dict) -> str:
    steps = results["calls"]
    lines = [[name] + [_cell(steps[filesystem][step][side]) for filesystem in FILESYSTEMS
                       for side in ("driver", "raw")] for step, name in STEPS.items()]
    return tables.table(["p50 / p99, ms"] + [f"{filesystem}, {side}" for filesystem in FILESYSTEMS
                                             for side in ("driver", "raw")], lines)


def _cell(side: dict) -> str:
    return " / ".join(f"{side[key] / 1000:.3g}" for key in ("p50_us", "p99_us"))


def _link(link: dict) -> str:
    names = {"read": "reading the snapshot, direct I/O", "write": "writing a file, direct I/O",
             "link": "the link: gRPC and TLS through a second process",
             "driver": "Holdfast, all of it"}
    return tables.table(["", "MiB/s"], [[name, f"{link[part] / 2**20:.0f}"]
                                        for part, name in names.items()])
