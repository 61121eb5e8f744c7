# SPDX-License-Identifier: Apache-2.0
"""kubelet's directory: staging places that vanish or change their kind, and its mount's flags."""

import os
import shutil

import pytest

import content
import csi_client
import lives
import mount_table
from driver import MIB
from kubelet import Kubelet, PersistentVolume
from pool_disk import run


def test_the_staging_directory_is_gone_before_the_stage(driver, kubelet):
    """Not NOT_FOUND, which would mean that the volume does not exist."""
    volume = lives.new_volume(driver, "pv")
    for missing in (kubelet.global_mount(volume), kubelet.global_mount(volume) / "deeper"):
        with csi_client.refused("FAILED_PRECONDITION", "exist"):
            driver.call("NodeStageVolume", volume_id=volume.handle,
                        staging_target_path=str(missing), volume_capability=volume.capability())
    assert driver.loop(volume.handle) is None
    kubelet.mount(volume, "pod")
    kubelet.unmount(volume, "pod")


@pytest.mark.parametrize("kind", ["file", "symbolic link", "fifo"])
def test_something_else_is_in_the_place_of_the_staging_directory(driver, kubelet, kind):
    volume = lives.new_volume(driver, "pv")
    place = kubelet.global_mount(volume)
    place.parent.mkdir(parents=True)
    if kind == "file":
        place.write_text("precious")
    elif kind == "symbolic link":
        place.symlink_to(kubelet.root)
    else:
        os.mkfifo(place)
    before = mount_table.read()
    assert lives.outcome(lambda: kubelet.node_stage(volume),
                         ("FAILED_PRECONDITION", "INTERNAL")) != "OK"
    assert lives.outcome(lambda: driver.call(
        "NodeUnstageVolume", volume_id=volume.handle, staging_target_path=str(place)),
        ("FAILED_PRECONDITION", "INTERNAL")) in ("OK", "FAILED_PRECONDITION")
    assert mount_table.read() == before
    assert kind != "file" or place.read_text() == "precious"
    assert driver.loop(volume.handle) is None
    place.unlink()
    kubelet.mount(volume, "pod")
    kubelet.unmount(volume, "pod")


def test_kubelets_directory_is_removed_under_a_pod(driver, kubelet, directory):
    """An administrator unmounted and removed it all: the volume can be staged again, with its
    data."""
    volume = lives.new_volume(driver, "pv")
    path = kubelet.mount(volume, "pod")
    written = content.write(path / "data", MIB)
    run("umount", path)
    run("umount", kubelet.global_mount(volume))
    shutil.rmtree(kubelet.root)
    driver.crash()
    lives.take_down(kubelet, volume, "pod")
    assert driver.loop(volume.handle) is None
    lives.assert_kept(kubelet, lives.Kept(volume, written))


def test_kubelets_directory_is_moved_under_a_pod(driver, kubelet, directory):
    """The mounts move with the directory; unstage by the old path must not remove mounts in use."""
    volume = lives.new_volume(driver, "pv")
    path = kubelet.mount(volume, "pod")
    written = content.write(path / "data", MIB)
    old = kubelet.root
    kubelet.root = old.rename(old.with_name("moved"))
    assert lives.outcome(lambda: driver.call(
        "NodeUnstageVolume", volume_id=volume.handle,
        staging_target_path=str(old / path.relative_to(old))), ("FAILED_PRECONDITION",)) in (
            "OK", "FAILED_PRECONDITION")
    assert content.checksum(kubelet.mount_path(volume, "pod") / "data") == written
    lives.take_down(kubelet, volume, "pod")
    assert driver.loop(volume.handle) is None
    lives.assert_kept(kubelet, lives.Kept(volume, written))


@pytest.mark.parametrize("flags", ["noexec,nosuid,nodev", "noexec", "nosuid,noatime"])
def test_its_filesystem_is_mounted_with_flags(driver, directory, flags):
    """They are the directory's own and not the volumes': programs and devices work there."""
    root = directory / "kubelet"
    root.mkdir()
    run("mount", "-t", "tmpfs", "-o", flags, "kubelet", root)
    try:
        kubelet = Kubelet(root, driver.call)
        volume = lives.new_volume(driver, "pv")
        path = kubelet.mount(volume, "pod")
        shutil.copy("/bin/true", path / "program")
        run(path / "program")
        kubelet.unmount(volume, "pod")
        block = PersistentVolume(driver.create("block", access="block").volume_id, "block",
                                 access="block")
        kubelet.stage_block(block)
        device = kubelet.publish_file(block, "pod")
        kubelet.publish_block(block, "pod")
        content.write(device, MIB)
        kubelet.unmap_block(block, "pod")
    finally:
        run("umount", root)


def test_its_filesystem_is_read_only(driver, directory):
    """No directory for targets can be created: a clear refusal, and nothing stays attached."""
    root = directory / "kubelet"
    root.mkdir()
    run("mount", "-t", "tmpfs", "kubelet", root)
    try:
        kubelet = Kubelet(root, driver.call)
        volume = lives.new_volume(driver, "pv")
        kubelet.stage(volume)
        kubelet.pod_volume_directory(volume, "pod").mkdir(parents=True)
        run("mount", "-o", "remount,ro", root)
        with csi_client.refused("INTERNAL", "Read-only file system"):
            kubelet.node_publish(volume, "pod", kubelet.mount_path(volume, "pod"), False)
        lives.take_down(kubelet, volume, "pod")
        assert driver.loop(volume.handle) is None
    finally:
        run("umount", root)
