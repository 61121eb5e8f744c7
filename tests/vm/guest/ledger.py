"""What was begun and what was acknowledged before a power cut, told over the console.

A begin line goes out before an operation, an ack line after its success has been seen. The host
keeps the lines and gives them to the next boot in the file `ledger` of the run's directory.
"""

import dataclasses
import json


def begin(operation, volume, **facts):
    _tell("begin", operation, volume, facts)


def ack(operation, volume, **facts):
    _tell("ack", operation, volume, facts)


def _tell(event, operation, volume, facts):
    entry = {"event": event, "op": operation, "volume": volume, **facts}
    print("LEDGER " + json.dumps(entry), flush=True)


@dataclasses.dataclass
class Ledger:
    """The entries of the boot before, in order. `interrupted` was begun and never acknowledged."""
    acknowledged: list
    interrupted: dict | None


def read(run_dir):
    lines = (run_dir / "ledger").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    interrupted = entries[-1] if entries and entries[-1]["event"] == "begin" else None
    return Ledger([entry for entry in entries if entry["event"] == "ack"], interrupted)
