# SPDX-License-Identifier: Apache-2.0
"""Thick stays thick when there are snapshots: room is reserved, then taken."""

import errno
import os
import subprocess

import pytest

import content
import csi_client
import waiting
from driver import MIB
from kubelet import Kubelet, PersistentVolume

SIZE = 128 * MIB


@pytest.fixture(params=("xfs", "btrfs"))
def driver(request, new_disk, new_driver):
    new_disk(1200 * MIB, filesystem=request.param)
    return new_driver()


@pytest.fixture
def kubelet(driver, directory):
    return Kubelet(directory / "kubelet", driver.call)


def shares_blocks(image):
    """As the kernel's map of the file's extents says."""
    shown = subprocess.run(["filefrag", "-v", image], check=True, capture_output=True, text=True)
    return "shared" in shown.stdout


def await_own_blocks(image):
    waiting.until(lambda: not shares_blocks(image), f"{image} has blocks of its own")


def fill(directory):
    """Leaves no room on the filesystem; returns the file that took it."""
    path = directory / "filler"
    with open(path, "wb", buffering=0) as file:
        for size in (MIB, 4096):
            try:
                while True:
                    file.write(os.urandom(size))
            except OSError as error:
                assert error.errno == errno.ENOSPC
        os.fsync(file.fileno())
    return path


def test_a_full_disk_fails_no_write_to_a_thick_volume(driver, kubelet):
    volumes, written = {}, {}

    def create(name, source=None):
        made = driver.create(name, size=SIZE, access="block", provisioning="thick", source=source)
        volumes[name] = PersistentVolume(made.volume_id, name, "block")

    create("origin")
    devices = {"origin": kubelet.start_pod(volumes["origin"], "origin")}
    before = content.write(devices["origin"], SIZE)
    snapshot = driver.snapshot(volumes["origin"].handle, "snap").snapshot_id
    create("restored", snapshot)
    for volume in volumes.values():
        await_own_blocks(driver.image(volume.handle))
    devices["restored"] = kubelet.start_pod(volumes["restored"], "restored")
    fill(driver.pool)
    for name, device in devices.items():
        assert content.checksum(device) == before
        written[name] = content.write(device, SIZE)  # every byte
    (driver.pool / "filler").unlink()
    for name, volume in volumes.items():
        kubelet.end_pod(volume, name)
        assert content.checksum(driver.image(volume.handle)) == written[name]
    assert content.checksum(driver.image(snapshot)) == before


def test_room_for_what_is_shared_is_reserved_before_the_snapshot(driver):
    volume = driver.create("pv", size=SIZE, access="block", provisioning="thick").volume_id
    content.write(driver.image(volume), SIZE)
    room = capacity(driver)
    driver.snapshot(volume, "snap")
    assert capacity(driver) <= room - SIZE
    rest = capacity(driver)
    driver.create("big", size=rest, access="block", provisioning="thick")
    with csi_client.refused("RESOURCE_EXHAUSTED"):
        driver.snapshot(volume, "another")
    assert len(driver.snapshots()) == 1


def capacity(driver):
    return driver.call("GetCapacity", parameters={"provisioning": "thick"}).maximum_volume_size.value
