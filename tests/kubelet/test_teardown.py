# SPDX-License-Identifier: Apache-2.0
"""Unpublish and Unstage of volumes that were never staged, half staged, staged twice, or are
gone."""

import contextlib
import os

import grpc
import pytest

import content
import mount_table
from csi_client import refused
from kubelet import PersistentVolume
from pool_disk import run

UNKNOWN = "default:test-node:00000000-0000-5000-8000-000000000000"


@pytest.fixture
def volume(driver):
    return PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4")


@pytest.fixture
def block(driver):
    return PersistentVolume(driver.create("pv-block", access="block").volume_id, "pv-block",
                            access="block")


def unstage(driver, volume_id, path):
    driver.call("NodeUnstageVolume", volume_id=volume_id, staging_target_path=str(path))


def unpublish(driver, volume_id, path):
    driver.call("NodeUnpublishVolume", volume_id=volume_id, target_path=str(path))


@pytest.mark.parametrize("volume_id", [None, UNKNOWN, "never-a-volume-of-ours"])
def test_what_was_never_made(driver, volume, directory, volume_id):
    volume_id = volume_id or volume.handle
    place = directory / "place"
    for undo in (unstage, unpublish):
        undo(driver, volume_id, place)
        undo(driver, volume_id, place / "below" / "nothing")
    place.mkdir()
    unstage(driver, volume_id, place)
    assert place.is_dir(), "the staging directory is kubelet's"
    unpublish(driver, volume_id, place)
    assert not place.exists(), "the target is the driver's to remove"


def test_a_target_that_holds_files_is_left_alone(driver, volume, directory):
    target = directory / "target"
    target.mkdir()
    (target / "precious").write_text("data")
    with refused("FAILED_PRECONDITION"):
        unpublish(driver, volume.handle, target)
    assert (target / "precious").read_text() == "data"


def test_a_foreign_mount_is_left_alone(driver, volume, directory):
    target = directory / "target"
    target.mkdir()
    run("mount", "-t", "tmpfs", "foreign", target)
    for undo in (unstage, unpublish):
        with refused("FAILED_PRECONDITION", "foreign"):
            undo(driver, volume.handle, target)
    assert mount_table.is_mount_point(target)
    run("umount", target)


def test_a_stage_without_a_record(driver, kubelet, volume):
    """The state directory was lost, the mount was not."""
    path = kubelet.mount(volume, "pod")
    checksum = content.write(path / "data")
    for record in (driver.directory / "state" / "stages").iterdir():
        record.unlink()
    driver.crash()
    kubelet.restart([(volume, "pod", False)])
    assert content.checksum(path / "data") == checksum
    for record in (driver.directory / "state" / "stages").iterdir():
        record.unlink()
    kubelet.unmount(volume, "pod")
    assert driver.loop(volume.handle) is None


def test_a_device_without_a_mount(driver, kubelet, volume):
    """The driver died between attaching and mounting, or an administrator unmounted by hand."""
    kubelet.stage(volume)
    run("umount", kubelet.global_mount(volume))
    assert driver.loop(volume.handle)
    kubelet.unstage(volume)
    assert driver.loop(volume.handle) is None
    kubelet.stage(volume)
    run("umount", kubelet.global_mount(volume))
    kubelet.stage(volume)
    assert mount_table.is_mount_point(kubelet.global_mount(volume))
    kubelet.unstage(volume)


def test_stacked_mounts(driver, kubelet, volume):
    path = kubelet.mount(volume, "pod")
    staging = kubelet.global_mount(volume)
    for _ in range(3):
        run("mount", "--bind", staging, path)
        run("mount", "--bind", staging, staging)
    assert len(mount_table.mounts_at(path)) == 4
    unpublish(driver, volume.handle, path)
    assert not path.exists()
    unstage(driver, volume.handle, staging)
    assert not mount_table.is_mount_point(staging)
    assert driver.loop(volume.handle) is None


def test_stacked_block_binds(driver, kubelet, block):
    kubelet.map_block(block, "pod")
    file = kubelet.publish_file(block, "pod")
    run("mount", "--bind", driver.loop(block.handle), file)
    assert len(mount_table.mounts_at(file)) == 2
    kubelet.unmap_block(block, "pod")


def test_a_busy_mount_is_kept_and_said_to_be(driver, kubelet, volume):
    path = kubelet.mount(volume, "pod")
    with open(path / "open", "wb") as file:
        with refused("FAILED_PRECONDITION", "busy"):
            kubelet.unpublish(volume, "pod")
        file.write(b"x")
    kubelet.unmount(volume, "pod")


def test_the_volume_is_gone_when_its_pod_goes(driver, kubelet, directory):
    """Deleted by force: the mount table alone must do for the teardown."""
    target = directory / "gone"
    target.mkdir()
    unpublish(driver, UNKNOWN, target)
    unstage(driver, UNKNOWN, directory / "gone-too")


def test_a_symbolic_link_is_not_followed(driver, kubelet, volume, directory):
    path = kubelet.mount(volume, "pod")
    link = directory / "link"
    link.symlink_to(path)
    with refused("FAILED_PRECONDITION"):
        unpublish(driver, volume.handle, link)
    assert mount_table.is_mount_point(path)
    kubelet.unmount(volume, "pod")


def test_a_volume_is_not_unstaged_at_the_path_of_another(driver, kubelet, volume):
    other = PersistentVolume(driver.create("other").volume_id, "other", filesystem="ext4")
    kubelet.stage(volume)
    kubelet.stage(other)
    with contextlib.suppress(grpc.RpcError):  # refusing would do as well
        unstage(driver, volume.handle, kubelet.global_mount(other))
    other_is_mounted = mount_table.is_mount_point(kubelet.global_mount(other))
    kubelet.unstage(other)
    kubelet.unstage(volume)
    assert other_is_mounted


def test_an_unstage_elsewhere_leaves_the_stage(driver, kubelet, block, directory):
    """Not staged there: OK, and the place where it is staged is not touched."""
    kubelet.stage_block(block)
    loop = driver.loop(block.handle)
    unstage(driver, block.handle, directory / "elsewhere")
    loop_afterwards = driver.loop(block.handle)
    kubelet.unstage_block(block)
    assert loop_afterwards == loop


def test_paths_with_odd_characters(driver, kubelet, volume, directory):
    odd = directory / "a b\tc\\e é ☃ \\040"
    staging, target = odd / "staging", odd / "target"
    os.makedirs(staging)
    for _ in range(2):
        driver.call("NodeStageVolume", volume_id=volume.handle, staging_target_path=str(staging),
                    volume_capability=volume.capability())
        driver.call("NodePublishVolume", volume_id=volume.handle, staging_target_path=str(staging),
                    target_path=str(target), volume_capability=volume.capability())
    content.write(target / "data")
    unpublish(driver, volume.handle, target)
    unstage(driver, volume.handle, staging)
    assert driver.loop(volume.handle) is None
