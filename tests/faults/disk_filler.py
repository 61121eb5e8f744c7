# SPDX-License-Identifier: Apache-2.0
"""Fills a disk, as another program on it would."""

import errno
import os

SMALLEST = 4096


class Filler:
    """Files on the disk at `mount_point`, outside of the pool's own directories."""

    def __init__(self, mount_point):
        self.directory = mount_point / "lost+found" / "filler"

    def leave(self, room):
        """Fills all but about `room` bytes."""
        self.directory.mkdir(parents=True, exist_ok=True)
        size = 1 << 40
        while size >= SMALLEST:
            free = self.free() - room
            if free < SMALLEST:
                return
            size = min(size, free - free % SMALLEST)
            try:
                self.take(size)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                size //= 2

    def take(self, size):
        path = self.directory / f"{len(os.listdir(self.directory))}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size)
        finally:
            os.close(descriptor)

    def free(self):
        facts = os.statvfs(self.directory)
        return facts.f_bfree * facts.f_frsize

    def give_back(self):
        if not self.directory.is_dir():
            return
        for path in self.directory.iterdir():
            path.unlink()
        self.directory.rmdir()
        os.sync()
