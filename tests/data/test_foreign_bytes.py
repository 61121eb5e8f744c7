# SPDX-License-Identifier: Apache-2.0
"""A device that is not blank, or that differs from its record, is never formatted."""

import os

import grpc
import pytest

import content
import signatures
from csi_client import refused
from driver import MIB
from kubelet import PersistentVolume
from pool_disk import run


def new_volume(driver, filesystem="ext4"):
    return PersistentVolume(driver.create("pv", filesystem=filesystem).volume_id, "pv",
                            filesystem=filesystem)


def refuse_to_stage(driver, kubelet, volume, match=""):
    """Stages twice, and after a crash; the image must keep every byte and its record its state."""
    image = driver.image(volume.handle)
    bytes_before, record = content.fingerprint(image), driver.record(volume.handle)
    for _ in range(2):
        with refused("FAILED_PRECONDITION", match):
            kubelet.stage(volume)
        driver.crash()
    assert content.fingerprint(image) == bytes_before
    assert driver.record(volume.handle) == record
    assert driver.loop(volume.handle) is None, "a refused stage leaves nothing behind"


@pytest.mark.parametrize(("signature", "filesystem"), [
    *((signature, "ext4") for signature in signatures.ALL),
    *((signature, filesystem) for filesystem in ("xfs", "btrfs")
      for signature in (signatures.luks, signatures.gpt_backup_only,
                        signatures.a_byte_at_the_end))],
    ids=lambda value: getattr(value, "__name__", value))
def test_a_device_that_was_never_formatted_but_holds_something(driver, kubelet, signature,
                                                               filesystem):
    volume = new_volume(driver, filesystem)
    signature(driver.image(volume.handle))
    refuse_to_stage(driver, kubelet, volume, "left alone")
    # Once an administrator has checked it and made it blank, it can be used.
    image = driver.image(volume.handle)
    size = image.stat().st_size
    os.truncate(image, 0)
    os.truncate(image, size)
    kubelet.stage(volume)
    kubelet.unstage(volume)


def formatted(driver, kubelet, filesystem):
    volume = new_volume(driver, filesystem)
    path = kubelet.mount(volume, "pod")
    content.write(path / "data")
    kubelet.unmount(volume, "pod")
    return volume


@pytest.mark.parametrize(("filesystem", "head"), [
    ("ext4", 4096), ("ext4", 2 * MIB), ("ext3", 4096), ("xfs", 512), ("xfs", 2 * MIB),
    ("btrfs", 128 << 10), ("btrfs", 2 * MIB)])
def test_a_superblock_that_was_wiped(driver, kubelet, filesystem, head):
    volume = formatted(driver, kubelet, filesystem)
    image = driver.image(volume.handle)
    with open(image, "rb") as file:
        saved = file.read(head)
    signatures.put(image, 0, bytes(head))
    refuse_to_stage(driver, kubelet, volume)
    signatures.put(image, 0, saved)
    kubelet.mount(volume, "pod")
    assert (kubelet.mount_path(volume, "pod") / "data").stat().st_size == 4 * content.CHUNK
    kubelet.unmount(volume, "pod")


@pytest.mark.parametrize(("filesystem", "other"), [
    ("ext4", ["mkfs.ext4", "-q", "-F"]), ("ext4", ["mkswap", "--quiet"]),
    ("xfs", ["mkfs.xfs", "-q", "-f"]), ("xfs", ["mkfs.btrfs", "-q", "-f"]),
    ("btrfs", ["mkfs.btrfs", "-q", "-f"]), ("btrfs", ["mkfs.ext4", "-q", "-F"])],
    ids=lambda value: value if isinstance(value, str) else value[0])
def test_another_filesystem_in_its_place(driver, kubelet, filesystem, other):
    """Also one of the same type: its UUID is not the recorded one."""
    volume = formatted(driver, kubelet, filesystem)
    image = driver.image(volume.handle)
    run("wipefs", "--quiet", "--all", image)
    run(*other, image)
    refuse_to_stage(driver, kubelet, volume, "holds")


@pytest.mark.parametrize("change", ["shorter", "longer", "empty", "replaced", "gone", "link"])
def test_an_image_that_is_not_the_one_recorded(driver, kubelet, directory, change):
    volume = formatted(driver, kubelet, "ext4")
    image, saved = driver.image(volume.handle), directory / "saved"
    image.rename(saved)
    size = saved.stat().st_size
    if change == "link":
        image.symlink_to(saved)
    elif change != "gone":
        run("cp", "--sparse=always", saved, image)
        os.truncate(image, {"shorter": size - MIB, "longer": size + MIB, "empty": 0,
                            "replaced": 0}[change])
        if change == "replaced":
            os.truncate(image, size)
    saved_bytes = content.fingerprint(saved)
    for _ in range(2):
        with refused("INTERNAL" if change == "link" else "FAILED_PRECONDITION"):
            kubelet.stage(volume)
        driver.crash()
    assert content.fingerprint(saved) == saved_bytes
    if change not in ("gone", "link"):
        assert image.stat().st_size != size or change == "replaced"
    image.unlink(missing_ok=True)
    saved.rename(image)
    kubelet.stage(volume)
    kubelet.unstage(volume)


def test_a_damaged_filesystem_is_not_formatted(driver, kubelet):
    volume = formatted(driver, kubelet, "xfs")
    image = driver.image(volume.handle)
    # The headers of the first allocation group and the root inodes, not the superblock.
    signatures.put(image, 512, os.urandom(256 << 10))
    with pytest.raises(grpc.RpcError):
        kubelet.stage(volume)
    assert driver.loop(volume.handle) is None
    assert run("blkid", "--probe", "--output", "value", "--match-tag", "UUID", image) == (
        driver.record(volume.handle)["filesystem_uuid"])
