# SPDX-License-Identifier: Apache-2.0
"""What data movers of backup tools do: filesystems are read and written as raw block volumes, and
such a volume is mounted by pods afterwards. And restores that many pods read."""

import dataclasses
import shutil

import pytest

import content
import csi_client
import signatures
from csi_client import refused
from driver import MIB, SIZES
from kubelet import Kubelet, PersistentVolume
from pool_disk import run

MKFS = {"ext4": ("mkfs.ext4", "-q", "-F"), "ext3": ("mkfs.ext3", "-q", "-F"),
        "xfs": ("mkfs.xfs", "-q", "-f"), "btrfs": ("mkfs.btrfs", "-q", "-f")}
FOREIGN = (signatures.dos_partition_table, signatures.gpt, signatures.luks, signatures.swap,
           signatures.lvm_physical_volume, signatures.ext2, signatures.vfat, signatures.squashfs)


@pytest.fixture
def kubelet(driver, directory):
    return Kubelet(directory / "kubelet", driver.call)


def block_volume(driver, name, size):
    return PersistentVolume(driver.create(name, access="block", size=size).volume_id, name, "block")


def mounted(volume, filesystem):
    """A second PersistentVolume of the same volume."""
    return dataclasses.replace(volume, name=f"{volume.name}-fs", access="mount",
                               filesystem=filesystem)


def uuid_at(path):
    return run("findmnt", "--noheadings", "--output", "UUID", path)


def fill(kubelet, volume, write):
    """A pod that writes to the device and ends."""
    path = kubelet.start_pod(volume, "mover")
    write(path)
    kubelet.end_pod(volume, "mover")


@pytest.mark.parametrize("kind", MKFS)
def test_a_filesystem_is_moved_as_a_block_device(kind, driver, kubelet, directory):
    origin = PersistentVolume(driver.create("origin", filesystem=kind).volume_id, "origin", "mount",
                              kind)
    path = kubelet.start_pod(origin, "pod")
    before = content.write(path / "data")
    uuid = uuid_at(path)
    kubelet.end_pod(origin, "pod")
    snapshot = driver.snapshot(origin.handle, "snap").snapshot_id
    # The mover reads a restore of the snapshot as a block device ...
    exposed = PersistentVolume(
        driver.create("exposed", access="block", size=SIZES[kind], source=snapshot).volume_id,
        "exposed", "block")
    backup = directory / "backup"
    fill(kubelet, exposed, lambda device: shutil.copyfile(device, backup))
    # ... and later writes it to a new volume.
    target = block_volume(driver, "target", SIZES[kind] + 64 * MIB)

    def write(device):
        with open(backup, "rb") as source, open(device, "r+b") as to:
            shutil.copyfileobj(source, to, MIB)
    fill(kubelet, target, write)
    backup.unlink()
    origin_path = kubelet.start_pod(origin, "pod")
    restored = mounted(target, kind)
    path = kubelet.start_pod(restored, "pod-2")
    assert content.checksum(path / "data") == before
    assert uuid_at(origin_path) == uuid != uuid_at(path), "both are mounted"
    assert driver.record(target.handle)["state"] == "formatted"
    content.write(path / "more")
    kubelet.end_pod(restored, "pod-2")
    with refused("FAILED_PRECONDITION", "is a mount volume and cannot be used as block"):
        kubelet.start_pod(target, "pod-3")
    driver.restart()
    path = kubelet.start_pod(restored, "pod-4")
    assert content.checksum(path / "data") == before
    kubelet.end_pod(restored, "pod-4")
    kubelet.end_pod(origin, "pod")


def test_a_kill_after_it_was_taken_over(driver, kubelet):
    """The record says inherited, and the next stage goes on."""
    volume = block_volume(driver, "volume", SIZES["ext4"])
    fill(kubelet, volume, lambda device: run(*MKFS["ext4"], device))
    pod = mounted(volume, "ext4")
    path = kubelet.start_pod(pod, "pod")
    own = uuid_at(path)
    driver.server.kill()
    driver.start()
    assert uuid_at(path) == own
    kubelet.end_pod(pod, "pod")


def refusing(driver, kubelet, volume, filesystem, message):
    before = content.checksum(driver.image(volume.handle))
    record = driver.record(volume.handle)
    with refused("FAILED_PRECONDITION", message):
        kubelet.start_pod(mounted(volume, filesystem), "pod")
    assert content.checksum(driver.image(volume.handle)) == before
    assert driver.record(volume.handle) == record and driver.loop(volume.handle) is None


def test_a_blank_volume_is_never_formatted(driver, kubelet):
    refusing(driver, kubelet, block_volume(driver, "volume", SIZES["ext4"]), "ext4",
             "holds no filesystem that could be mounted")


def test_raw_data_is_left_alone(driver, kubelet):
    volume = block_volume(driver, "volume", SIZES["ext4"])
    fill(kubelet, volume, content.write)
    refusing(driver, kubelet, volume, "ext4", "holds no filesystem that could be mounted")


def test_another_filesystem_is_left_alone(driver, kubelet):
    volume = block_volume(driver, "volume", SIZES["xfs"])
    fill(kubelet, volume, lambda device: run(*MKFS["xfs"], device))
    refusing(driver, kubelet, volume, "ext4", "which cannot be used as ext4")


@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda foreign: foreign.__name__)
def test_what_is_no_filesystem_is_left_alone(foreign, driver, kubelet):
    volume = block_volume(driver, "volume", SIZES["ext4"])
    foreign(driver.image(volume.handle))
    refusing(driver, kubelet, volume, "ext4", "is a raw block volume, and holds")


def test_two_filesystems_are_left_alone(driver, kubelet):
    volume = block_volume(driver, "volume", SIZES["btrfs"])

    def write(device):
        run(*MKFS["btrfs"], device)
        with open(driver.image(volume.handle), "r+b") as image:
            image.seek(0)
            kept = image.read(2 * MIB)
        run(*MKFS["ext4"], device)
        with open(device, "r+b") as to:  # the superblocks of both, at 1 KiB and at 64 KiB
            to.seek(64 << 10)
            to.write(kept[64 << 10:68 << 10])
    fill(kubelet, volume, write)
    refusing(driver, kubelet, volume, "ext4", "")


def test_one_that_is_staged_as_a_block_device_is_left_alone(driver, kubelet):
    volume = block_volume(driver, "volume", SIZES["ext4"])
    path = kubelet.start_pod(volume, "mover")
    run(*MKFS["ext4"], path)
    with refused("FAILED_PRECONDITION", "is a block volume and cannot be used as mount"):
        kubelet.start_pod(mounted(volume, "ext4"), "pod")
    assert driver.record(volume.handle)["access_type"] == "block"
    kubelet.end_pod(volume, "mover")


@pytest.mark.parametrize("kind", ("ext4", "xfs", "btrfs"))
def test_many_pods_read_a_restore(kind, driver, kubelet):
    """ReadOnlyMany, as file-level movers ask for it."""
    origin = PersistentVolume(driver.create("origin", filesystem=kind).volume_id, "origin", "mount",
                              kind)
    path = kubelet.start_pod(origin, "pod")
    before = content.write(path / "data")
    kubelet.end_pod(origin, "pod")
    snapshot = driver.snapshot(origin.handle, "snap").snapshot_id
    with refused("INVALID_ARGUMENT", "without a content source"):
        read_only(driver, "empty", kind)
    copy = read_only(driver, "copy", kind, snapshot)
    paths = [kubelet.mount(copy, pod, read_only=True) for pod in ("reader-1", "reader-2")]
    for path in paths:
        assert content.checksum(path / "data") == before
        with pytest.raises(OSError):
            (path / "more").write_text("")
    kubelet.unpublish(copy, "reader-1")
    kubelet.end_pod(copy, "reader-2")


def read_only(driver, name, kind, source=None):
    mode = "MULTI_NODE_READER_ONLY"
    made = driver.call("CreateVolume", name=name, capacity_range=csi_client.at_least(SIZES[kind]),
                       volume_capabilities=[csi_client.capability("mount", kind, mode)],
                       parameters={"provisioning": "thin"},
                       volume_content_source=csi_client.content_source(source)).volume
    return PersistentVolume(made.volume_id, name, "mount", kind, mode)
