# SPDX-License-Identifier: Apache-2.0
"""Snapshots that are restored, and volumes that are cloned, in another pool of the same node."""

import json

import csi_client
import pytest

import content
from csi_client import refused
from driver import MIB, SIZES
from kubelet import Kubelet, PersistentVolume
from waiting import until

DISK = 4 << 30  # sparse


@pytest.fixture
def driver(new_disk, new_driver, directory):
    """The default pool shares blocks, the pool `second` is on another filesystem."""
    new_disk(DISK, filesystem="xfs")
    driver = new_driver()
    second = directory / "second"
    new_disk(DISK, second, name="second")
    driver.server.command += [f"--pool=second=file:{second}", "--copy-rate=64Mi"]
    return driver.restart()


def restored(driver, name, **fields):
    made = []

    def is_made():
        try:
            made.append(driver.create(name, pool="second", **fields))
        except csi_client.grpc.RpcError as error:
            assert csi_client.code_of(error) == "ABORTED", error
        return made
    until(is_made, "the copy is complete")
    return made[0]


@pytest.mark.parametrize("provisioning", ("thin", "thick"))
@pytest.mark.parametrize("kind", ("ext4", "xfs", "block"))
def test_a_snapshot_is_restored_in_another_pool(driver, directory, kind, provisioning):
    kubelet = Kubelet(directory / "kubelet", driver.call)
    access = "block" if kind == "block" else "mount"
    filesystem = "" if kind == "block" else kind

    def claim(volume, name):
        return PersistentVolume(volume.volume_id, name, access, filesystem)

    def data(path):
        return path if kind == "block" else path / "data"

    made = driver.create("origin", access=access, filesystem=kind, provisioning=provisioning)
    origin = claim(made, "origin")
    path = kubelet.start_pod(origin, "pod-origin")
    before = content.write(data(path))
    snapshot = driver.snapshot(made.volume_id, "snap").snapshot_id
    content.write(data(path))
    fields = {"access": access, "filesystem": kind, "provisioning": provisioning,
              "size": SIZES[kind] + 64 * MIB, "source": snapshot}
    volume = restored(driver, "copy", **fields)
    assert volume.volume_id.startswith("second:")
    assert driver.create("copy", pool="second", **fields) == volume
    copy = claim(volume, "copy")
    place = kubelet.start_pod(copy, "pod-copy")
    assert content.checksum(data(place), 4 * MIB) == before
    for claimed in (origin, copy):
        kubelet.end_pod(claimed, f"pod-{claimed.name}")
    driver.delete_snapshot(snapshot)
    assert driver.create("copy", pool="second", **fields) == volume  # its source is gone


def test_a_copy_goes_on_after_a_kill(driver, directory):
    size = 384 * MIB
    made = driver.create("origin", access="block", size=size)
    before = content.write(driver.image(made.volume_id), size)
    snapshot = driver.snapshot(made.volume_id, "snap").snapshot_id
    fields = {"access": "block", "size": size, "source": snapshot}

    def has_progress():
        with refused("ABORTED", "is being copied") as refusal:
            driver.create("copy", pool="second", **fields)
        return "which is at 256 MiB" in refusal.value.details()
    until(has_progress, "256 MiB are kept")
    driver.crash()
    volume = restored(driver, "copy", **fields)
    image = directory / "second" / "volumes" / volume.volume_id.split(":")[-1] / "image"
    assert content.checksum(image) == before


def held_by(driver):
    """The records of the snapshots that the default pool holds."""
    records = [json.loads((path / "record.json").read_text())
               for path in (driver.pool / "volumes").iterdir()]
    return [record for record in records if "held_at" in record]


@pytest.mark.parametrize("provisioning", ("thin", "thick"))
@pytest.mark.parametrize("kind", ("ext4", "xfs", "block"))
def test_a_volume_in_use_is_cloned_in_another_pool(driver, directory, kind, provisioning):
    kubelet = Kubelet(directory / "kubelet", driver.call)
    access = "block" if kind == "block" else "mount"
    filesystem = "" if kind == "block" else kind

    def claim(volume, name):
        return PersistentVolume(volume.volume_id, name, access, filesystem)

    def data(path):
        return path if kind == "block" else path / "data"

    made = driver.create("origin", access=access, filesystem=kind, provisioning=provisioning)
    origin = claim(made, "origin")
    path = kubelet.start_pod(origin, "pod-origin")
    before = content.write(data(path))
    fields = {"access": access, "filesystem": kind, "provisioning": provisioning,
              "size": SIZES[kind] + 64 * MIB, "source": made.volume_id}
    volume = restored(driver, "copy", **fields)
    content.write(data(path))
    assert volume.volume_id.startswith("second:")
    assert volume.content_source.volume.volume_id == made.volume_id
    assert driver.create("copy", pool="second", **fields) == volume
    assert not held_by(driver)
    copy = claim(volume, "copy")
    place = kubelet.start_pod(copy, "pod-copy")
    assert content.checksum(data(place), 4 * MIB) == before
    for claimed in (origin, copy):
        kubelet.end_pod(claimed, f"pod-{claimed.name}")
    driver.delete(made.volume_id)
    assert driver.create("copy", pool="second", **fields) == volume  # its source is gone


def test_a_clone_goes_on_after_a_kill_without_its_source(driver, directory):
    size = 384 * MIB
    made = driver.create("origin", access="block", size=size)
    before = content.write(driver.image(made.volume_id), size)
    fields = {"access": "block", "size": size, "source": made.volume_id}

    def has_progress():
        with refused("ABORTED", "is being copied") as refusal:
            driver.create("copy", pool="second", **fields)
        return "which is at 256 MiB" in refusal.value.details()
    until(has_progress, "256 MiB are kept")
    driver.delete(made.volume_id)
    driver.crash()
    assert len(held_by(driver)) == 1 and not driver.snapshots()
    with refused("ALREADY_EXISTS"):  # and that changes nothing
        driver.create("copy", pool="second", **{**fields, "provisioning": "thick"})
    assert len(held_by(driver)) == 1
    volume = restored(driver, "copy", **fields)
    image = directory / "second" / "volumes" / volume.volume_id.split(":")[-1] / "image"
    assert content.checksum(image) == before
    assert not held_by(driver)


def test_a_clone_that_cannot_be_leaves_nothing(driver, directory):
    made = driver.create("origin")
    kubelet = Kubelet(directory / "kubelet", driver.call)
    origin = PersistentVolume(made.volume_id, "origin", "mount", "ext4")
    kubelet.start_pod(origin, "pod")  # which makes the filesystem
    kubelet.end_pod(origin, "pod")
    fields = {"pool": "second", "source": made.volume_id}
    with refused("OUT_OF_RANGE"):
        driver.create("small", size=MIB, limit=32 * MIB, **fields)
    with refused("INVALID_ARGUMENT", "holds ext4"):
        driver.create("other", filesystem="xfs", **fields)
    with refused("RESOURCE_EXHAUSTED"):
        driver.create("large", size=1 << 44, provisioning="thick", **fields)
    assert [path.name for path in (driver.pool / "volumes").iterdir()] == [
        made.volume_id.split(":")[-1]]
    driver.delete(made.volume_id)
    with refused("NOT_FOUND", "there is no volume"):
        driver.create("late", **fields)
