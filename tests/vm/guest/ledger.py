"""The operations that were started and acknowledged before a power cut, sent over the console.

A begin line is sent before an operation, an ack line after it has succeeded. The host keeps the
lines and passes them to the next boot in the file `ledger` of the run's directory. An acknowledged
`start` describes the disk at that moment; everything before it is dropped."""

import dataclasses
import json
import sys
import threading

_one_line = threading.Lock()


def begin(operation, volume, **facts):
    _tell("begin", operation, volume, facts)


def ack(operation, volume, **facts):
    _tell("ack", operation, volume, facts)


def _tell(event, operation, volume, facts):
    entry = {"event": event, "op": operation, "volume": volume, **facts}
    with _one_line:
        sys.stdout.write(f"LEDGER {json.dumps(entry)}\n")
        sys.stdout.flush()


@dataclasses.dataclass
class Ledger:
    """The entries since the last start, in order."""
    entries: list

    @property
    def acknowledged(self):
        return [entry for entry in self.entries if entry["event"] == "ack"]

    @property
    def interrupted(self):
        """The last entry that was started and never acknowledged; for scenarios with one worker."""
        last = self.entries[-1] if self.entries else None
        return last if last and last["event"] == "begin" else None


def read(run_dir):
    lines = (run_dir / "ledger").read_text(encoding="utf-8").splitlines()
    return Ledger([json.loads(line) for line in lines])
