# SPDX-License-Identifier: Apache-2.0
"""A growth keeps no pod from its data, damages no filesystem, and ends no freeze of another program."""

import contextlib
import fcntl
import os
import subprocess

import pytest

import content
import csi_client
from csi_client import refused
from driver import MIB, SIZES
from kubelet import PersistentVolume
from test_expansion import controller_expand, may_grow_ext4_online, new_volume, total_bytes
from waiting import until

GIB = 1 << 30
FIFREEZE, FITHAW = 0xC0045877, 0xC0045878  # linux/fs.h
NEEDS_NO_CAPABILITY = pytest.mark.skipif(
    may_grow_ext4_online(), reason="with CAP_SYS_RESOURCE ext grows while mounted")


def with_options(driver, filesystem, options):
    created = driver.create("pv", filesystem=filesystem, mkfsOptions=options)
    return PersistentVolume(created.volume_id, "pv", "mount", filesystem)


@contextlib.contextmanager
def frozen(path):
    """As fsfreeze(8) does it. It must be so to the end."""
    root = os.open(path, os.O_RDONLY)
    fcntl.ioctl(root, FIFREEZE, 0)
    try:
        yield
    finally:
        try:
            fcntl.ioctl(root, FITHAW, 0)  # EINVAL if it is not frozen
        finally:
            os.close(root)


def assert_sound(driver, volume):
    found = subprocess.run(["e2fsck", "-fn", driver.image(volume.handle)], capture_output=True,
                           text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("filesystem", ["ext3", "ext4"])
@pytest.mark.parametrize("block_size", [1024, 2048])
def test_small_blocks(driver, kubelet, filesystem, block_size):
    volume = with_options(driver, filesystem, f"-b {block_size}")
    path = kubelet.mount(volume, "pod")
    checksum = content.write(path / "data")
    kubelet.unmount(volume, "pod")
    for size in (96 * MIB, 96 * MIB + 4096, 128 * MIB):
        controller_expand(driver, volume, size)
        path = kubelet.mount(volume, "pod", expand_to=size)
        assert total_bytes(path) > 0.8 * size
        assert content.checksum(path / "data") == checksum
        kubelet.unmount(volume, "pod")
        assert_sound(driver, volume)


@NEEDS_NO_CAPABILITY
def test_a_growth_that_takes_too_much_is_left_for_a_person(driver, kubelet):
    volume = new_volume(driver, "ext3")
    path = kubelet.mount(volume, "pod")
    checksum = content.write(path / "data")
    before = total_bytes(path)
    kubelet.unmount(volume, "pod")
    controller_expand(driver, volume, 20 * GIB)
    for _ in range(2):
        path = kubelet.mount(volume, "pod")
        assert total_bytes(path) == before
        assert content.checksum(path / "data") == checksum
        with refused("FAILED_PRECONDITION", "CAP_SYS_RESOURCE"):
            kubelet.expand(volume, path, 20 * GIB)
        kubelet.unmount(volume, "pod")
    assert "keeps its" in driver.log()
    assert_sound(driver, volume)


def test_nothing_to_grow_and_frozen(driver, kubelet):
    volume = new_volume(driver, "xfs")
    path = kubelet.mount(volume, "pod")
    with frozen(path), refused("FAILED_PRECONDITION", "frozen by another program"):
        kubelet.expand(volume, path, SIZES["xfs"])
    assert kubelet.expand(volume, path, SIZES["xfs"]) == SIZES["xfs"]
    kubelet.unmount(volume, "pod")


@NEEDS_NO_CAPABILITY
def test_what_cannot_grow_and_is_frozen(driver, kubelet):
    volume = new_volume(driver, "ext4")
    path = kubelet.mount(volume, "pod")
    controller_expand(driver, volume, 2 * SIZES["ext4"])
    with frozen(path), refused("FAILED_PRECONDITION"):
        kubelet.expand(volume, path, 2 * SIZES["ext4"])
    kubelet.unmount(volume, "pod")


def test_a_frozen_btrfs_grows_when_it_is_thawed(driver, kubelet):
    """It is never frozen to find that out: a kill during the thaw would leave it read-only."""
    volume = new_volume(driver, "btrfs")
    path = kubelet.mount(volume, "pod")
    before = total_bytes(path)
    target = 2 * SIZES["btrfs"]
    controller_expand(driver, volume, target)
    with frozen(path):
        with refused("UNAVAILABLE", "another program holds frozen"):
            kubelet.expand(volume, path, target)
        driver.crash()  # the waiting child holds none of its locks, so a successor starts
        assert total_bytes(path) == before
    until(lambda: csi_client.outcome(lambda: kubelet.expand(volume, path, target)) == "OK",
          "the filesystem has grown")
    assert total_bytes(path) > before + 0.9 * SIZES["btrfs"]
    kubelet.unmount(volume, "pod")


def test_what_can_grow_and_is_frozen(driver, kubelet):
    volume = new_volume(driver, "xfs")
    path = kubelet.mount(volume, "pod")
    before = total_bytes(path)
    target = 2 * SIZES["xfs"]
    controller_expand(driver, volume, target)
    with frozen(path):
        with refused("FAILED_PRECONDITION", "frozen by another program"):
            kubelet.expand(volume, path, target)
        driver.crash()  # the successor finds a freeze that is not its own
        with refused("FAILED_PRECONDITION", "frozen by another program"):
            kubelet.expand(volume, path, target)
    assert kubelet.expand(volume, path, target) == target
    assert total_bytes(path) > before + 0.9 * SIZES["xfs"]
    kubelet.unmount(volume, "pod")


@pytest.mark.parametrize("filesystem", ["xfs", "btrfs"])
def test_a_repeated_stage_grows_what_is_mounted(driver, kubelet, filesystem):
    """A kill may come between the mount and the mark of the growth."""
    volume = new_volume(driver, filesystem)
    kubelet.stage(volume)
    before = total_bytes(kubelet.staging_path(volume))
    target = 2 * SIZES[filesystem]
    controller_expand(driver, volume, target)
    kubelet.stage(volume)
    assert total_bytes(kubelet.staging_path(volume)) > before + 0.9 * SIZES[filesystem]
    kubelet.unstage(volume)
