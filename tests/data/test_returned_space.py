# SPDX-License-Identifier: Apache-2.0
"""What deleted snapshots return, as the host's filesystem counts it. btrfs keeps whole extents of which
any part is needed, and xfs allocates more for an overwrite than was written: no capacity may be
promised on the assumption that everything came back."""

import os
import random

import pytest

import content
import waiting
from driver import MIB
from kubelet import Kubelet, PersistentVolume
from pool_disk import run

SIZE = 192 * MIB
BLOCK = 4096
WRITES = 4000  # of 4 KiB, a third of the volume
CYCLES = 3
TOLERANCE = 2 * MIB  # the filesystem's own metadata


@pytest.fixture(params=("xfs", "btrfs"))
def driver(request, new_disk, new_driver):
    new_disk(2048 * MIB, filesystem=request.param)
    return new_driver(",reserve=0")


@pytest.fixture
def kubelet(driver, directory):
    return Kubelet(directory / "kubelet", driver.call)


def free_bytes(driver):
    run("sync", "--file-system", driver.pool)
    facts = os.statvfs(driver.pool)
    return facts.f_bavail * facts.f_frsize


def overwrite_randomly(device, seed):
    rng = random.Random(seed)
    with open(device, "r+b", buffering=0) as file:
        for _ in range(WRITES):
            file.seek(rng.randrange(SIZE // BLOCK) * BLOCK)
            file.write(rng.randbytes(BLOCK))
        os.fsync(file.fileno())


def available(driver, provisioning):
    return driver.call("GetCapacity", parameters={"provisioning": provisioning}).available_capacity


@pytest.mark.parametrize("provisioning", ("thin", "thick"))
def test_snapshots_that_come_and_go(driver, kubelet, provisioning):
    before = free_bytes(driver)
    made = driver.create("pv", size=SIZE, access="block", provisioning=provisioning)
    volume = PersistentVolume(made.volume_id, "pv", "block")
    device = kubelet.start_pod(volume, "pod")
    content.write(device, SIZE)
    for cycle in range(CYCLES):
        snapshot = driver.snapshot(volume.handle, f"snap-{cycle}").snapshot_id
        overwrite_randomly(device, cycle)
        driver.delete_snapshot(snapshot)
    waiting.until(lambda: available(driver, "thick") <= free_bytes(driver),
                  "no more is promised than is free")
    # What is promised is really there, to the last byte.
    rest = available(driver, "thick")
    other = driver.create("rest", size=rest, access="block", provisioning="thick")
    image = driver.image(other.volume_id)
    assert os.stat(image).st_blocks * 512 >= rest
    overwrite_randomly(device, "with a full pool")
    status = driver.call("ControllerGetVolume", volume_id=volume.handle).status
    assert not status.volume_condition.abnormal, status.volume_condition.message
    kubelet.end_pod(volume, "pod")
    driver.delete(other.volume_id)
    driver.delete(volume.handle)
    waiting.until(lambda: free_bytes(driver) >= before - TOLERANCE, "all of the space comes back")
