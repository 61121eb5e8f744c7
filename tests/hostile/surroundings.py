# SPDX-License-Identifier: Apache-2.0
"""Everything that a call could change: files, mounts, loop devices, programs. Two snapshots show
whether one did."""

import contextlib
import hashlib
import os
import stat

import host
import mount_table

# Made and removed whenever the driver comes to it, after a question about the blocks of a snapshot.
TABLES = ("digests", "digests.tmp")
SMALL_FILE = 1 << 20  # bytes; larger files are volumes, which their filesystems write to by themselves


def describe(path):
    """All properties of one file that a call could change, without those that a mounted volume
    changes."""
    facts = os.lstat(path)
    kind = stat.S_IFMT(facts.st_mode)
    described = [kind, stat.S_IMODE(facts.st_mode), facts.st_uid, facts.st_gid, facts.st_ino]
    if kind == stat.S_IFLNK:
        described.append(os.readlink(path))
    elif kind == stat.S_IFREG:
        described.append(facts.st_size)
        if facts.st_size <= SMALL_FILE:
            with open(path, "rb") as file:
                described.append(hashlib.sha256(file.read()).hexdigest())
    elif kind in (stat.S_IFBLK, stat.S_IFCHR):
        described.append(facts.st_rdev)
    return tuple(described)


def files_below(*roots):
    """Every file below the roots by its path."""
    found = {}
    for root in roots:
        found[str(root)] = describe(root)
        for directory, directories, files in os.walk(root):
            directories[:] = [name for name in directories if name not in TABLES]
            for name in [*directories, *(name for name in files if name not in TABLES)]:
                path = os.path.join(directory, name)
                found[path] = describe(path)
    return found


class Surroundings:
    """The roots that the driver writes to, those that it must never touch, and the kernel."""

    def __init__(self, driver, *roots):
        self.driver = driver
        self.roots = [driver.pool, driver.directory / "state", *roots]

    def take(self):
        return {"files": files_below(*self.roots),
                "mounts": {(mount.point, mount.device, mount.root, mount.options): 1
                           for mount in mount_table.read()},
                "loops": self.loops(),
                "programs": {pid: 1 for pid in self.programs()}}

    def loops(self):
        """The driver's devices only, because the host's others vary."""
        return {device: backing for device, backing in host.loop_backings().items()
                if backing.startswith(f"{self.driver.directory}/")}

    def programs(self):
        """The driver's child processes."""
        pid = self.driver.server.process.pid
        found = []
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
                with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as children:
                    found += children.read().split()
        return found


def differences(before, after):
    """A sentence for each thing that is not as it was."""
    found = []
    for kind, old in before.items():
        new = after[kind]
        found += [f"{kind}: {name!r} has appeared" for name in new.keys() - old.keys()]
        found += [f"{kind}: {name!r} is gone" for name in old.keys() - new.keys()]
        found += [f"{kind}: {name!r} has changed: {old[name]} to {new[name]}"
                  for name in old.keys() & new.keys() if old[name] != new[name]]
    return found
