# SPDX-License-Identifier: Apache-2.0
"""A driver with two pools, one of them on a disk that can be made to hang."""

import contextlib
import subprocess
import time

import driver as driver_module
import driver_fixtures
import link_files
from driver import MIB

DISK = 256 * MIB
SECONDS = 60


@contextlib.contextmanager
def frozen(mount_point):
    """Every write to the filesystem waits, in a sleep that no signal ends."""
    subprocess.run(["fsfreeze", "--freeze", str(mount_point)], check=True)
    try:
        yield
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", str(mount_point)], check=True)


class TwoPools(driver_module.Driver):
    """The pools `default`, on `disk`, and `second`, on the host's own; health and metrics at
    `port`."""

    def __init__(self, directory, disk):
        super().__init__(driver_fixtures.binary(), directory)
        self.disk, self.port = disk, link_files.free_port()
        self.second = directory / "second"
        self.second.mkdir(exist_ok=True)
        self.server.command += [f"--pool=second=file:{self.second}",
                                f"--health-address=127.0.0.1:{self.port}",
                                f"--metrics-address=127.0.0.1:{self.port}"]

    def create(self, name, **fields):
        """In the pool that can be made to hang, if no other is named."""
        return super().create(name, **({"pool": "default"} | fields))

    def without_default(self):
        """A driver for the second pool alone, in the same place."""
        other = TwoPools(self.directory, self.disk)
        other.server.command = [word for word in other.server.command
                                if not str(word).startswith("--pool=default=")]
        return other


def await_that(condition, what):
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)
