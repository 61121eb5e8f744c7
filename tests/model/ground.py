# SPDX-License-Identifier: Apache-2.0
"""The environment of one run: the driver, its pool on a separate disk, and the CO's directories."""

import collections
import os

import driver as driver_module
import driver_fixtures
import host
import pool_disk
from space import Space

# Every byte of the disk may be provisioned, so that only the sum of provisioned bytes decides.
POOL_OPTIONS = ",reserve=0,watermark=100%"
LOG_LIMIT = 32 << 20


class Ground:
    def __init__(self, directory, disk_size, volumes):
        self.directory = directory
        self.disk = pool_disk.PoolDisk(directory / "disk.img", disk_size, "xfs",
                                       directory / "pool")
        self.driver = driver_module.Driver(driver_fixtures.binary(), directory, POOL_OPTIONS)
        self.driver.start()
        room = self.driver.client.admin("ListPools").pools[0].thick_available_bytes
        self.space = Space(room, volumes)
        self.answers = collections.Counter()  # by method and code
        self.opened = []  # the driver's open files when it was last sampled
        self.shared_handles = {}  # name -> id of the volumes that all workers use

    def staging_path(self, name, number):
        """The CO makes this directory before it asks for anything to be mounted there."""
        path = self.directory / "kubelet" / name / f"stage{number}"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def target_path(self, name, number):
        parent = self.directory / "kubelet" / name / "pods"
        parent.mkdir(parents=True, exist_ok=True)
        return parent / str(number)

    def stop_driver(self, how):
        """Kills the driver in the middle of its work, and starts it again."""
        if how == "term":
            self.driver.restart()
            return
        self.driver.server.kill()
        if how == "kill-twice":
            # The second kill comes during the first round of the new process.
            self.driver.start()
            self.driver.server.kill()
        self.driver.start()

    def cut_log(self):
        log = self.directory / "server.log"
        if log.stat().st_size > LOG_LIMIT:
            with open(log, "r+b") as file:
                file.truncate()

    def sample(self):
        """The resources of the process now."""
        pid = self.driver.server.process.pid
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            facts = dict(line.split(":", 1) for line in status)
        self.opened = opened_by(pid)
        # gRPC for Python now and then keeps a connection of a channel that was closed, or its own end
        # of one.
        kept = min(sockets_in(opened_by(os.getpid())), sockets_in(self.opened))
        return {"pid": pid, "rss_kib": int(facts["VmRSS"].split()[0]),
                "threads": int(facts["Threads"]),
                "fds": len(self.opened) - kept,
                "loops": len(host.loops_under(self.directory))}

    def remove(self):
        problem = self.driver.server.stop()
        self.disk.remove()
        return problem


def sockets_in(opened):
    return sum(link.startswith("socket:") for link in opened)


def opened_by(pid):
    """The target of each descriptor of a process."""
    links = []
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(entry.path))
        except FileNotFoundError:  # closed meanwhile
            continue
    return sorted(links)
