# SPDX-License-Identifier: Apache-2.0
"""A node that trims on schedule (--trim-interval) gives back what was deleted in thin volumes, and
is in no call's way."""

import os

import pytest

import content
import waiting
from driver import MIB, SIZES
from kubelet import Kubelet, PersistentVolume
from link_files import free_port
from observed import metric
from pool_disk import run

KINDS = ("ext4", "ext3", "xfs", "btrfs")
DATA = 32 * MIB
CYCLES = 10


@pytest.fixture
def driver(new_driver):
    """Its trims come every second."""
    port = free_port()
    driver = new_driver(flags=("--trim-interval=1s", f"--metrics-address=127.0.0.1:{port}"))
    driver.port = port
    return driver


@pytest.fixture
def kubelet(driver, directory):
    return Kubelet(directory / "kubelet", driver.call)


def create(driver, name, filesystem="ext4", provisioning="thin"):
    made = driver.create(name, filesystem=filesystem, provisioning=provisioning)
    return PersistentVolume(made.volume_id, name, filesystem=filesystem)


def allocated(driver, volume):
    return driver.image(volume.handle).stat().st_blocks * 512


def await_given_back(driver, volume, empty):
    """`empty` is what the filesystem itself takes."""
    waiting.until(lambda: allocated(driver, volume) < empty + DATA // 2, "the blocks go back")


def write_and_delete(path):
    """A pod's file comes and goes; afterwards its blocks are free in the filesystem."""
    with open(path / "big", "wb") as file:
        for _ in range(DATA // MIB):
            file.write(os.urandom(MIB))
        os.fsync(file.fileno())
    (path / "big").unlink()
    run("sync", "--file-system", path)


def trims(driver, result="done"):
    return metric(driver.port, "holdfast_trims_total", result=result)


def await_trims(driver, more):
    wanted = trims(driver) + more
    waiting.until(lambda: trims(driver) >= wanted, f"{more} trims more")


@pytest.mark.parametrize("filesystem", KINDS)
def test_what_a_pod_has_deleted_goes_back(driver, kubelet, filesystem):
    volume = create(driver, "pv", filesystem)
    path = kubelet.mount(volume, "pod")
    kept = content.write(path / "kept")
    empty = allocated(driver, volume)
    for _ in range(2):
        write_and_delete(path)
        await_given_back(driver, volume, empty)
    assert content.checksum(path / "kept") == kept
    waiting.until(lambda: trims(driver) >= 1, "a trim is counted")
    assert metric(driver.port, "holdfast_trimmed_bytes_total") >= DATA
    assert trims(driver, "failed") == 0
    waiting.until(lambda: f"trimmed volume {volume.handle}" in driver.log(), "it is logged")
    kubelet.unmount(volume, "pod")


def test_a_thick_volume_keeps_its_blocks(driver, kubelet):
    thick, thin = create(driver, "thick", provisioning="thick"), create(driver, "thin")
    paths = [kubelet.mount(volume, "pod") for volume in (thick, thin)]
    empty = allocated(driver, thin)
    for path in paths:
        write_and_delete(path)
    await_given_back(driver, thin, empty)
    await_trims(driver, 2)
    assert allocated(driver, thick) >= SIZES["ext4"]
    assert f"trimmed volume {thick.handle}" not in driver.log()
    for volume in (thick, thin):
        kubelet.unmount(volume, "pod")


@pytest.mark.parametrize("filesystem", KINDS)
def test_volumes_come_and_go_under_the_trims(driver, kubelet, filesystem):
    """Every call of the kubelet must succeed at once, and take nothing away from the data."""
    volume = create(driver, "pv", filesystem)
    kept = None
    for cycle in range(CYCLES):
        path = kubelet.mount(volume, f"pod-{cycle}")
        if kept:
            assert content.checksum(path / "kept") == kept
        kept = content.write(path / "kept")
        write_and_delete(path)
        if cycle % 3 == 0:
            await_trims(driver, 1)
        kubelet.unmount(volume, f"pod-{cycle}")
    assert trims(driver, "failed") == 0


def test_a_snapshot_keeps_what_the_volume_gives_back(driver, kubelet):
    """What was deleted after the snapshot is in the restore, and not in the volume."""
    volume = create(driver, "pv")
    path = kubelet.mount(volume, "pod")
    kept = content.write(path / "kept")
    empty = allocated(driver, volume)
    snapshot = driver.snapshot(volume.handle, "snap").snapshot_id
    (path / "kept").unlink()
    write_and_delete(path)
    await_given_back(driver, volume, empty)
    made = driver.create("restored", source=snapshot)
    restored = PersistentVolume(made.volume_id, "restored", filesystem="ext4")
    assert content.checksum(kubelet.mount(restored, "pod-2") / "kept") == kept
    kubelet.unmount(restored, "pod-2")
    kubelet.unmount(volume, "pod")


def test_a_kill_in_the_middle_leaves_nothing(driver, kubelet):
    volume = create(driver, "pv", "xfs")  # which is trimmed as a whole each time
    path = kubelet.mount(volume, "pod")
    kept = content.write(path / "kept")
    empty = allocated(driver, volume)
    for _ in range(5):
        waiting.until(lambda: metric(driver.port, "holdfast_trimmed_bytes_total") > 0,
                      "a trim has begun")
        driver.crash()
    write_and_delete(path)
    await_given_back(driver, volume, empty)
    assert content.checksum(path / "kept") == kept
    kubelet.unmount(volume, "pod")
