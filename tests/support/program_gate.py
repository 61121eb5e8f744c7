# SPDX-License-Identifier: Apache-2.0
"""Holds a program such as mkfs.ext4 at its start, to observe what happens while it runs.

Within the mount namespace of the test run, a script replaces the program. It announces itself,
waits until it is released, and becomes the real program."""

import os
import pathlib
import select
import shutil
import signal

from pool_disk import run

WAIT_SECONDS = 30
SCRIPT = """#!/bin/sh
echo $$ >>'{started}'
echo >'{arrival}'
read word <'{gate}'
exec '{real}' "$@"
"""


class ProgramGate:
    def __init__(self, program, directory):
        self.place = pathlib.Path(shutil.which(program)).resolve()
        self.directory = directory / f"gate-{program}"
        self.directory.mkdir()
        self.started = self.directory / "started"
        self.started.touch()
        self.gate = self.directory / "gate"
        self.arrival = self.directory / "arrival"
        for fifo in (self.gate, self.arrival):
            os.mkfifo(fifo)
        # Open for reading and writing, so that neither side waits for the other to open.
        self.arrival_end = os.open(self.arrival, os.O_RDWR)
        self.gate_end = os.open(self.gate, os.O_RDWR)
        # e2fsprogs chooses its behaviour by the name under which it was started.
        real = self.directory / program
        shutil.copy(self.place, real)
        script = self.directory / "script"
        script.write_text(SCRIPT.format(started=self.started, arrival=self.arrival, gate=self.gate,
                                        real=real))
        script.chmod(0o755)
        run("mount", "--bind", script, self.place)

    def starts(self):
        """How often the program was started."""
        return len(self.started.read_text().splitlines())

    def pids(self):
        return [int(line) for line in self.started.read_text().splitlines()]

    def wait_until_started(self):
        ready, _, _ = select.select([self.arrival_end], [], [], WAIT_SECONDS)
        assert ready, f"{self.place} was not started"
        os.read(self.arrival_end, 1)

    def let_through(self):
        os.write(self.gate_end, b"go\n")

    def kill(self):
        """Kills the waiting programs, as the end of a container kills all of its processes."""
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def remove(self):
        run("umount", self.place)
        os.close(self.arrival_end)
        os.close(self.gate_end)
