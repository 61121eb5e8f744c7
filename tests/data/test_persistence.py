# SPDX-License-Identifier: Apache-2.0
"""Data comes back: after unstage, restart, crash, and on another loop device."""

import pytest

import content
from driver import SIZES
from kubelet import PersistentVolume

KINDS = ("ext4", "ext3", "xfs", "btrfs", "block")


@pytest.fixture(params=["thin", "thick"])
def provisioning(request):
    return request.param


@pytest.fixture(params=KINDS)
def volume(request, driver, provisioning):
    access = "block" if request.param == "block" else "mount"
    created = driver.create("pv", access=access, filesystem=request.param,
                            provisioning=provisioning)
    return PersistentVolume(created.volume_id, "pv", access,
                            "" if access == "block" else request.param)


def start(kubelet, volume, pod):
    """Starts a pod; returns the file or device that it writes."""
    path = kubelet.start_pod(volume, pod)
    return path if volume.access == "block" else path / "data"


def test_data_comes_back(driver, kubelet, volume):
    size = 8 * content.CHUNK
    written = content.write(start(kubelet, volume, "pod-0"), size)
    uuid = driver.record(volume.handle)["filesystem_uuid"]
    for number, between in enumerate((driver.restart, driver.crash, lambda: None)):
        kubelet.end_pod(volume, f"pod-{number}")
        between()
        path = start(kubelet, volume, f"pod-{number + 1}")
        assert content.checksum(path, size) == written
        assert driver.record(volume.handle)["filesystem_uuid"] == uuid
    kubelet.end_pod(volume, "pod-3")


def test_data_reaches_the_image(driver, kubelet, volume):
    """The data that a pod wrote is in the file that a backup would copy."""
    path = start(kubelet, volume, "pod")
    content.write(path, 2 * content.CHUNK)
    with open(path, "rb") as file:
        written = file.read(4096)
    kubelet.end_pod(volume, "pod")
    image = driver.image(volume.handle)
    assert written in image.read_bytes()
    assert image.stat().st_size == SIZES[volume.filesystem or "block"]
    assert image.stat().st_mode & 0o777 == 0o600


def test_other_volumes_are_not_touched_by_a_deletion(driver, kubelet, volume):
    path = start(kubelet, volume, "pod")
    written = content.write(path)
    for number in range(3):
        other = PersistentVolume(driver.create(f"other-{number}").volume_id, f"other-{number}",
                                 filesystem="ext4")
        kubelet.mount(other, "pod")
        kubelet.unmount(other, "pod")
        driver.delete(other.handle)
    kubelet.end_pod(volume, "pod")
    assert content.checksum(start(kubelet, volume, "pod"), 4 * content.CHUNK) == written
    kubelet.end_pod(volume, "pod")
