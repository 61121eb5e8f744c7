# SPDX-License-Identifier: Apache-2.0
"""The space that a pool provisions: thin limits, a full disk, and that a refusal leaves nothing
behind."""

import subprocess
import time

import grpc
import pytest

import content
import csi_client
from csi_client import refused
from driver import MIB
from kubelet import Kubelet, PersistentVolume
from pool_disk import run

SECONDS = 30


def capacity(driver, provisioning):
    return driver.call("GetCapacity",
                       parameters={"provisioning": provisioning}).available_capacity


def fill(path, size):
    subprocess.run(["fallocate", "-l", str(size), path], check=True)


def await_room(driver, size):
    """xfs and btrfs free the blocks of a deleted file some time later."""
    deadline = time.monotonic() + SECONDS
    while capacity(driver, "thick") < size:
        assert time.monotonic() < deadline
        run("sync", "--file-system", driver.pool)


def test_thin_volumes_may_exceed_the_pool_by_the_ratio_and_no_more(new_driver, new_disk):
    new_disk(512 * MIB)
    driver = new_driver(",overcommit=2,reserve=0")
    first = capacity(driver, "thin")
    assert 800 * MIB < first <= 1024 * MIB
    driver.create("first", size=600 * MIB)
    left = capacity(driver, "thin")
    assert 0 < left <= first - 600 * MIB
    with refused("RESOURCE_EXHAUSTED", "fit"):
        driver.create("second", size=left + MIB)
    driver.create("second", size=left)
    assert capacity(driver, "thin") < MIB
    driver.crash()
    assert capacity(driver, "thin") < MIB, "promises are counted again at the start"
    for volume_id in driver.listed():
        driver.delete(volume_id)
    assert capacity(driver, "thin") == first


def test_without_overcommit_thin_promises_are_real(new_driver, new_disk):
    new_disk(512 * MIB)
    driver = new_driver()
    driver.create("thin", size=capacity(driver, "thin"))
    with refused("RESOURCE_EXHAUSTED"):
        driver.create("thick", size=32 * MIB, provisioning="thick")


def test_no_thin_promise_above_the_watermark(new_driver, new_disk):
    disk = new_disk(512 * MIB)
    driver = new_driver(",overcommit=4,reserve=0,watermark=50%")
    volume_id = driver.create("before").volume_id
    filler = disk.mount_point / "lost+found" / "filler"
    fill(filler, 300 * MIB)
    assert capacity(driver, "thin") == 0
    with refused("RESOURCE_EXHAUSTED", "watermark"):
        driver.create("after")
    with refused("OUT_OF_RANGE", "watermark"):
        driver.call("ControllerExpandVolume", volume_id=volume_id,
                    capacity_range=csi_client.at_least(128 * MIB))
    assert driver.create("before").volume_id == volume_id, "what there is stays"
    filler.unlink()
    driver.create("after")


def test_room_is_kept_for_the_host(new_driver, new_disk):
    new_disk(512 * MIB)
    driver = new_driver(",reserve=200Mi")
    available = capacity(driver, "thick")
    assert available < 312 * MIB
    driver.create("pv", size=available, provisioning="thick")
    free = subprocess.run(["stat", "--file-system", "--format=%a %S", driver.pool], check=True,
                          capture_output=True, text=True).stdout.split()
    assert int(free[0]) * int(free[1]) >= 199 * MIB  # 1 MiB for the image's own metadata


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_a_disk_that_fills_behind_our_back(new_driver, new_disk, filesystem):
    """The ledger accepts, but the disk returns ENOSPC: nothing is left behind, and later it
    works."""
    new_disk(512 * MIB, filesystem=filesystem)
    driver = new_driver()
    kept = driver.create("kept", size=64 * MIB, provisioning="thick").volume_id
    filler = driver.pool / "trash" / "filler"
    before = content.fingerprint(driver.image(kept))
    fill(filler, capacity(driver, "thick") - 32 * MIB)
    with refused("RESOURCE_EXHAUSTED"):
        driver.create("pv", size=128 * MIB, provisioning="thick")
    with refused("OUT_OF_RANGE"):
        driver.call("ControllerExpandVolume", volume_id=kept,
                    capacity_range=csi_client.at_least(256 * MIB))
    assert [path.name for path in (driver.pool / "volumes").iterdir()] == [kept[-36:]]
    assert driver.record(kept)["grow_to_bytes"] == 0
    assert driver.image(kept).stat().st_size == 64 * MIB
    assert content.fingerprint(driver.image(kept)) == before
    filler.unlink()
    await_room(driver, 300 * MIB)
    driver.create("pv", size=128 * MIB, provisioning="thick")
    answer = driver.call("ControllerExpandVolume", volume_id=kept,
                         capacity_range=csi_client.at_least(128 * MIB))
    assert answer.capacity_bytes == 128 * MIB


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_a_pool_that_its_pods_have_filled_takes_no_thick_volume(new_driver, new_disk, filesystem):
    new_disk(512 * MIB, filesystem=filesystem)
    driver = new_driver(",reserve=0,overcommit=1000,watermark=100%")
    thin = driver.create("thin", size=400 * MIB).volume_id
    fill(driver.image(thin), 380 * MIB)  # data written by pods
    with refused("RESOURCE_EXHAUSTED"):
        driver.create("pv", size=300 * MIB, provisioning="thick")
    assert driver.listed() == [thin]
    assert not list((driver.pool / "trash").iterdir())


def test_a_full_pool_can_still_be_emptied(new_driver, new_disk, directory):
    """Deletion writes a tombstone, which needs a little space: it must not depend on that space."""
    new_disk(128 * MIB)
    driver = new_driver(",reserve=0,overcommit=8,watermark=100%")
    kubelet = Kubelet(directory / "kubelet", driver.call)
    volume = PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4")
    kubelet.mount(volume, "pod")
    kubelet.unmount(volume, "pod")
    filler = driver.pool / "lost+found" / "filler"
    subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=64K"], check=False,
                   stderr=subprocess.DEVNULL)
    subprocess.run(["dd", "if=/dev/zero", f"of={filler}2", "bs=1K"], check=False,
                   stderr=subprocess.DEVNULL)
    try:
        driver.delete(volume.handle)
    finally:
        filler.unlink()
        (filler.parent / "filler2").unlink()
    assert driver.listed() == []
