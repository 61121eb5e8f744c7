# SPDX-License-Identifier: Apache-2.0
"""A thick volume whose overwrites need new space, because its image was copied, is reported, and
the remedy in docs/operations.md works."""

import subprocess

import pytest

import content
from driver import MIB
from kubelet import Kubelet, PersistentVolume
from pool_disk import run

KEPT = "the storage is intact"


@pytest.fixture
def make(new_disk, new_driver, directory):
    def on(filesystem):
        disk = new_disk(600 * MIB, filesystem=filesystem)
        driver = new_driver()
        driver.disk = disk
        driver.kubelet = Kubelet(directory / "kubelet", driver.call)
        created = driver.create("pv", provisioning="thick")
        driver.volume = PersistentVolume(created.volume_id, "pv", filesystem="ext4")
        path = driver.kubelet.mount(driver.volume, "pod")
        driver.written = content.write(path / "data", MIB)
        driver.kubelet.unmount(driver.volume, "pod")
        assert conditions(driver) == {(False, KEPT)}
        return driver

    return on


def conditions(driver):
    """The answers of the RPCs that report a condition without a pod."""
    one = driver.call("ControllerGetVolume", volume_id=driver.volume.handle)
    [listed] = driver.call("ListVolumes").entries
    return {(status.volume_condition.abnormal, status.volume_condition.message)
            for status in (one.status, listed.status)}


def is_reported(driver, why):
    [(abnormal, message)] = conditions(driver)
    assert abnormal and why in message and "Moving a pool" in message, message
    path = driver.kubelet.mount(driver.volume, "pod")
    stats = driver.call("NodeGetVolumeStats", volume_id=driver.volume.handle,
                        volume_path=str(path)).volume_condition
    assert stats.abnormal and why in stats.message, stats.message
    assert f"is not thick: its image {why}" in driver.log()
    assert content.checksum(path / "data") == driver.written
    driver.kubelet.unmount(driver.volume, "pod")


def repair_one_volume(driver):
    """As docs/operations.md has it."""
    place = driver.volume_directory(driver.volume.handle)
    run("touch", place / "image.new")
    if driver.disk.filesystem == "btrfs":
        run("chattr", "+C", place / "image.new")
    run("cp", "--reflink=never", "--sparse=never",
        "--preserve=mode,ownership,xattr", place / "image", place / "image.new")
    run("sync", place / "image.new")
    run("mv", place / "image.new", place / "image")


def is_repaired(driver):
    assert conditions(driver) == {(False, KEPT)}
    path = driver.kubelet.mount(driver.volume, "pod")
    assert content.checksum(path / "data") == driver.written
    driver.kubelet.unmount(driver.volume, "pod")


def test_a_copy_on_btrfs_lost_nocow(make):
    driver = make("btrfs")
    image = driver.image(driver.volume.handle)
    run("cp", "--archive", "--reflink=never", image, image.with_name("copy"))
    image.with_name("copy").rename(image)
    is_reported(driver, "lost the attribute NOCOW")
    repair_one_volume(driver)
    is_repaired(driver)


@pytest.mark.parametrize("filesystem", ["xfs", "btrfs"])
def test_a_reflink_copy_shares_the_blocks(make, filesystem):
    driver = make(filesystem)
    image = driver.image(driver.volume.handle)
    backup = driver.pool / "backup"
    if filesystem == "btrfs":
        run("touch", backup)
        run("chattr", "+C", backup)
    run("cp", "--reflink=always", image, backup)
    is_reported(driver, "shares blocks with another file")
    repair_one_volume(driver)
    is_repaired(driver)
    backup.unlink()


def test_a_snapshot_of_the_host_shares_the_blocks(make):
    driver = make("btrfs")
    snapshot = driver.pool / "snapshot"
    run("btrfs", "--quiet", "subvolume", "snapshot", driver.pool, snapshot)
    is_reported(driver, "shares blocks with another file")
    run("btrfs", "--quiet", "subvolume", "delete", "--commit-after", snapshot)
    run("btrfs", "--quiet", "subvolume", "sync", driver.pool)
    is_repaired(driver)


def test_a_pool_moved_to_btrfs_as_the_manual_says(make, new_disk, directory):
    driver = make("ext4")
    assert driver.server.stop() is None
    target = new_disk(600 * MIB, mount_point=directory / "new", filesystem="btrfs", name="new")
    run("mkdir", "--mode=0700", target.mount_point / "volumes")
    run("chattr", "+C", target.mount_point / "volumes")
    run("cp", "--archive", "--reflink=never", "--sparse=always", f"{driver.pool}/.",
        target.mount_point)
    subprocess.run(["umount", driver.pool], check=True)
    driver.disk.mounted = False
    target.unmount()
    target.mount_point = driver.pool
    target.mount()
    driver.server.command.append("--accept-moved-pool=default")
    driver.start()
    path = driver.kubelet.mount(driver.volume, "pod")
    assert content.checksum(path / "data") == driver.written
    driver.kubelet.unmount(driver.volume, "pod")
    assert conditions(driver) == {(False, KEPT)}
