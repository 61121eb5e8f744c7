# SPDX-License-Identifier: Apache-2.0
"""What is deleted stays in the cluster for a while, comes back as it was, and goes with all that it
had. (test_trash_kills.py kills at each step, trash_conformance.cc lets two controllers compete.)"""

import json
import subprocess

import grpc
import pytest

import csi_client
import driver as driver_module
import driver_fixtures
import image_bytes
from cluster import until
from csi_client import refused
from rbd_driver import (holder, image_of, journal, key_of, moment, nodes, put_in_trash, put_record,
                        record, record_nodes, residue, retained, snapshots_in)
from test_faults import full, quota  # noqa: F401
from test_leftovers import left, look
from test_linked import create as create_linked
from test_snapshots import SIZE, WRITTEN, bytes_of, padded
from test_snapshots import restore as copy_of

MIB = driver_module.MIB
HOUR = 3600
KEEP = ",keepDeleted=24h"
LONG_AGO, LONG_AFTER = "20010101T000000Z", "20990101T000000Z"


@pytest.fixture
def driver(new_driver):
    return new_driver(options=KEEP)


@pytest.fixture
def origin(driver, ceph, directory):
    """A raw block volume with data, and that data."""
    volume = driver.create("origin", size=SIZE, access="block").volume_id
    return volume, image_bytes.write(ceph, image_of(ceph, volume), WRITTEN, directory)


def command(driver, name, entry):
    """Repeated while the reconciler is at work on the entry, as it is after a start."""
    while True:
        try:
            return driver.client.admin_command(name, id=entry.id)
        except grpc.RpcError as error:
            if csi_client.code_of(error) != "ABORTED":
                raise


def restore(driver, entry):
    return command(driver, "RestoreTrash", entry)


def purge(driver, entry):
    command(driver, "PurgeTrash", entry)


def run(endpoint, *words):
    return subprocess.run(
        [driver_fixtures.binary(), "trash", *words, f"--endpoint=unix://{endpoint}"],
        capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.slice
def test_a_restored_volume_is_as_it_was(driver, ceph, origin):
    volume, data = origin
    stored, image = record(ceph, volume), image_of(ceph, volume)
    driver.delete(volume)
    driver.delete(volume)
    assert driver.listed() == [] and ceph.images() == [image]
    with refused("NOT_FOUND"):
        driver.call("ControllerGetVolume", volume_id=volume)
    with refused("NOT_FOUND"):
        copy_of(driver, "clone", volume)
    for between in (driver.restart, driver.crash):
        entry, = driver.trash()
        assert (entry.volume_id, entry.kind, entry.name) == (volume, "volume", "origin")
        assert 0 < entry.remaining_seconds <= entry.keep_seconds == 24 * HOUR
        between()
        assert restore(driver, entry).entry.volume_id == volume
        assert record(ceph, volume) == stored and driver.trash() == []
        assert bytes_of(ceph, volume) == padded(data)
        driver.delete(volume)


@pytest.mark.slice
def test_a_volume_of_the_same_name_is_another_one(driver, ceph, origin):
    volume, data = origin
    driver.delete(volume)
    assert driver.create("origin", size=2 * SIZE, access="block").volume_id == volume
    assert bytes_of(ceph, volume) == padded(b"", 2 * SIZE)
    entry, = driver.trash()
    with refused("ALREADY_EXISTS", "delete it first"):
        restore(driver, entry)
    driver.delete(volume)
    older, newer = sorted(driver.trash(), key=lambda one: one.id)
    restore(driver, older)
    assert bytes_of(ceph, volume) == padded(data)
    purge(driver, newer)
    assert driver.trash() == [] and ceph.images() == [image_of(ceph, volume)]


def test_a_class_says_how_long(driver, ceph):
    at_once, longer = [driver.create(name, size=SIZE, keepDeleted=time).volume_id
                       for name, time in (("a", "0"), ("b", "7d"))]
    for volume in (at_once, longer):
        driver.delete(volume)
    entry, = driver.trash()
    assert (entry.volume_id, entry.keep_seconds) == (longer, 7 * 24 * HOUR)
    purge(driver, entry)
    assert residue(ceph) == []


@pytest.mark.slice
def test_dependents_do_not_need_their_origin(driver, ceph, origin):
    volume, data = origin
    snapshot = driver.snapshot(volume, "snap").snapshot_id
    clone = copy_of(driver, "clone", volume)
    driver.delete(volume)
    copy = copy_of(driver, "copy", snapshot)
    assert bytes_of(ceph, copy) == bytes_of(ceph, clone) == padded(data)
    driver.delete_snapshot(snapshot)
    driver.delete_snapshot(snapshot)
    assert driver.snapshots() == []
    with refused("NOT_FOUND"):
        copy_of(driver, "late", snapshot)
    of_volume, of_snapshot = sorted(driver.trash(), key=lambda entry: entry.kind == "snapshot")
    assert (of_snapshot.volume_id, of_snapshot.source) == (snapshot, volume)
    restore(driver, of_snapshot)
    again = copy_of(driver, "again", snapshot)
    restore(driver, of_volume)
    assert bytes_of(ceph, volume) == bytes_of(ceph, again) == padded(data)
    listed, = driver.call("ListSnapshots", source_volume_id=volume).entries
    assert listed.snapshot.snapshot_id == snapshot


@pytest.mark.parametrize("order", [("origin", "snapshot", "clone"), ("clone", "snapshot", "origin"),
                                   pytest.param(("snapshot", "origin", "clone"),
                                                marks=pytest.mark.slice)], ids="-".join)
def test_they_are_purged_in_any_order(order, driver, ceph, origin):
    """The clone is one of the snapshot. What is left in the trash can be restored, and nothing is
    left in the end."""
    volume, data = origin
    snapshot = driver.snapshot(volume, "snap").snapshot_id
    clone = copy_of(driver, "clone", snapshot)
    handles = {"origin": volume, "snapshot": snapshot, "clone": clone}
    for kind in order:
        handle = handles[kind]
        driver.delete_snapshot(handle) if kind == "snapshot" else driver.delete(handle)
    entries = {entry.volume_id: entry for entry in driver.trash()}
    assert sorted(entries) == sorted(handles.values())
    for number, kind in enumerate(order, 1):
        purge(driver, entries[handles[kind]])
        for left_over in order[number:]:
            handle = handles[left_over]
            restore(driver, entries[handle])
            assert bytes_of(ceph, handle) == padded(data)
            driver.delete_snapshot(handle) if left_over == "snapshot" else driver.delete(handle)
            entries = {entry.volume_id: entry for entry in driver.trash()}
    until(lambda: residue(ceph) == [], "something is left")


def test_a_snapshot_in_the_trash_keeps_the_image_of_a_volume_that_is_gone(driver, ceph, directory):
    volume = driver.create("origin", size=SIZE, access="block", keepDeleted="0").volume_id
    data = image_bytes.write(ceph, image_of(ceph, volume), WRITTEN, directory)
    snapshot = driver.snapshot(volume, "snap").snapshot_id
    driver.delete_snapshot(snapshot)
    driver.delete(volume)
    look(driver)
    assert left(driver) == {} and len(retained(ceph)) == 1 == len(ceph.images())
    entry, = driver.trash()
    restore(driver, entry)
    assert bytes_of(ceph, copy_of(driver, "copy", snapshot)) == padded(data)


def test_what_is_due_is_purged(new_driver, ceph, directory):
    driver = new_driver(options=",keepDeleted=1s")
    volume = driver.create("pv", size=SIZE, access="block").volume_id
    image_bytes.write(ceph, image_of(ceph, volume), WRITTEN, directory)
    driver.delete_snapshot(driver.snapshot(volume, "snap").snapshot_id)
    driver.delete(volume)
    assert len(driver.trash()) == 2
    until(lambda: residue(ceph) == [], "it is not purged", 120)
    assert driver.trash() == [] and left(driver) == {}


def test_the_clock_of_the_deletion_does_not_matter(driver, ceph):
    """Neither a time of long ago nor one of the future makes an entry due."""
    for time in (LONG_AGO, LONG_AFTER):
        volume = driver.create("pv", size=SIZE).volume_id
        driver.delete(volume)
        entry, = driver.trash()
        stored = journal(ceph)[key_of(entry)]
        ceph.rados("rmomapkey", f"holdfast.volumes.{key_of(entry)[0]}", key_of(entry))
        key = f"{driver_module.uuid_of(volume)}.{time}"
        put_in_trash(ceph, {**stored, "trashed": {**stored["trashed"], "key": key}})
        look(driver)
        entry, = driver.trash()
        assert key_of(entry) == key and 24 * HOUR - 600 < entry.remaining_seconds <= 24 * HOUR
        purge(driver, entry)
    assert residue(ceph) == []


def test_a_full_pool(quota, driver, ceph, origin):  # noqa: F811
    volume, data = origin
    snapshot = driver.snapshot(volume, "snap").snapshot_id
    with full(ceph, quota):
        driver.delete_snapshot(snapshot)
        driver.delete(volume)
        of_volume, of_snapshot = sorted(driver.trash(), key=lambda entry: entry.kind == "snapshot")
        restore(driver, of_volume)
        assert bytes_of(ceph, volume) == padded(data)
        purge(driver, of_snapshot)
        assert not snapshots_in(ceph, image_of(ceph, volume))
        driver.delete(volume)
        purge(driver, driver.trash()[0])
        assert ceph.images() == []


def capacity(driver):
    return driver.call("GetCapacity", parameters={"provisioning": "thin"}).available_capacity


@pytest.fixture
def bounded(ceph):
    """Says how many bytes the pool may have."""
    yield lambda size: ceph.ceph("osd", "pool", "set-quota", "rbd", "max_bytes", str(size))
    ceph.ceph("osd", "pool", "set-quota", "rbd", "max_bytes", "0")


@pytest.mark.parametrize("reclaims", [True, False])
def test_the_trash_makes_room_where_it_may(reclaims, new_driver, ceph, bounded, directory):
    """Nothing is purged for what would not fit anyhow."""
    driver = new_driver(options=KEEP + ",trash=reclaim" * reclaims)
    for name in ("a", "b"):
        volume = driver.create(name, size=SIZE, access="block").volume_id
        image_bytes.write(ceph, image_of(ceph, volume), 40 * MIB, directory)
        until(lambda: all(one.deleted_at < moment(0) for one in driver.trash()), "the next second")
        driver.delete(volume)
    older, newer = sorted(driver.trash(), key=lambda entry: entry.name)
    assert older.allocated_bytes == newer.allocated_bytes == 40 * MIB
    bounded(120 * MIB)  # of which each volume would take more than is left
    until(lambda: 0 < capacity(driver) <= 40 * MIB, "the cluster counts what is stored", 60)
    with refused("RESOURCE_EXHAUSTED", "no room"):
        driver.create("huge", size=1024 * MIB)
    assert len(driver.trash()) == 2
    if not reclaims:
        with refused("RESOURCE_EXHAUSTED", "no room"):
            driver.create("c", size=SIZE)
        return
    driver.create("c", size=SIZE)
    assert [entry.id for entry in driver.trash()] == [newer.id]
    driver.create("d", size=SIZE)
    assert [entry.id for entry in driver.trash()] == [newer.id], "the first had made enough room"
    bounded(40 * MIB)
    until(lambda: capacity(driver) == 0, "the cluster counts what is stored", 60)
    driver.create("c", size=SIZE)  # is there
    assert [entry.id for entry in driver.trash()] == [newer.id]


def test_a_node_that_is_gone_can_not_change_what_is_kept(driver, ceph, origin):
    volume, data = origin
    record_nodes(ceph, volume, holder("far", "10.7.7.77:0/123"))
    driver.delete(volume)
    assert "10.7.7.77:0/123" in ceph.ceph("osd", "blocklist", "ls")
    entry, = driver.trash()
    restore(driver, entry)
    assert nodes(ceph, volume) is None and bytes_of(ceph, volume) == padded(data)


def test_a_volume_in_use_does_not_get_into_the_trash(driver, ceph, image_watch):
    volume = driver.create("pv", size=SIZE).volume_id
    end = image_watch(image_of(ceph, volume))
    with refused("FAILED_PRECONDITION", "in use"):
        driver.delete(volume)
    assert driver.trash() == [] and driver.listed() == [volume]
    end()


def test_an_entry_without_its_image_is_not_restored(driver, ceph):
    """Nor is one whose image is another one now, which is left alone."""
    gone, replaced = [driver.create(name, size=SIZE).volume_id for name in ("gone", "replaced")]
    images = [image_of(ceph, volume) for volume in (gone, replaced)]
    for volume in (gone, replaced):
        driver.delete(volume)
    for image in images:
        ceph.rbd("rm", "--no-progress", f"rbd/{image}")
    ceph.rbd("create", "--size", "64M", f"rbd/{images[1]}")
    of_gone, of_replaced = sorted(driver.trash(), key=lambda entry: entry.name)
    for entry, problem in ((of_gone, "is missing"), (of_replaced, "was replaced")):
        with refused("FAILED_PRECONDITION", problem):
            restore(driver, entry)
    assert driver.listed() == [] and len(driver.trash()) == 2
    purge(driver, of_gone)
    with refused("FAILED_PRECONDITION", "was replaced, and is left alone"):
        purge(driver, of_replaced)
    assert ceph.images() == [images[1]]
    ceph.rbd("rm", "--no-progress", f"rbd/{images[1]}")
    look(driver)
    assert residue(ceph) == []


def test_what_is_in_doubt_is_told_and_left(driver, ceph, origin):
    """A damaged record, and one that names the image of a volume that is there."""
    volume, data = origin
    uuid, image = driver_module.uuid_of(volume), image_of(ceph, volume)
    stored = record(ceph, volume)
    driver.delete(volume)
    entry, = driver.trash()
    trashed = journal(ceph)[key_of(entry)]
    put_record(ceph, uuid, stored)
    with refused("FAILED_PRECONDITION", "another record of volume .* has too"):
        purge(driver, entry)
    assert bytes_of(ceph, volume) == padded(data) and driver.listed() == [volume]
    ceph.rados("rmomapkey", f"holdfast.volumes.{uuid[0]}", uuid)
    ceph.rados("setomapval", f"holdfast.volumes.{uuid[0]}", key_of(entry), '{"version": 1}')
    look(driver)
    assert list(left(driver)) == ["trash"] and ceph.images() == [image]
    assert driver.trash() == []
    put_in_trash(ceph, trashed)
    look(driver)
    assert left(driver) == {}
    restore(driver, entry)
    assert bytes_of(ceph, volume) == padded(data)


def test_an_image_in_the_trash_is_no_orphan(driver, ceph, origin):
    volume, _ = origin
    driver.delete_snapshot(driver.snapshot(volume, "snap").snapshot_id)
    driver.delete(volume)
    look(driver)
    assert left(driver) == {} and len(driver.trash()) == 2
    usage, = driver.client.admin("ListPools").pools
    assert usage.trash == 2


@pytest.mark.slice
def test_two_controllers_have_one_trash(driver, new_driver, ceph, origin):
    volume, data = origin
    other = new_driver("other", options=KEEP)
    driver.delete(volume)
    entry, = other.trash()
    restore(other, entry)
    assert driver.listed() == [volume] and driver.trash() == []
    for one in (driver, other):
        with refused("NOT_FOUND", "there is no"):
            restore(one, entry)
    other.delete(volume)
    entry, = driver.trash()
    purge(other, entry)
    with refused("NOT_FOUND"):
        restore(driver, entry)
    with refused("NOT_FOUND"):
        purge(driver, entry)
    assert residue(ceph) == [] and driver.trash() == []


def test_the_command_prints_the_volume(driver, ceph, origin):
    volume, data = origin
    driver.delete(volume)
    listed = run(driver.server.socket, "list", "--output=json")
    entry, = json.loads(listed.stdout)["trash"]
    restored = run(driver.server.socket, "restore", "--claim=shop/orders", entry["id"])
    assert restored.returncode == 0, restored.stderr
    spec = json.loads(restored.stdout)["spec"]
    assert spec["csi"]["volumeHandle"] == volume and "nodeAffinity" not in spec
    assert spec["volumeMode"] == "Block"
    assert bytes_of(ceph, volume) == padded(data)


def test_a_node_purges_nothing(linked, ceph):
    """It may not remove images. The controller has the trash."""
    linked.nodes["n1"].start()
    linked.wait_for("n1")
    volume = create_linked(linked, "pv", pool="ceph", keepDeleted="24h").volume_id
    linked.call("DeleteVolume", volume_id=volume)
    controller, node = linked.controller.server.socket, linked.nodes["n1"].server.socket
    entry, = json.loads(run(controller, "list", "--output=json").stdout)["trash"]
    done = run(node, "purge", entry["id"])
    assert done.returncode == 1 and "only a controller" in done.stderr
    assert run(controller, "restore", "--claim=shop/orders", entry["id"]).returncode == 0
    assert linked.call("ControllerGetVolume", volume_id=volume).volume.volume_id == volume
    linked.call("DeleteVolume", volume_id=volume)
    entry, = json.loads(run(controller, "list", "--output=json").stdout)["trash"]
    assert run(controller, "purge", entry["id"]).returncode == 0
    assert residue(ceph) == []


def test_a_bad_time_is_refused(driver):
    for value in ("soon", "-1h"):
        with csi_client.refused("INVALID_ARGUMENT", "keepDeleted"):
            driver.create("pv", keepDeleted=value)
    assert driver.listed() == []
