# SPDX-License-Identifier: Apache-2.0
"""A pool on a mirror of two disks (btrfs raid1, which needs no other driver of the kernel): one disk
fails under a running driver and is replaced, and neither volumes nor pool notice."""

import fcntl
import os
import struct
import subprocess

import pytest

import content
import pool_disk
from driver import MIB
from kubelet import Kubelet, PersistentVolume
from pool_disk import PoolDisk, run

SHUTDOWN = 0x8004587D  # XFS_IOC_GOINGDOWN
NO_LOG_FLUSH = 2
SIZE = 1024 * MIB


class Disk:
    """A disk that can fail: a loop device whose file is on a filesystem that can be shut down."""

    def __init__(self, directory, name):
        self.carrier = PoolDisk(directory / f"{name}.img", SIZE + 512 * MIB, "xfs",
                                directory / name)
        image = directory / name / "disk"
        with open(image, "xb") as file:
            file.truncate(SIZE)
        self.device = pool_disk.attach(image)

    def fail(self):
        """Every access is an I/O error from now on."""
        descriptor = os.open(self.carrier.mount_point, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(descriptor)

    def remove(self):
        run("losetup", "--detach", self.device)
        self.carrier.remove()


class Mirror:
    def __init__(self, directory):
        self.directory = directory
        self.path = directory / "pool"
        self.path.mkdir()
        self.disks = [Disk(directory, "a"), Disk(directory, "b")]
        run("mkfs.btrfs", "-q", "-d", "raid1", "-m", "raid1", *self.devices())
        self.mount()

    def devices(self):
        return [disk.device for disk in self.disks]

    def mount(self, *options):
        run("mount", "-t", "btrfs", "-o", ",".join([*options, *(f"device={device}" for device
                                                                in self.devices())]),
            self.disks[0].device, self.path)

    def errors(self):
        """Of each device, the sum of btrfs's counters."""
        text = run("btrfs", "device", "stats", self.path)
        counts = [line.rsplit(maxsplit=1) for line in text.splitlines()]
        return {device: sum(int(count) for name, count in counts
                            if name.startswith(f"[{device}]"))
                for device in self.devices()}

    def lose_second(self):
        """As after a reboot that it did not survive."""
        run("umount", self.path)
        self.disks.pop().remove()
        run("btrfs", "device", "scan", "--forget")

    def replace_second(self):
        """What an administrator does with a new disk, while everything runs."""
        new = Disk(self.directory, "c")
        run("btrfs", "replace", "start", "-B", "-f", "-r", "2", new.device, self.path)
        failed = self.disks[1]
        self.disks[1] = new
        failed.remove()

    def remove(self):
        subprocess.run(["umount", self.path], check=False)
        for disk in self.disks:
            disk.remove()


@pytest.fixture
def mirror(directory):
    mirror = Mirror(directory)
    yield mirror
    mirror.remove()


@pytest.fixture
def driver(mirror, new_driver):
    return new_driver()


def test_one_disk_fails_and_is_replaced(mirror, driver, directory):
    kubelet = Kubelet(directory / "kubelet", driver.call)
    made = driver.create("pv", filesystem="ext4")
    volume = PersistentVolume(made.volume_id, "pv", filesystem="ext4")
    path = kubelet.mount(volume, "pod")
    before = content.write(path / "before")

    mirror.disks[1].fail()
    after = content.write(path / "after")  # with fsync
    other = driver.create("other", filesystem="xfs")
    snapshot = driver.snapshot(volume.handle, "snap").snapshot_id
    condition = driver.call("ControllerGetVolume", volume_id=volume.handle).status.volume_condition
    assert not condition.abnormal, condition.message
    assert driver.is_ready()
    errors = mirror.errors()
    assert errors[mirror.disks[0].device] == 0 < errors[mirror.disks[1].device]

    mirror.replace_second()
    assert "no errors found" in run("btrfs", "scrub", "start", "-B", mirror.path)
    kubelet.unmount(volume, "pod")
    driver.restart()
    path = kubelet.mount(volume, "pod-2")
    assert content.checksum(path / "before") == before
    assert content.checksum(path / "after") == after
    kubelet.unmount(volume, "pod-2")
    driver.delete_snapshot(snapshot)
    driver.delete(other.volume_id)


def test_one_disk_is_missing_after_a_reboot(mirror, driver, directory):
    """btrfs alone refuses to mount half a mirror; the pool is missing until it is told to."""
    kubelet = Kubelet(directory / "kubelet", driver.call)
    made = driver.create("pv", filesystem="ext4")
    volume = PersistentVolume(made.volume_id, "pv", filesystem="ext4")
    kept = content.write(kubelet.mount(volume, "pod") / "kept")
    kubelet.unmount(volume, "pod")
    assert driver.server.stop() is None
    mirror.lose_second()
    with pytest.raises(subprocess.CalledProcessError):
        mirror.mount()
    assert driver.start_unready() is None
    mirror.mount("degraded")
    driver.await_ready()
    assert content.checksum(kubelet.mount(volume, "pod") / "kept") == kept
    kubelet.unmount(volume, "pod")
