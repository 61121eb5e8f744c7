# SPDX-License-Identifier: Apache-2.0
"""A small disk for a pool: a filesystem on a loop device, mounted where the pool is."""

import subprocess

MKFS = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"],
        "xfs without reflink": ["mkfs.xfs", "-q", "-f", "-m", "reflink=0"],
        "btrfs": ["mkfs.btrfs", "-q", "-f"]}
ATTACH_ATTEMPTS = 10


def run(*command):
    """Runs a command that must succeed and returns its output without the last newline."""
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.rstrip("\n")


def attach(path):
    """Returns a loop device that shows the file or device; another process may take a free one
    first."""
    for _ in range(ATTACH_ATTEMPTS - 1):
        try:
            return run("losetup", "--find", "--show", path)
        except subprocess.CalledProcessError:
            continue
    return run("losetup", "--find", "--show", path)


class PoolDisk:
    """Mounted from the start; `options` are for mount(8)."""

    def __init__(self, image, size, filesystem, mount_point, *options):
        self.image, self.mount_point, self.options = image, mount_point, options
        self.filesystem = filesystem
        mount_point.mkdir(parents=True, exist_ok=True)
        with open(image, "xb") as file:
            file.truncate(size)
        run(*MKFS[filesystem], image)
        self.device = attach(image)
        self.mounted = False
        self.mount()

    def mount(self):
        run("mount", *self.options, self.device, self.mount_point)
        self.mounted = True

    def unmount(self, *options):
        run("umount", *options, self.mount_point)
        self.mounted = False

    def remove(self):
        if self.mounted:
            self.unmount()
        run("losetup", "--detach", self.device)
