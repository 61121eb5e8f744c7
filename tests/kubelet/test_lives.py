# SPDX-License-Identifier: Apache-2.0
"""Whole lives of volumes, in kubelet's order, under every fault."""

import faults
import pytest

import content
import mount_table
from kubelet import PersistentVolume

FILESYSTEMS = ("ext4", "xfs", "btrfs")


@pytest.fixture(params=faults.ALL, ids=lambda fault: fault.__name__)
def faulty(request, driver, kubelet):
    """A kubelet whose every call meets the fault, and the call for the controller's side."""
    kubelet.call = request.param(driver)
    return kubelet


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_filesystem_volume(driver, faulty, filesystem):
    created = driver.create("pvc-1", filesystem=filesystem, call=faulty.call)
    volume = PersistentVolume(created.volume_id, "pv-1", filesystem=filesystem)
    path = faulty.mount(volume, "pod-1")
    checksum = content.write(path / "data")
    usage = {entry.unit: entry for entry in faulty.stats(volume, path).usage}
    assert 0 < usage[1].available < usage[1].total <= created.capacity_bytes
    assert len(mount_table.mounts_at(path)) == 1
    faulty.unmount(volume, "pod-1")
    assert driver.loop(volume.handle) is None
    path = faulty.mount(volume, "pod-2")
    assert content.checksum(path / "data") == checksum
    faulty.unmount(volume, "pod-2")
    faulty.call("DeleteVolume", volume_id=volume.handle)


def test_block_volume(driver, faulty):
    created = driver.create("pvc-1", access="block", call=faulty.call)
    volume = PersistentVolume(created.volume_id, "pv-1", access="block")
    device = faulty.map_block(volume, "pod-1")
    checksum = content.write(device)
    assert faulty.stats(volume, faulty.device_path(volume, "pod-1")).usage[0].total == (
        created.capacity_bytes)
    faulty.unmap_block(volume, "pod-1")
    assert driver.loop(volume.handle) is None
    device = faulty.map_block(volume, "pod-2")
    assert content.checksum(device, 4 * content.CHUNK) == checksum
    faulty.unmap_block(volume, "pod-2")
    faulty.call("DeleteVolume", volume_id=volume.handle)
