"""The scenarios as the host sees them: which boots each takes and when the power is cut.

A scenario's guest side is guest/scenarios/<name>.py with one function per phase. Its lines of the
form `LEDGER <json>` tell what was begun and what was acknowledged; after a power cut they are
handed to the next boot, which must find everything that was acknowledged.
"""

import dataclasses
import json
import pathlib
import secrets
import time

import machine

DISK_BYTES = 8 << 30
LEDGER = "LEDGER "
FAILED = "FAILED "
BOOT_SCRIPT = pathlib.Path(__file__).resolve().parent / "guest/boot.sh"


@dataclasses.dataclass(frozen=True)
class Kind:
    """What the host must know of a scenario."""
    needs_driver: bool
    cut_during: tuple  # the operations that a power cut may hit; none: the scenario has no cuts


ALL = {
    "selftest": Kind(needs_driver=False, cut_during=("write",)),
    "ext4-online-growth": Kind(needs_driver=True, cut_during=()),
    "power-cut-create": Kind(needs_driver=True, cut_during=("create", "delete")),
    "power-cut-stage": Kind(needs_driver=True, cut_during=("stage", "unstage")),
    "power-cut-expand": Kind(needs_driver=True, cut_during=("expand", "expand-filesystem")),
}


class Boots:
    """Starts the guest again and again on the same data disk."""

    def __init__(self, image, archive, disk, log, arguments):
        self._image, self._archive, self._disk, self._log = image, archive, disk, log
        self._arguments = arguments
        self.cuts = arguments.cuts

    def start(self, name, phases, ledger):
        """Boots into `phases` of the scenario. Returns the machine and its marker's beginning."""
        run_dir = self._disk.parent
        (run_dir / "ledger").write_text("\n".join(ledger), encoding="utf-8")
        token = secrets.token_hex(8)
        parameters = {"run_dir": run_dir, "disk_fs": self._arguments.disk_fs, "token": token,
                      "scenario": name, "phases": phases}
        self.note(f"boot of {name}, {phases}")
        guest = machine.Machine(self._image, self._archive, self._disk, BOOT_SCRIPT, parameters,
                                self._log, self._arguments.deadline)
        return guest, f"EXIT {token} "

    def note(self, text):
        self._log.write(f"=== {text}\n".encode())
        self._log.flush()


def run(name, boots, rng):
    """Runs all boots of a scenario. Returns None if it passed, else what went wrong."""
    if not ALL[name].cut_during:
        return run_to_end(name, boots, "run", [])
    ledger = []
    for cut in range(boots.cuts):
        phases = "check,work" if cut else "work"
        problem, ledger = run_to_power_cut(name, boots, phases, ledger, rng)
        if problem:
            return f"{problem} (boot {cut + 1})"
    return run_to_end(name, boots, "check", ledger)


def run_to_end(name, boots, phases, ledger):
    verdict = Verdict()
    guest, marker = boots.start(name, phases, ledger)
    with guest:
        for line in guest.lines():
            verdict.take(line, marker)
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


def run_to_power_cut(name, boots, phases, ledger, rng):
    """Kills the guest during one of the operations it begins; returns (problem, new ledger).

    Lines that were on their way when the power was cut count: somebody had them.
    """
    cut = CutMoment(ALL[name].cut_during, rng)
    told, verdict = [], Verdict()
    guest, marker = boots.start(name, phases, ledger)
    with guest:
        for line in guest.lines():
            verdict.take(line, marker)
            if line.startswith(LEDGER):
                told.append(line.removeprefix(LEDGER))
                if cut.reached(json.loads(told[-1])):
                    guest.cut_power()
                    boots.note(f"power cut during {told[-1]}")
    was_cut = cut.is_past and verdict.status is None
    return (None if was_cut else f"before the power cut: {verdict.problem}"), told


class CutMoment:
    """A random share into a randomly chosen operation, as long as that kind of operation took."""

    def __init__(self, operations, rng):
        self._operations = operations
        self._left = rng.randint(2, 10)
        self._share = rng.random()
        self._durations = {}
        self._begun = ("", 0.0)

    def reached(self, entry):
        """Takes in an entry of the ledger; returns True, after the right time, when to cut."""
        operation, now = entry["op"], time.monotonic()
        if entry["event"] == "ack":
            if operation == self._begun[0]:
                self._durations[operation] = now - self._begun[1]
            return False
        self._begun = (operation, now)
        if self.is_past or operation not in self._operations:
            return False
        self._left -= 1
        if self.is_past:
            time.sleep(self._share * self._durations.get(operation, 0.1))
        return self.is_past

    @property
    def is_past(self):
        return self._left <= 0
