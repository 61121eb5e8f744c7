# SPDX-License-Identifier: Apache-2.0
"""A record that is older than its image, as in a backup, destroys nothing.

Backups read the small record and the large image at different times, and drop extended attributes;
administrators restore only the record."""

import json
import os
import pathlib
import re
import subprocess
import threading

import pytest

import content
import doctor
import record_text
from cluster import until
from csi_client import at_least, refused
from driver import MIB, SIZES
from kubelet import PersistentVolume
from pool_disk import run

OLDER = "the record is older than the image"
ROUND = 90  # seconds in which the reconciler has looked, at the latest
MARK = "trusted.holdfast.formatted"
FILESYSTEMS = ("ext4", "ext3", "xfs", "btrfs")
DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operations.md"


def new_volume(driver, filesystem, **properties):
    access = "block" if filesystem == "block" else "mount"
    created = driver.create("pv", access=access, filesystem=filesystem, **properties)
    return PersistentVolume(created.volume_id, "pv", access,
                            "" if access == "block" else filesystem)


def data_of(kubelet, volume):
    """Starts a pod; returns the file or device that it writes."""
    path = kubelet.start_pod(volume, "pod")
    return path if volume.access == "block" else path / "data"


def use(kubelet, volume):
    """A pod writes and ends; returns what a later pod must find."""
    written = content.write(data_of(kubelet, volume), MIB)
    kubelet.end_pod(volume, "pod")
    return written


def assert_holds(kubelet, volume, written):
    assert content.checksum(data_of(kubelet, volume), MIB) == written
    kubelet.end_pod(volume, "pod")


def older(driver, volume, **changes):
    return record_text.sealed(driver.record(volume.handle) | changes)


def restore(driver, volume, record, attributes="kept"):
    """The operations on a backup, while the driver is stopped."""
    driver.server.kill()
    driver.record_path(volume.handle).write_bytes(record)
    image = driver.image(volume.handle)
    if attributes == "dropped":
        run("cp", "--sparse=always", image, image.with_name("restored"))
        image.with_name("restored").rename(image)
        assert MARK not in os.listxattr(image)
    driver.start()


@pytest.mark.parametrize("attributes", ["kept", "dropped"])
@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_a_record_that_was_read_during_the_first_stage(driver, kubelet, program_gate, filesystem,
                                                       attributes):
    volume = new_volume(driver, filesystem)
    gate = program_gate(f"mkfs.{filesystem}")
    stage = threading.Thread(target=kubelet.stage, args=(volume,))
    stage.start()
    gate.wait_until_started()
    caught = driver.record_path(volume.handle).read_bytes()
    gate.let_through()
    stage.join()
    assert json.loads(caught)["state"] == "formatting"
    written = content.write(kubelet.publish(volume, "pod") / "data", MIB)
    kubelet.unmount(volume, "pod")
    newer = driver.record_path(volume.handle).read_bytes()
    restore(driver, volume, caught, attributes)
    gate.let_through()  # another mkfs, if there were one
    assert_holds(kubelet, volume, written)
    assert gate.starts() == 1
    assert driver.record_path(volume.handle).read_bytes() == newer
    assert os.getxattr(driver.image(volume.handle), MARK).decode() == (
        f"{filesystem} {driver.record(volume.handle)['filesystem_uuid']}")
    assert "is older than its bytes" in driver.log()


@pytest.mark.parametrize("attributes", ["kept", "dropped"])
@pytest.mark.parametrize(("filesystem", "provisioning"), [
    ("ext4", "thin"), ("xfs", "thick"), ("btrfs", "thin"), ("block", "thin"), ("block", "thick")])
def test_a_record_that_was_read_during_the_creation(driver, kubelet, filesystem, provisioning,
                                                    attributes):
    """The reconciler removed such a volume within 30 s; so did a repeated CreateVolume."""
    volume = new_volume(driver, filesystem, provisioning=provisioning)
    created = driver.record(volume.handle)
    written = use(kubelet, volume)
    newer = driver.record_path(volume.handle).read_bytes()
    image = content.fingerprint(driver.image(volume.handle))
    restore(driver, volume, record_text.sealed(created | {"state": "allocating"}), attributes)
    await_damage(driver, volume)
    for call in (lambda: new_volume(driver, filesystem, provisioning=provisioning),
                 lambda: driver.delete(volume.handle), lambda: kubelet.start_pod(volume, "pod"),
                 lambda: driver.call("ControllerExpandVolume", volume_id=volume.handle,
                                     capacity_range=at_least(1 << 30))):
        with refused("FAILED_PRECONDITION", OLDER):
            call()
    finding = doctor.findings(driver)[f"pool 'default', volume {volume.handle[-36:]}"]
    assert OLDER in finding["found"]
    assert "keep the image" in finding["remedy"]
    assert content.fingerprint(driver.image(volume.handle)) == image
    driver.record_path(volume.handle).write_bytes(newer)
    assert_holds(kubelet, volume, written)
    driver.delete(volume.handle)  # it is listed again by the next round only


def await_damage(driver, volume):
    """Until the reconciler has examined the volume and left it to the administrator."""
    until(lambda: f"damaged-volume of {volume.handle} is left" in driver.log(),
          "the reconciler did not report the volume", ROUND)


def test_a_record_of_before_the_first_stage(driver, kubelet):
    volume = new_volume(driver, "ext4")
    created = driver.record_path(volume.handle).read_bytes()
    written = use(kubelet, volume)
    restore(driver, volume, created)
    assert_holds(kubelet, volume, written)
    image = content.fingerprint(driver.image(volume.handle))
    restore(driver, volume, created, "dropped")
    with refused("FAILED_PRECONDITION", "its record is older than its bytes"):
        kubelet.stage(volume)
    finding = doctor.findings(driver)[f"pool 'default', volume {volume.handle[-36:]}"]
    assert "never formatted" in finding["found"] and OLDER in finding["found"]
    assert content.fingerprint(driver.image(volume.handle)) == image


def test_a_record_of_before_a_growth(driver, kubelet):
    volume = new_volume(driver, "xfs")
    written = use(kubelet, volume)
    before = driver.record_path(volume.handle).read_bytes()
    driver.call("ControllerExpandVolume", volume_id=volume.handle,
                capacity_range=at_least(600 * MIB))
    assert_holds(kubelet, volume, written)
    newer = driver.record_path(volume.handle).read_bytes()
    restore(driver, volume, before)
    with refused("FAILED_PRECONDITION", f"{OLDER}; keep the image"):
        kubelet.stage(volume)
    listed, = driver.call("ListVolumes").entries
    assert listed.status.volume_condition.abnormal
    assert OLDER in listed.status.volume_condition.message
    finding = doctor.findings(driver)[f"pool 'default', volume {volume.handle[-36:]}"]
    assert OLDER in finding["found"] and "keep the image" in finding["remedy"]
    driver.record_path(volume.handle).write_bytes(newer)
    assert_holds(kubelet, volume, written)


def test_an_unfinished_creation_is_still_removed(driver):
    """It was never written to: the state after a kill, thin and thick."""
    for provisioning in ("thin", "thick"):
        handle = driver.create(provisioning, provisioning=provisioning).volume_id
        directory = driver.volume_directory(handle)
        record = record_text.sealed(driver.record(handle) | {"state": "allocating"})
        driver.server.kill()
        driver.record_path(handle).write_bytes(record)
        driver.start()
        until(lambda line=f"unfinished-creation of {handle} ended": line in driver.log(),
              "the creation was not removed", ROUND)
        assert not directory.exists()


def documented_script():
    """The one of docs/operations.md, to be given the volume's directory."""
    block, = re.findall(r"^python3 - \S+ <<'END'\n(.*?)^END$", DOCUMENT.read_text(),
                        re.MULTILINE | re.DOTALL)
    return block


@pytest.mark.parametrize(("filesystem", "old"), [
    ("ext4", {"state": "allocating", "filesystem_uuid": ""}),
    ("xfs", {"state": "ready", "filesystem_uuid": ""}),
    ("btrfs", {"state": "formatting", "filesystem_uuid": "7c0e4f3e-0000-4000-8000-000000000002"}),
    ("ext3", {"capacity_bytes": 32 * MIB}),
    ("block", {"state": "allocating"}),
    ("block", {"capacity_bytes": 16 * MIB, "grow_to_bytes": 20 * MIB})])
def test_the_documented_recovery_without_a_newer_record(driver, kubelet, filesystem, old):
    """With the driver running, and the attributes dropped."""
    volume = new_volume(driver, filesystem)
    written = use(kubelet, volume)
    newer = driver.record(volume.handle)
    restore(driver, volume, older(driver, volume, **old), "dropped")
    with refused("FAILED_PRECONDITION", "older than its"):
        kubelet.start_pod(volume, "pod")
    subprocess.run(["python3", "-", driver.volume_directory(volume.handle)], check=True, text=True,
                   input=documented_script())
    assert driver.record(volume.handle) == newer
    assert os.listdir(driver.volume_directory(volume.handle)) in (["image", "record.json"],
                                                                  ["record.json", "image"])
    finding = doctor.findings(driver)["pool 'default', volumes"]
    assert finding["found"] == "1 of 1 are whole"
    assert_holds(kubelet, volume, written)
    assert driver.image(volume.handle).stat().st_size == SIZES[filesystem]
    driver.delete(volume.handle)  # it is listed again by the next round only
