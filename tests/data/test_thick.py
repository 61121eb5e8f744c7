# SPDX-License-Identifier: Apache-2.0
"""Thick means thick: every byte is allocated, and stays so."""

import os
import subprocess

import pytest

import content
import csi_client
from driver import MIB, SIZES
from kubelet import Kubelet, PersistentVolume
from pool_disk import run

KINDS = ("ext4", "ext3", "xfs", "btrfs", "block")


@pytest.fixture(params=KINDS)
def volume(request, driver):
    access = "block" if request.param == "block" else "mount"
    created = driver.create("pv", access=access, filesystem=request.param, provisioning="thick")
    return PersistentVolume(created.volume_id, "pv", access,
                            "" if access == "block" else request.param)


def allocated(driver, volume):
    return driver.image(volume.handle).stat().st_blocks * 512


def condition(driver, volume):
    return driver.call("ControllerGetVolume",
                       volume_id=volume.handle).status.volume_condition


def try_to_discard(driver, kubelet, volume):
    """As a weekly fstrim.timer, or blkdiscard in a pod, would do."""
    if volume.access == "block":
        command = ["blkdiscard", "--force", driver.loop(volume.handle)]
    else:
        command = ["fstrim", kubelet.global_mount(volume)]
    subprocess.run(command, check=False, capture_output=True)
    os.sync()


def test_a_thick_volume_stays_thick(driver, kubelet, volume):
    size = SIZES[volume.filesystem or "block"]
    assert allocated(driver, volume) >= size
    for pod in ("pod-1", "pod-2"):
        path = kubelet.start_pod(volume, pod)
        assert allocated(driver, volume) >= size, "mkfs or mount gave bytes back"
        content.write(path if volume.access == "block" else path / "data")
        if volume.access == "mount":
            (path / "data").unlink()
            run("sync", "--file-system", path)
        try_to_discard(driver, kubelet, volume)
        assert allocated(driver, volume) >= size, "discard gave bytes back"
        assert not condition(driver, volume).abnormal
        kubelet.end_pod(volume, pod)
        driver.crash()
    driver.call("ControllerExpandVolume", volume_id=volume.handle,
                capacity_range=csi_client.at_least(2 * size))
    assert allocated(driver, volume) >= 2 * size
    kubelet.start_pod(volume, "pod-3")
    try_to_discard(driver, kubelet, volume)
    kubelet.end_pod(volume, "pod-3")
    assert allocated(driver, volume) >= 2 * size


def test_a_hole_is_reported_and_refilled_by_the_next_stage(driver, kubelet, volume):
    size = SIZES[volume.filesystem or "block"]
    path = kubelet.start_pod(volume, "pod")
    file = path if volume.access == "block" else path / "data"
    written = content.write(file)
    kubelet.end_pod(volume, "pod")
    run("fallocate", "--dig-holes", driver.image(volume.handle))
    assert allocated(driver, volume) < size
    assert condition(driver, volume).abnormal
    path = kubelet.start_pod(volume, "pod")
    assert allocated(driver, volume) >= size
    assert not condition(driver, volume).abnormal
    assert content.checksum(file, 4 * content.CHUNK) == written
    kubelet.end_pod(volume, "pod")


def test_a_hole_that_cannot_be_refilled_is_reported_and_the_pod_starts(new_driver, new_disk,
                                                                      directory):
    disk = new_disk(256 * MIB)
    driver = new_driver()
    kubelet = Kubelet(directory / "kubelet", driver.call)
    volume = PersistentVolume(driver.create("pv", provisioning="thick").volume_id, "pv",
                              filesystem="ext4")
    written = content.write(kubelet.mount(volume, "pod") / "data")
    kubelet.unmount(volume, "pod")
    run("fallocate", "--dig-holes", driver.image(volume.handle))
    filler = disk.mount_point / "lost+found" / "filler"
    subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=1M"], check=False,
                   stderr=subprocess.DEVNULL)
    path = kubelet.mount(volume, "pod")
    assert content.checksum(path / "data") == written
    assert condition(driver, volume).abnormal
    assert kubelet.stats(volume, path).volume_condition.abnormal
    kubelet.unmount(volume, "pod")
    filler.unlink()
    kubelet.mount(volume, "pod")
    assert not condition(driver, volume).abnormal
    kubelet.unmount(volume, "pod")
