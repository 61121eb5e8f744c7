# SPDX-License-Identifier: Apache-2.0
"""The figures of snapshots that have a target, from the results."""
from harness.figures import Row, milliseconds
from harness.settings import FILESYSTEMS

from .measure import WRITERS

MIB = 1 << 20
KNOWN = ("ext4", "xfs")  # that can be frozen


def rows(results: dict) -> list[Row]:
    return _calls(results) + _frozen(results) + _bulk(results) + [_memory(results)]


def _times(group: str, figure: str, sides: dict, most: float) -> Row:
    raw, driver = (sides[side]["p50_us"] for side in ("raw", "driver"))
    return Row(group, figure, f"≤ {most:g} × raw",
               f"{milliseconds(driver)}, raw {milliseconds(raw)}: {driver / raw:.2f} ×",
               driver <= most * raw)


def _calls(results: dict) -> list[Row]:
    steps = results["calls"]
    group = "Volumes that are not in use"
    found = [_times(group, f"{name}, {filesystem}", steps[filesystem][step], most)
             for step, name, most in (("snapshot", "CreateSnapshot", 2),
                                      ("restore", "CreateVolume from a snapshot", 2),
                                      ("stage_restored", "First NodeStageVolume of a copy", 1.3))
             for filesystem in FILESYSTEMS]
    return found


def _frozen(results: dict) -> list[Row]:
    return [_times(f"Filesystems with {WRITERS} writers", f"Frozen for a snapshot, {filesystem}",
                   results["frozen"][filesystem], 1.2) for filesystem in KNOWN]


def _rates(figure: str, driver: float, raw: float, name: str, least: float) -> Row:
    return Row("Blocks of its own", figure, f"≥ {least:g} × {name}",
               f"{driver / MIB:.0f} MiB/s, {name} {raw / MIB:.0f}: {driver / raw:.2f} ×",
               driver >= least * raw)


def slowest_part(results: dict) -> str:
    return min(("read", "write", "link"), key=lambda part: results["link"][part])


def _bulk(results: dict) -> list[Row]:
    unshare, copy, link = (results[name] for name in ("unshare", "copy", "link"))
    part = slowest_part(results)
    return [_rates("Unsharing a thick snapshot, while at work", unshare["driver"], unshare["raw"],
                   "raw", 0.9),
            _rates("Copying a volume", copy["driver"], copy["raw"], "raw", 0.9),
            _rates("Restoring on another node", link["driver"], link[part], f"the {part}", 0.7)]


def growth_mib(results: dict) -> float:
    before, after = (results["memory"][name] for name in ("before", "after"))
    return (after["VmRSS"] - before["VmRSS"]) / 1024


def _memory(results: dict) -> Row:
    growth = growth_mib(results)
    return Row("Memory", f"Growth with {results['memory']['snapshots']} snapshots", "≤ 1 MiB",
               f"{growth:+.2f} MiB", growth <= 1)
