# SPDX-License-Identifier: Apache-2.0
"""What was deleted comes back as it was, as long as it is in the trash, and only then."""

import pytest

import content
import csi_client
import waiting
from driver import MIB
from kubelet import PersistentVolume
from test_persistence import KINDS, start

SIZE = 8 * content.CHUNK
HOUR = 3600


@pytest.fixture
def driver(new_disk, new_driver):
    """On a disk that can share blocks, as snapshots need it."""
    new_disk(4 << 30, filesystem="xfs")
    return new_driver(",keepDeleted=24h")


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


def restore(driver, entry):
    return driver.client.admin_command("RestoreTrash", id=entry.id)


def write(kubelet, volume, pod="pod"):
    checksum = content.write(start(kubelet, volume, pod), SIZE)
    kubelet.end_pod(volume, pod)
    return checksum


def read(kubelet, volume, pod="reader"):
    checksum = content.checksum(start(kubelet, volume, pod), SIZE)
    kubelet.end_pod(volume, pod)
    return checksum


def mounted(driver, name="pv", **parameters):
    return PersistentVolume(driver.create(name, **parameters).volume_id, name, filesystem="ext4")


def test_a_restored_volume_has_its_data(driver, kubelet, volume):
    written = write(kubelet, volume)
    record = driver.record(volume.handle)
    driver.delete(volume.handle)
    assert driver.listed() == []
    with csi_client.refused("NOT_FOUND"):
        kubelet.stage_block(volume) if volume.access == "block" else kubelet.stage(volume)
    for between in (driver.restart, driver.crash):
        entry, = driver.trash()
        assert (entry.volume_id, entry.kind) == (volume.handle, "volume")
        assert 0 < entry.remaining_seconds <= entry.keep_seconds == 24 * HOUR
        between()
        assert restore(driver, entry).entry.volume_id == volume.handle
        assert driver.record(volume.handle) == record  # also the filesystem's UUID
        assert read(kubelet, volume) == written
        driver.delete(volume.handle)


def test_a_volume_of_the_same_name_is_fresh(driver, kubelet):
    volume = mounted(driver)
    written = write(kubelet, volume)
    uuid = driver.record(volume.handle)["filesystem_uuid"]
    driver.delete(volume.handle)
    assert mounted(driver).handle == volume.handle
    path = kubelet.start_pod(volume, "pod")
    assert [entry.name for entry in path.iterdir()] == ["lost+found"]
    kubelet.end_pod(volume, "pod")
    assert driver.record(volume.handle)["filesystem_uuid"] != uuid
    entry, = driver.trash()
    with csi_client.refused("ALREADY_EXISTS", "delete it first"):
        restore(driver, entry)
    driver.delete(volume.handle)
    older, newer = sorted(driver.trash(), key=lambda entry: entry.id)
    restore(driver, older)
    assert read(kubelet, volume) == written
    driver.client.admin_command("PurgeTrash", id=newer.id)
    assert driver.trash() == []


def test_a_volume_in_use_does_not_get_into_the_trash(driver, kubelet):
    volume = mounted(driver)
    kubelet.start_pod(volume, "pod")
    with csi_client.refused("FAILED_PRECONDITION", "in use"):
        driver.delete(volume.handle)
    kubelet.end_pod(volume, "pod")
    assert driver.trash() == []


def test_a_class_says_how_long(driver):
    at_once, longer = mounted(driver, "a", keepDeleted="0"), mounted(driver, "b", keepDeleted="7d")
    driver.delete(at_once.handle)
    driver.delete(longer.handle)
    entry, = driver.trash()
    assert (entry.volume_id, entry.keep_seconds) == (longer.handle, 7 * 24 * HOUR)


def test_snapshots_and_clones_do_not_need_their_origin(driver, kubelet):
    origin = mounted(driver)
    written = write(kubelet, origin)
    snapshot = driver.snapshot(origin.handle, "snap").snapshot_id
    clone = mounted(driver, "clone", source=origin.handle)
    driver.delete(origin.handle)
    assert driver.snapshots() == [snapshot]
    copy = mounted(driver, "copy", source=snapshot)
    assert read(kubelet, copy) == read(kubelet, clone) == written
    driver.delete_snapshot(snapshot)
    assert driver.snapshots() == []
    with csi_client.refused("NOT_FOUND"):
        mounted(driver, "late", source=snapshot)
    of_volume, of_snapshot = sorted(driver.trash(), key=lambda entry: entry.kind == "snapshot")
    assert of_snapshot.volume_id == snapshot and of_snapshot.source == origin.handle
    restore(driver, of_snapshot)
    restore(driver, of_volume)
    assert read(kubelet, origin) == written
    listed, = driver.call("ListSnapshots", source_volume_id=origin.handle).entries
    assert listed.snapshot.snapshot_id == snapshot
    assert read(kubelet, mounted(driver, "again", source=snapshot)) == written


def test_a_thick_volume_beside_a_trashed_snapshot_has_room_for_every_byte(driver, kubelet):
    """The snapshot's blocks are the volume's, until that overwrites them."""
    volume = mounted(driver, size=64 * MIB, provisioning="thick")
    write(kubelet, volume)
    room = driver.call("GetCapacity").available_capacity
    driver.delete_snapshot(driver.snapshot(volume.handle, "snap").snapshot_id)
    waiting.until(lambda: room - driver.call("GetCapacity").available_capacity >= SIZE,
                  "the snapshot keeps its room")
    assert not driver.call("ControllerGetVolume",
                           volume_id=volume.handle).status.volume_condition.abnormal


def test_what_is_due_is_purged(new_disk, new_driver):
    new_disk(1 << 30)
    driver = new_driver(",keepDeleted=1s")
    volume = mounted(driver)
    room = driver.call("GetCapacity").available_capacity
    driver.delete(volume.handle)
    assert driver.trash()
    waiting.until(lambda: not list((driver.pool / "trash").iterdir()), "it is purged")
    assert driver.trash() == []
    assert driver.call("GetCapacity").available_capacity > room
    assert not driver.client.admin("ListLeftovers").leftovers


def test_the_trash_makes_room_where_it_may(new_disk, new_driver):
    """Nothing is purged for what would not fit anyhow."""
    new_disk(1 << 30)
    driver = new_driver(",keepDeleted=24h,trash=reclaim")
    for name in ("a", "b"):
        driver.delete(driver.create(name, size=400 * MIB, provisioning="thick").volume_id)
    older, newer = driver.trash()
    with csi_client.refused("RESOURCE_EXHAUSTED"):
        driver.create("huge", size=4096 * MIB, provisioning="thick")
    assert driver.trash() == [older, newer]
    driver.create("c", size=400 * MIB, provisioning="thick")
    assert [entry.id for entry in driver.trash()] == [newer.id]


def test_the_trash_keeps_its_room(new_disk, new_driver):
    new_disk(1 << 30)
    driver = new_driver(",keepDeleted=24h")
    driver.delete(driver.create("a", size=600 * MIB, provisioning="thick").volume_id)
    with csi_client.refused("RESOURCE_EXHAUSTED"):
        driver.create("b", size=600 * MIB, provisioning="thick")
    assert len(driver.trash()) == 1


def test_nothing_is_kept_unless_it_is_asked_for(new_driver):
    driver = new_driver()
    driver.delete(mounted(driver).handle)
    assert driver.trash() == []
    assert not list((driver.pool / "trash").iterdir())


@pytest.mark.parametrize("value", ["soon", "-1h", "1.5s", ""])
def test_a_bad_time_is_refused(driver, value):
    with csi_client.refused("INVALID_ARGUMENT", "keepDeleted"):
        driver.create("pv", keepDeleted=value)
    assert driver.listed() == []
