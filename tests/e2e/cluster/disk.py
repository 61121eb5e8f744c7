# SPDX-License-Identifier: Apache-2.0
"""A node's own disk: a filesystem in a sparse file, so that each node really has its own space."""

import json
import os

from cluster.processes import run

ATTACH_ATTEMPTS = 10


def loop_devices():
    """Returns the device, "major:minor" of the filesystem with its backing file, and that file's
    inode and name."""
    said = run("losetup", "--list", "--json", "--output", "NAME,BACK-MAJ:MIN,BACK-INO,BACK-FILE")
    return [(found["name"], found["back-maj:min"].strip(), found["back-ino"],
             found["back-file"] or "")
            for found in (json.loads(said)["loopdevices"] if said else [])
            if found["back-maj:min"]]  # none: it was detached while losetup looked


def locks_on(device):
    """Returns the loop devices that a kubelet has put on a block volume's device."""
    entry = os.stat(device)
    where = f"{os.major(entry.st_dev)}:{os.minor(entry.st_dev)}", entry.st_ino
    return [name for name, on, inode, _ in loop_devices() if (on, int(inode)) == where]


class Disk:
    def __init__(self, image, size, filesystem="xfs"):
        self.image = image
        self.size = size
        self.filesystem = filesystem
        self.device = None
        self.make()

    def make(self):
        with open(self.image, "xb") as file:
            file.truncate(self.size)
        run(f"mkfs.{self.filesystem}", "-q", self.image)
        self.device = self.attach()

    def attach(self):
        for _ in range(ATTACH_ATTEMPTS - 1):  # another process may take a free device first
            try:
                return run("losetup", "--find", "--show", self.image)
            except RuntimeError:
                continue
        return run("losetup", "--find", "--show", self.image)

    def volume_loops(self):
        """Returns the loop devices whose backing file lies on this disk."""
        number = run("lsblk", "--nodeps", "--noheadings", "--output", "MAJ:MIN",
                     self.device).strip()
        return [(device, file) for device, on, _, file in loop_devices() if on == number]

    def release(self):
        """Frees the device, after every device that is backed by files on the disk."""
        for device, _ in self.volume_loops():
            for lock in locks_on(device):
                run("losetup", "--detach", lock)
            run("losetup", "--detach", device)

    def remove(self):
        self.release()
        run("losetup", "--detach", self.device)
