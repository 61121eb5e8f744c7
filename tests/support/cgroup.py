# SPDX-License-Identifier: Apache-2.0
"""A control group (version 1) that is created for one test and removed after it."""

import os
import pathlib

ROOT = pathlib.Path("/sys/fs/cgroup")


def missing(controller):
    """Why groups of this controller cannot be made here, or None."""
    if (ROOT / controller / "tasks").exists():
        return None
    return f"no cgroup (version 1) of controller {controller} at {ROOT}"


class Cgroup:
    """At the end its processes are moved back to their previous group."""

    def __init__(self, controller):
        top = ROOT / controller
        lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
        own = next(path for _, controllers, path in (line.split(":", 2) for line in lines)
                   if controller in controllers.split(","))
        self._parent = top / own.lstrip("/")
        self._group = self._parent / f"holdfast-{os.getpid()}"

    def __enter__(self):
        self._group.mkdir()
        return self

    def __exit__(self, *unused):
        self.release()
        self._group.rmdir()

    @property
    def path(self):
        return self._group

    def get(self, name):
        return int((self._group / name).read_text())

    def set(self, name, value):
        (self._group / name).write_text(str(value))

    def add(self, pid):
        (self._group / "cgroup.procs").write_text(str(pid))

    def release(self):
        for pid in (self._group / "cgroup.procs").read_text().split():
            (self._parent / "cgroup.procs").write_text(pid)
