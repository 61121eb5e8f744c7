# SPDX-License-Identifier: Apache-2.0
"""A pod's user is root in the volume and may put anything there. The driver must not follow it."""

import os
import socket

import pytest

import mount_table
import surroundings
from csi_client import refused
from driver import SIZES
from kubelet import PersistentVolume

FILESYSTEMS = ["ext4", "xfs", "btrfs"]


@pytest.fixture
def canary(directory):
    path = directory / "canary"
    (path / "mount").mkdir(parents=True, mode=0o711)
    (path / "shadow").write_text("root:secret")
    (path / "shadow").chmod(0o640)
    before = surroundings.files_below(path)
    yield path
    assert surroundings.files_below(path) == before
    assert not [mount for mount in mount_table.read() if mount.point.startswith(f"{path}/")]


def fill_with_malice(path, canary):
    """Every kind of file, under every name that the driver or a tool of it might use."""
    names = ["mount", "globalmount", "image", "record.json", "holdfast-pool.json", "lock", "volumes",
             "trash", "vol_data.json", "etc", "dev", "proc", "..data", ".spare"]
    for name in names:
        (path / name).symlink_to(canary)
    (path / "up").symlink_to("../../../../../../../etc")
    (path / "loop").symlink_to("loop")
    os.mkfifo(path / "fifo")
    os.mknod(path / "disk", 0o600 | 0o060000, os.makedev(7, 0))
    os.mknod(path / "zero", 0o666 | 0o020000, os.makedev(1, 5))
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(path)  # the name of a socket is short
        server.bind("socket")
        os.chdir(here)
    setuid = path / "setuid"
    setuid.write_text("#!/bin/sh\n")
    setuid.chmod(0o6755)
    (path / "a\nb \\040\x1b[31m\u202e").mkdir()
    (path / os.fsdecode(b"\xff\xfe")).mkdir()
    os.chmod(path, 0o000)


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_a_whole_life_of_a_malicious_volume(driver, kubelet, canary, filesystem):
    volume = PersistentVolume(driver.create("pv", filesystem=filesystem).volume_id, "pv",
                              filesystem=filesystem)
    path = kubelet.mount(volume, "pod")
    fill_with_malice(path, canary)
    for _ in range(2):
        kubelet.mount(volume, "pod")
        assert kubelet.stats(volume, path).usage[0].total > 0
        kubelet.mount(volume, "other")
        kubelet.unpublish(volume, "other")
        assert os.stat(path).st_mode & 0o777 == 0, "the volume's own mode is its user's"
        kubelet.unmount(volume, "pod")
        driver.crash()
    kubelet.mount(volume, "pod")
    size = SIZES[filesystem] + (64 << 20)
    driver.call("ControllerExpandVolume", volume_id=volume.handle,
                capacity_range={"required_bytes": size})
    if filesystem != "ext4":  # which grows when it is staged where a mounted one may not
        assert kubelet.expand(volume, path, size) >= size
    kubelet.unmount(volume, "pod")
    kubelet.mount(volume, "pod")
    assert os.readlink(path / "mount") == str(canary)
    kubelet.unmount(volume, "pod")
    driver.delete(volume.handle)


def test_targets_inside_a_volume_that_somebody_else_fills(driver, kubelet, canary):
    """A path through another volume is followed as far as plain directories go."""
    outer = PersistentVolume(driver.create("outer").volume_id, "outer", filesystem="ext4")
    inner = PersistentVolume(driver.create("inner").volume_id, "inner", filesystem="ext4")
    path = kubelet.mount(outer, "pod")
    kubelet.stage(inner)
    (path / "link").symlink_to(canary)
    (path / "mount").symlink_to(canary / "mount")
    for target in (path / "link" / "mount", path / "link" / "new"):
        with refused("INVALID_ARGUMENT", "symbolic link"):
            kubelet.node_publish(inner, "pod", target, False)
        with refused("INVALID_ARGUMENT", "symbolic link"):
            kubelet.call("NodeUnpublishVolume", volume_id=inner.handle, target_path=str(target))
    with refused("FAILED_PRECONDITION", "symbolic link"):
        kubelet.node_publish(inner, "pod", path / "mount", False)
    with refused("FAILED_PRECONDITION", "symbolic link"):
        kubelet.call("NodeGetVolumeStats", volume_id=outer.handle,
                     volume_path=str(path / "link"))
    kubelet.unstage(inner)
    kubelet.unmount(outer, "pod")


def test_statistics_are_of_the_volume_alone(driver, kubelet, canary):
    """The free space of the host or of other volumes must not be visible."""
    volume = PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4")
    other = PersistentVolume(driver.create("other").volume_id, "other", filesystem="ext4")
    path = kubelet.mount(volume, "pod")
    foreign = kubelet.mount(other, "pod")
    for place in (canary, foreign, foreign.parent):
        with refused("NOT_FOUND", "is not at"):
            kubelet.call("NodeGetVolumeStats", volume_id=volume.handle, volume_path=str(place))
    assert kubelet.stats(volume, path).usage[0].total > 0
    kubelet.unmount(other, "pod")
    kubelet.unmount(volume, "pod")


def test_a_device_node_in_a_volume_is_no_way_to_the_disk(driver, kubelet):
    """With nodev, which the classes of untrusted users set, a device node in the volume opens
    nothing."""
    volume = PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4",
                              flags=("nodev", "nosuid"))
    path = kubelet.mount(volume, "pod")
    os.mknod(path / "zero", 0o666 | 0o020000, os.makedev(1, 5))
    with pytest.raises(PermissionError):
        (path / "zero").open("rb")
    assert {"nodev", "nosuid"} <= set(mount_table.mounts_at(path)[-1].options.split(","))
    kubelet.unmount(volume, "pod")
