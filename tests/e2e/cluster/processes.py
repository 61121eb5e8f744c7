# SPDX-License-Identifier: Apache-2.0
"""Commands that end and processes that stay, each with a log file."""

import pathlib
import signal
import subprocess
import time

STOP_SECONDS = 20


def run(*command, **options):
    """Runs a command that must succeed and returns its output; reports its output if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {done.stdout[-4000:]}")
    return done.stdout.rstrip("\n")


def until(condition, problem, seconds=60, interval=0.1):
    """Waits for a true value and returns it; `problem` is a sentence or makes one."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{problem() if callable(problem) else problem} ({seconds} s)")
        time.sleep(interval)
    return value


def only_child(pid):
    """Returns the child of a process that has one, once it is there."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    return int(until(lambda: children.read_text().split(), f"process {pid} has no child", 10,
                     0.005)[0])


class Process:
    """A program with its log. `enter` is the command that puts it into a namespace, such as
    nsenter, which stays as its parent."""

    def __init__(self, command, log, enter=(), environment=None):
        self.command = [str(word) for word in command]
        self.log = pathlib.Path(log)
        self.enter = [str(word) for word in enter]
        self.environment = environment
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*self.enter, *self.command], stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, env=self.environment, start_new_session=True)
        return self

    @property
    def pid(self):
        return only_child(self.process.pid) if self.enter else self.process.pid

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def check(self):
        assert self.is_running(), f"{self.command[0]} ended:\n{self.tail()}"

    def kill(self, number=signal.SIGKILL):
        if self.is_running():
            subprocess.run(["kill", f"-{int(number)}", str(self.pid)], check=True)
        return self.wait()

    def stop(self):
        return self.kill(signal.SIGTERM)

    def wait(self):
        return self.process.wait(STOP_SECONDS) if self.process else None

    def tail(self, size=3000):
        return self.log.read_text(errors="replace")[-size:] if self.log.exists() else ""
