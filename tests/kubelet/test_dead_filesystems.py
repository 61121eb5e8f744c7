# SPDX-License-Identifier: Apache-2.0
"""A volume's own filesystem fails under its pod: every call that has a condition says so."""

import fcntl
import os
import platform
import struct

import pytest

from conditions import assert_abnormal, assert_normal
from kubelet import PersistentVolume
from pool_disk import run

SHUTDOWN = 0x8004587D  # XFS_IOC_GOINGDOWN, which ext4 has too
NO_LOG_FLUSH = 2
SHOWS_SHUTDOWN = (6, 15)  # ext4 says so in mountinfo since then


def kernel():
    return tuple(int(part) for part in platform.release().split(".")[:2])


def shut_down(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("filesystem", [
    pytest.param("ext4", marks=pytest.mark.skipif(
        kernel() < SHOWS_SHUTDOWN, reason="this kernel does not show it (docs/limitations.md)")),
    "xfs"])
@pytest.mark.parametrize("read_only", [False, True], ids=["rw", "ro"])
def test_every_call_says_that_the_filesystem_is_dead(driver, kubelet, filesystem, read_only):
    well = PersistentVolume(driver.create("well").volume_id, "well", filesystem="ext4")
    volume = PersistentVolume(driver.create("pv", filesystem=filesystem).volume_id, "pv",
                              filesystem=filesystem)
    path, staging = kubelet.mount(volume, "pod", read_only), kubelet.global_mount(volume)
    kubelet.mount(well, "pod")
    assert_normal(driver, volume, path, staging)
    shut_down(staging)
    assert_abnormal(driver, volume, path, staging, why="shut down")
    assert_normal(driver, well, kubelet.mount_path(well, "pod"))
    kubelet.unmount(well, "pod")
    kubelet.unmount(volume, "pod")
    kubelet.mount(volume, "pod")
    assert_normal(driver, volume, path, staging)
    kubelet.unmount(volume, "pod")


def test_every_call_says_that_the_filesystem_went_read_only(driver, kubelet):
    """As ext4 does by itself when it finds an error."""
    volume = PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4")
    path, staging = kubelet.mount(volume, "pod"), kubelet.global_mount(volume)
    run("mount", "-o", "remount,abort", staging)
    assert_abnormal(driver, volume, path, staging)
    kubelet.unmount(volume, "pod")
