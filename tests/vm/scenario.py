"""The scenarios from the host's side: the boots of each one, and when the power is cut.

A scenario's guest side is guest/scenarios/<name>.py with one function per phase. Its lines of the
form `LEDGER <json>` report which operations were started and acknowledged. After a power cut they
are passed to the next boot, which must find everything that was acknowledged."""

import dataclasses
import json
import pathlib
import secrets
import time
import typing

import machine

DISK_BYTES = 8 << 30
DISK_FILESYSTEMS = ("ext4", "xfs", "btrfs")
LEDGER = "LEDGER "
FAILED = "FAILED "
BOOT_SCRIPT = pathlib.Path(__file__).resolve().parent / "guest/boot.sh"


@dataclasses.dataclass(frozen=True)
class Kind:
    """The host's information about a scenario."""
    needs_driver: bool
    cut_during: tuple  # the operations that a power cut may hit; none: the scenario has no cuts
    latest_cut: int = 10  # how many of them are started before it, at most
    goes_on: bool = False  # `work` continues with the volumes of earlier boots
    disk_fs: str = ""  # of the data disk; empty: as the caller wants it


ALL = {
    "selftest": Kind(needs_driver=False, cut_during=("write",)),
    "ext4-online-growth": Kind(needs_driver=True, cut_during=()),
    "clock-jumps": Kind(needs_driver=True, cut_during=()),
    "copies": Kind(needs_driver=True, cut_during=(), disk_fs="xfs"),
    "power-cut-create": Kind(needs_driver=True, cut_during=("create", "delete")),
    "power-cut-stage": Kind(needs_driver=True, cut_during=("stage", "unstage")),
    "power-cut-snapshot": Kind(
        needs_driver=True, disk_fs="xfs",
        cut_during=("snapshot", "delete-snapshot", "create", "stage", "delete")),
    "power-cut-expand": Kind(needs_driver=True, cut_during=("expand", "expand-filesystem")),
    "power-cut-load": Kind(
        needs_driver=True, latest_cut=30, goes_on=True,
        cut_during=("recover", "create", "delete", "stage", "unstage", "publish", "unpublish",
                    "write", "expand", "expand-filesystem")),
}


@dataclasses.dataclass
class Boots:
    """Starts the guest again and again on the same data disk, in whose directory its files are."""
    kernel: pathlib.Path
    archive: pathlib.Path  # the initial RAM filesystem
    disk: pathlib.Path
    disk_fs: str
    log: typing.BinaryIO
    cuts: int
    deadline_s: float  # of one boot

    def start(self, name, phases, ledger):
        """Boots into `phases` of the scenario. Returns the machine and its marker's beginning."""
        run_dir = self.disk.parent
        (run_dir / "ledger").write_text("\n".join(ledger), encoding="utf-8")
        token = secrets.token_hex(8)
        parameters = {"run_dir": run_dir, "disk_fs": self.disk_fs, "token": token,
                      "scenario": name, "phases": phases}
        self.note(f"boot of {name}, {phases}")
        guest = machine.Machine(self.kernel, self.archive, self.disk, BOOT_SCRIPT, parameters,
                                self.log, self.deadline_s)
        return guest, f"EXIT {token} "

    def note(self, text):
        self.log.write(f"=== {text}\n".encode())
        self.log.flush()


def run(name, boots, rng, told=lambda entry: None):
    """Runs all boots of a scenario. Returns None if it passed, otherwise the problem.

    `told` is called with each entry of the ledger as it arrives, and with {"event": "cut"}, which
    contains the last entry before the cut."""
    kind = ALL[name]
    if not kind.cut_during:
        return run_to_end(name, boots, "run", [], told)
    ledger = []
    durations = {}
    for cut in range(boots.cuts):
        phases = "check,work" if cut and not kind.goes_on else "work"
        moment = CutMoment(kind, rng, durations)
        problem, ledger = run_to_power_cut(name, boots, phases, ledger, moment, told)
        if problem:
            return f"{problem} (boot {cut + 1})"
    return run_to_end(name, boots, "check", ledger, told)


def run_to_end(name, boots, phases, ledger, told):
    verdict = Verdict()
    guest, marker = boots.start(name, phases, ledger)
    with guest:
        for line in guest.lines():
            verdict.take(line, marker)
            if verdict.status is not None:
                break  # its further actions may never end
            if line.startswith(LEDGER):
                told(json.loads(line.removeprefix(LEDGER)))
    return None if verdict.status == "0" else verdict.problem


class Verdict:
    """How a boot ended: the status in its marker line and the reason of a failure."""

    def __init__(self):
        self.status = None
        self._reason = "the guest's marker line never came"

    def take(self, line, marker):
        if line.startswith(FAILED):
            self._reason = line.removeprefix(FAILED)
        elif line.startswith(marker):
            self.status = line.removeprefix(marker)

    @property
    def problem(self):
        return f"{self._reason} (exit status {self.status})"


def run_to_power_cut(name, boots, phases, ledger, moment, told):
    """Kills the guest at the moment; returns (problem, the ledger for the next boot).

    Lines that were on their way when the power was cut count, because they were acknowledged.
    """
    ledger, verdict = list(ledger), Verdict()
    guest, marker = boots.start(name, phases, ledger)
    with guest:
        for line in guest.lines():
            verdict.take(line, marker)
            if verdict.status is not None:
                break
            if not line.startswith(LEDGER):
                continue
            text = line.removeprefix(LEDGER)
            entry = json.loads(text)
            if (entry["event"], entry["op"]) == ("ack", "start"):
                ledger.clear()
            ledger.append(text)
            told(entry)
            if moment.reached(entry):
                guest.cut_power()
                boots.note(f"power cut during {text}")
                told({"event": "cut", "last": entry})
    was_cut = moment.is_past and verdict.status is None
    return (None if was_cut else f"before the power cut: {verdict.problem}"), ledger


class CutMoment:
    """A random point within a randomly chosen operation, based on that kind's duration so far.

    `durations` contains the known durations, by operation; new ones are added.
    """

    def __init__(self, kind, rng, durations):
        self._operations = kind.cut_during
        self._left = rng.randint(1 if kind.goes_on else 2, kind.latest_cut)
        self._share = rng.random()
        self._durations = durations
        self._begun = {}

    def reached(self, entry):
        """Processes an entry of the ledger; returns True, after the right time, when to cut."""
        operation, now = entry["op"], time.monotonic()
        if entry["event"] == "ack":
            if (operation, entry["volume"]) in self._begun:
                begun = self._begun.pop((operation, entry["volume"]))
                self._durations[operation] = now - begun
            return False
        self._begun[operation, entry["volume"]] = now
        if self.is_past or operation not in self._operations:
            return False
        self._left -= 1
        if self.is_past:
            time.sleep(self._share * self._durations.get(operation, 0.1))
        return self.is_past

    @property
    def is_past(self):
        return self._left <= 0
