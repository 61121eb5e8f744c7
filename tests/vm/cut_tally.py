"""Counts which operations power cuts hit, and the state found after them."""

import collections
import time


class DiskTally:
    """The counts of one data disk; receives the entries of its ledger as they arrive."""

    def __init__(self, filesystem, number, cuts):
        self._where = {"filesystem": filesystem, "number": number}
        self._wanted = cuts
        self._begun_at = time.monotonic()
        self._cuts = self._survived = self._volumes = self._files = self._kernel_faults = 0
        self._hit = collections.Counter()
        self._answered = collections.Counter()
        self._problem = None

    def take(self, entry):
        if entry["event"] == "cut":
            self._cuts += 1
            self._hit[entry["last"]["op"]] += 1
            print(f"{self._where['filesystem']} disk {self._where['number']}: cut {self._cuts} of "
                  f"{self._wanted}, during {entry['last']['op']} of "
                  f"{entry['last']['volume'] or 'all'}; {self._survived} survived, "
                  f"{time.monotonic() - self._begun_at:.0f} s", flush=True)
        elif entry["op"] == "kernel-fault":
            self._kernel_faults += 1
        elif entry["event"] == "ack":
            self._answered[entry["op"]] += 1
            if "verified" in entry:
                self._survived = self._cuts
                self._volumes += entry["verified"][0]
                self._files += entry["verified"][1]

    def finish(self, problem):
        self._problem = problem
        if not problem:
            self._survived = self._cuts

    def facts(self):
        return {**self._where, "cuts": self._cuts, "survived": self._survived,
                "hit": dict(self._hit), "answered": dict(self._answered),
                "volumes_checked": self._volumes, "files_checked": self._files,
                "kernel_faults": self._kernel_faults, "problem": self._problem,
                "seconds": round(time.monotonic() - self._begun_at)}


def show_totals(disks):
    """A line for each host filesystem."""
    keys = ("cuts", "survived", "volumes_checked", "files_checked", "kernel_faults")
    print(f"{'host':8}{'disks':>6}" + "".join(f"{key:>17}" for key in keys)
          + f"{'calls':>9}{'problems':>10}")
    for filesystem in sorted({disk["filesystem"] for disk in disks}):
        mine = [disk for disk in disks if disk["filesystem"] == filesystem]
        totals = "".join(f"{sum(disk[key] for disk in mine):>17}" for key in keys)
        calls = sum(sum(disk["answered"].values()) for disk in mine)
        problems = sum(disk["problem"] is not None for disk in mine)
        print(f"{filesystem:8}{len(mine):>6}{totals}{calls:>9}{problems:>10}")
