# SPDX-License-Identifier: Apache-2.0
"""The section of docs/benchmarks.md on large clusters, from the results and bench/scale/text.md."""
import pathlib
import string

from harness.section import LARGE_CLUSTERS

from . import figures, plot
from .measure import PUSH_SECONDS, WORKERS

TEXT = pathlib.Path(__file__).resolve().parent / "text.md"


def write(results: dict, objects: dict | None, docs: pathlib.Path) -> None:
    """`objects` are the results of bench/scale/cluster, if there are any."""
    plot.draw(results, docs / "images/bench-scale.svg")
    section = _section(results) + (_objects(objects) if objects else "")
    LARGE_CLUSTERS.write(docs / "benchmarks.md", section)


def _section(results: dict) -> str:
    most = results["sizes"][-1]
    restart = most["restarts"][-1]
    facts = results["machine"]
    machine = (f"Taken {results['taken']} on {facts['cpu']}, {facts['cores']} cores; load average "
               f"before the start: {results['load_before']}.")
    return string.Template(TEXT.read_text(encoding="utf-8")).substitute(
        machine=machine, targets=_targets(results), sizes=_sizes(results), calls=_calls(results),
        growth=f"{figures.growth_kib(results):.0f}", cores=facts["cores"],
        handshake=f"{1000 * restart['cpu_seconds'] / most['nodes']:.1f}", push_seconds=PUSH_SECONDS)


def _table(head: list[str], lines: list[list[str]]) -> str:
    align = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, align, *lines])


def _targets(results: dict) -> str:
    lines = [[row.figure, row.target, row.measured, "yes" if row.met else "**no**"]
             for row in figures.rows(results)]
    return _table(["Figure", "Target", "Measured", "Met"], lines)


def _sizes(results: dict) -> str:
    head = ["", *(f"{size['nodes']} nodes" for size in results["sizes"])]

    def line(name: str, value) -> list[str]:
        return [name, *(value(size) for size in results["sizes"])]

    def linked(value):
        return lambda size: value(size) if size["nodes"] else ""

    return _table(head, [
        line("Resident, MiB", lambda size: f"{size['idle']['VmRSS'] / 1024:.0f}"),
        line("after calls, MiB", linked(lambda size: f"{size['after_calls']['VmRSS'] / 1024:.0f}")),
        line("after all nodes were lost and came back, MiB",
             linked(lambda size: f"{size['busy']['VmRSS'] / 1024:.0f}")),
        line("Processor, idle (keepalives), % of one",
             lambda size: f"{size['idle_cpu_percent']:.1f}"),
        line(f"Processor, a change of each node every {PUSH_SECONDS} s, %",
             linked(lambda size: f"{size['busy']['cpu_percent']:.1f}")),
        line("Threads", lambda size: str(size["idle"]["Threads"])),
        line("File descriptors", lambda size: str(size["idle"]["files"])),
        line("All back after kill -9, s",
             linked(lambda size: " / ".join(f"{restart['seconds']:.1f}"
                                            for restart in size["restarts"]))),
        line("Processor time for that, s",
             linked(lambda size: f"{size['restarts'][-1]['cpu_seconds']:.1f}"))])


def _calls(results: dict) -> str:
    linked = [size for size in results["sizes"] if size["nodes"]]
    head = ["p50 / p99, ms (calls per second)", *(f"{size['nodes']} nodes" for size in linked)]
    lines = []
    for workers in map(str, WORKERS):
        for name, value in (
                ("GetCapacity", lambda size: size["capacity"][workers]),
                ("GetCapacity, changes in the background",
                 lambda size: size["busy"]["capacity"][workers]),
                ("CreateVolume", lambda size: size["volumes"][workers]["create"]),
                ("DeleteVolume", lambda size: size["volumes"][workers]["delete"])):
            lines.append([f"{name}, {workers} at a time",
                          *(_cell(value(size)) for size in linked)])
    lines.append(["CreateVolume, any node, 4 at a time",
                  *(_cell(size["anywhere"]["create"]) for size in linked)])
    lines.append(["ListVolumes, all volumes in pages of 500",
                  *(f"{size['list']['p50_us'] / 1000:.0f}" for size in linked)])
    return _table(head, lines)


def _cell(step: dict) -> str:
    return (f"{step['p50_us'] / 1000:.2f} / {step['p99_us'] / 1000:.2f} "
            f"({step['per_second']:.0f})")


def _objects(objects: dict) -> str:
    steady, claims = objects["steady"], objects["claims"]
    count = objects["nodes"] * objects["classes"]
    return f"""
### Capacity objects

A real apiserver 1.36.1 and the stock external-provisioner v6.3.0 with the chart's flags maintain
a CSIStorageCapacity object for each of {objects['nodes']} nodes and {objects['classes']} classes.
The nodes exist as Node objects and are linked by the simulation (`bench/scale/cluster`).

{_table(["", "seconds"], [
    [f"All {count} objects created, correct to the byte", f"{objects['all_seconds']:.1f}"],
    ["A claim's volume created, median / maximum",
     f"{claims['volume_seconds']['median']:.2f} / {claims['volume_seconds']['most']:.2f}"],
    ["then: the node's object shows it, median / maximum",
     f"{claims['shown_seconds']['median']:.2f} / {claims['shown_seconds']['most']:.2f}"],
    [f"{objects['joining']} nodes join: their objects are there",
     f"{objects['join_seconds']:.1f}"],
    [f"{objects['joining']} nodes leave: their objects are gone",
     f"{objects['leave_seconds']:.1f}"]])}

When idle, the provisioner takes {steady['provisioner']['cpu_percent']:.1f} % of a
processor and {steady['provisioner']['VmRSS'] / 1024:.0f} MiB, and the controller
{steady['controller']['cpu_percent']:.1f} % and {steady['controller']['VmRSS'] / 1024:.0f} MiB.
"""
