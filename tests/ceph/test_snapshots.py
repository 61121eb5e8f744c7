# SPDX-License-Identifier: Apache-2.0
"""Snapshots, restored volumes and clones of images: their data, their ends in any order, and what
is kept for them. (The guest of tests/ceph/guest mounts such volumes.)"""

import hashlib
import itertools

import grpc
import pytest

import csi_client
import driver as driver_module
import image_bytes
from cluster import until
from rbd_driver import (change_record, holder, image_of, note_retained, record, record_nodes,
                        residue, retained, snapshots_in, snapshots_kept, unrecord_nodes)
from test_faults import until_it_works

MIB = driver_module.MIB
SIZE = 64 * MIB
WRITTEN = 9 * MIB


@pytest.fixture
def origin(driver, ceph, directory):
    """A raw block volume with data, and that data."""
    volume = driver.create("origin", size=SIZE, access="block").volume_id
    return volume, image_bytes.write(ceph, image_of(ceph, volume), WRITTEN, directory)


def padded(data, size=SIZE):
    return hashlib.sha256(data + bytes(size - len(data))).hexdigest()


def bytes_of(ceph, handle):
    return image_bytes.checksum(ceph, image_of(ceph, handle))


def restore(driver, name, source, size=SIZE):
    return driver.create(name, size=size, access="block", source=source).volume_id


@pytest.mark.slice
def test_a_snapshot_keeps_what_was_there(driver, ceph, origin, directory):
    volume, data = origin
    snapshot = driver.snapshot(volume, "snap")
    assert (snapshot.size_bytes, snapshot.ready_to_use) == (SIZE, True)
    assert driver.snapshot(volume, "snap") == snapshot
    later = image_bytes.write(ceph, image_of(ceph, volume), MIB, directory)
    assert bytes_of(ceph, snapshot.snapshot_id) == padded(data)
    copy = restore(driver, "copy", snapshot.snapshot_id)
    larger = restore(driver, "larger", snapshot.snapshot_id, 96 * MIB)
    clone = restore(driver, "clone", volume)
    assert bytes_of(ceph, copy) == padded(data)
    assert bytes_of(ceph, larger) == padded(data, 96 * MIB)
    assert bytes_of(ceph, clone) == padded(later + data[MIB:])
    image_bytes.write(ceph, image_of(ceph, copy), 3 * MIB, directory)
    assert bytes_of(ceph, snapshot.snapshot_id) == padded(data)
    assert sorted(driver.listed()) == sorted([volume, copy, larger, clone])
    assert driver.snapshots() == [snapshot.snapshot_id]
    for one in (volume, larger, clone, copy):
        driver.delete(one)
    assert driver.snapshots() == [snapshot.snapshot_id], "it outlives its volume"
    assert list(retained(ceph)) != []
    again = restore(driver, "again", snapshot.snapshot_id)
    assert bytes_of(ceph, again) == padded(data)
    driver.delete(again)
    driver.delete_snapshot(snapshot.snapshot_id)
    until(lambda: residue(ceph) == [], "the data of the retained image is left")


ENDS = ("origin", "snapshot", "copy", "clone")


@pytest.mark.parametrize("order", [pytest.param(order, marks=[pytest.mark.slice] * (n in (0, 23)),
                                                id="-".join(order))
                                   for n, order in enumerate(itertools.permutations(ENDS))])
def test_they_are_deleted_in_any_order(order, driver, ceph, origin):
    """`clone` is a clone of `copy`, which is restored from `snapshot`."""
    volume, data = origin
    snapshot = driver.snapshot(volume, "snap").snapshot_id
    copy = restore(driver, "copy", snapshot)
    clone = restore(driver, "clone", copy)
    handles = {"origin": volume, "snapshot": snapshot, "copy": copy, "clone": clone}
    for end in order:
        handle = handles.pop(end)
        driver.delete_snapshot(handle) if end == "snapshot" else driver.delete(handle)
        snapshots_kept(ceph)
        for left in handles.values():
            assert bytes_of(ceph, left) == padded(data)
    until(lambda: residue(ceph) == [], "something is left")


@pytest.mark.slice
def test_a_deleted_snapshot_goes_with_its_last_clone(driver, ceph, origin):
    """Of a volume that stays: it keeps its name, and is noted, for as long as it has clones."""
    volume, data = origin
    snapshot = driver.snapshot(volume, "snap").snapshot_id
    name, ids = image_of(ceph, snapshot), record(ceph, snapshot)["image_id"]
    copies = [restore(driver, f"copy-{number}", snapshot) for number in range(2)]
    driver.delete_snapshot(snapshot)
    driver.delete_snapshot(snapshot)
    assert snapshots_kept(ceph) == [name] and retained(ceph) == [name]
    assert ceph.rados("getomapval", "holdfast.retained", name, "/dev/stdout").strip() == ids
    again = driver.snapshot(volume, "snap").snapshot_id
    assert again == snapshot and image_of(ceph, again) != name
    driver.delete_snapshot(again)
    driver.delete(copies[0])
    assert snapshots_kept(ceph) == [name]
    assert bytes_of(ceph, copies[1]) == padded(data)
    driver.delete(copies[1])
    assert snapshots_kept(ceph) == [] and retained(ceph) == []
    driver.delete(volume)


@pytest.mark.slice
def test_the_snapshot_of_a_clone_goes_with_it(driver, ceph, origin):
    """The one that a clone of a volume was made from."""
    volume, data = origin
    clone = restore(driver, "clone", volume)
    cut = f"{image_of(ceph, volume)}@{image_of(ceph, clone)}"
    assert snapshots_kept(ceph) == [cut] and retained(ceph) == [cut]
    inner = driver.snapshot(clone, "inner").snapshot_id
    driver.delete(clone)
    assert sorted(snapshots_kept(ceph)) == sorted([cut, image_of(ceph, inner)])
    again = restore(driver, "again", inner)
    assert bytes_of(ceph, again) == padded(data)
    driver.delete(again)
    driver.delete_snapshot(inner)
    assert snapshots_kept(ceph) == [] and retained(ceph) == []
    assert bytes_of(ceph, volume) == padded(data)
    driver.delete(volume)


@pytest.mark.slice
def test_what_a_kill_left_of_deleted_snapshots_is_removed(driver, ceph, origin):
    """Of a volume that stays: a snapshot that was noted and has lost its last clone, a note without
    a snapshot, and a note with a tombstone. Nothing is removed that a record names, or whose ids are
    others."""
    volume, data = origin
    image = image_of(ceph, volume)
    kinds = ("unneeded", "tombstone", "recorded", "replaced")
    snapshots = {kind: driver.snapshot(volume, kind).snapshot_id for kind in kinds}
    names = {kind: image_of(ceph, snapshot) for kind, snapshot in snapshots.items()}
    for kind in kinds:
        note_retained(ceph, names[kind], record(ceph, snapshots[kind])["image_id"])
    note_retained(ceph, names["replaced"], "0123456789ab@3")
    note_retained(ceph, names["unneeded"][:-8] + "00000000",
                  f"{ceph.image_info(image)['id']}@99999")
    for kind in ("unneeded", "replaced"):
        uuid = driver_module.uuid_of(snapshots[kind])
        ceph.rados("rmomapkey", f"holdfast.volumes.{uuid[0]}", uuid)
    change_record(ceph, driver_module.uuid_of(snapshots["tombstone"]), state="deleting")
    driver.restart()
    left = [names["recorded"], names["replaced"]]
    until(lambda: sorted(retained(ceph)) == sorted(left), "not within a minute", 60)
    assert sorted(f"{image}@{name}" for name in snapshots_in(ceph, image)) == sorted(left)
    until(lambda: "it was replaced, and is left alone" in driver.log(), "nothing says so", 60)
    driver.delete(restore(driver, "copy", snapshots["recorded"]))
    assert bytes_of(ceph, snapshots["recorded"]) == padded(data)
    driver.delete_snapshot(snapshots["recorded"])
    ceph.rados("rmomapkey", "holdfast.retained", names["replaced"])
    ceph.rbd("snap", "rm", "--no-progress", f"rbd/{names['replaced']}")
    driver.delete(volume)


@pytest.mark.slice
def test_a_snapshot_that_was_removed_by_hand_goes_with_its_last_clone(driver, ceph, origin):
    """librbd keeps it without its name, and removes it with the clone."""
    volume, data = origin
    image = image_of(ceph, volume)
    snapshot = driver.snapshot(volume, "snap").snapshot_id
    copy = restore(driver, "copy", snapshot)
    ceph.rbd("snap", "rm", "--no-progress", f"rbd/{image_of(ceph, snapshot)}")
    driver.delete_snapshot(snapshot)
    assert bytes_of(ceph, copy) == padded(data)
    driver.delete(volume)
    assert retained(ceph) == [image]
    driver.delete(copy)
    driver.restart()
    until(lambda: residue(ceph) == [], "the reconciler does not remove the image", 60)


@pytest.mark.slice
def test_names_and_codes(driver, origin):
    volume, _ = origin
    snapshot = driver.snapshot(volume, "snap").snapshot_id
    other = driver.create("other", size=SIZE, access="block").volume_id

    def refused(code, call):
        with pytest.raises(grpc.RpcError) as error:
            call()
        assert csi_client.code_of(error.value) == code, error.value.details()
    refused("ALREADY_EXISTS", lambda: driver.snapshot(other, "snap"))
    refused("OUT_OF_RANGE", lambda: driver.create(
        "small", size=MIB, limit=SIZE - 4096, access="block", source=snapshot))
    refused("INVALID_ARGUMENT", lambda: driver.create("mount", size=SIZE, source=snapshot))
    refused("NOT_FOUND", lambda: driver.snapshot(volume[:-12] + "0000" + volume[-8:], "none"))
    driver.delete_snapshot(snapshot)
    driver.delete_snapshot(snapshot)
    refused("NOT_FOUND", lambda: restore(driver, "late", snapshot))
    driver.delete(volume)
    driver.delete(other)


def test_a_frozen_snapshot_of_a_volume_in_use_is_refused(driver, ceph, origin):
    volume, _ = origin

    def cut(name, **parameters):
        return driver.call("CreateSnapshot", source_volume_id=volume, name=name,
                           parameters=parameters).snapshot.snapshot_id
    free = cut("free", consistency="frozen")
    record_nodes(ceph, volume, holder("far", "10.7.7.7:0/1"))
    with pytest.raises(grpc.RpcError, match="cannot be frozen"):
        cut("frozen", consistency="frozen")
    in_use = [cut("usual"), cut("crash", consistency="crash")]
    unrecord_nodes(ceph, volume)
    for snapshot in (free, *in_use):
        driver.delete_snapshot(snapshot)
    driver.delete(volume)


@pytest.mark.slice
def test_a_long_chain_is_cut_short(driver, ceph, origin):
    """The kernel maps no more than sixteen levels, and each costs time."""
    volume, data = origin
    chain = [volume]
    for level in range(9):
        clone = until_it_works(lambda: restore(driver, f"clone-{level}", chain[-1]))
        chain.append(clone)
        assert record(ceph, clone).get("clone_depth", 0) == (level + 1) % 4
        parent = ceph.image_info(image_of(ceph, clone)).get("parent")
        assert (parent is None) == ((level + 1) % 4 == 0)
        assert bytes_of(ceph, clone) == padded(data)
    for one in chain[::2] + chain[1::2]:
        driver.delete(one)
    until(lambda: residue(ceph) == [], "something is left")


def test_a_filesystem_is_inherited_and_never_formatted(driver, ceph, directory):
    """The mark of the origin's filesystem is not one of the copy's own."""
    volume = driver.create("origin", size=SIZE).volume_id
    change_record(ceph, driver_module.uuid_of(volume), state="formatted")
    uuid = record(ceph, volume)["filesystem_uuid"]
    image = image_of(ceph, volume)
    ceph.rbd("image-meta", "set", f"rbd/{image}", "holdfast.formatted", f"ext4 {uuid}")
    snapshot = driver.snapshot(volume, "snap").snapshot_id
    copy = driver.create("copy", size=SIZE, source=snapshot).volume_id
    stored = record(ceph, copy)
    assert stored["state"] == "inherited" and stored["inherited_uuids"] == [uuid]
    assert stored["filesystem_uuid"] != uuid
    assert "holdfast.formatted" not in ceph.rbd("image-meta", "ls",
                                                f"rbd/{image_of(ceph, copy)}")
    for one in (volume, copy):
        driver.delete(one)
    driver.delete_snapshot(snapshot)
    until(lambda: residue(ceph) == [], "something is left")


def test_a_volume_with_a_foreign_snapshot_is_not_deleted(driver, ceph, origin):
    volume, data = origin
    image = image_of(ceph, volume)
    ceph.rbd("snap", "create", "--no-progress", f"rbd/{image}@by-hand")
    with pytest.raises(grpc.RpcError, match="snapshot 'by-hand', which Holdfast did not make"):
        driver.delete(volume)
    assert image_bytes.checksum(ceph, f"{image}@by-hand") == padded(data)
    ceph.rbd("snap", "rm", "--no-progress", f"rbd/{image}@by-hand")
    until_it_works(lambda: driver.delete(volume))


@pytest.mark.slice
def test_what_a_kill_left_of_a_retained_image_is_removed(driver, ceph, origin):
    """The last snapshot and its record are gone, and the driver died before it removed the
    image."""
    volume, _ = origin
    image = image_of(ceph, volume)
    snapshot = driver.snapshot(volume, "snap").snapshot_id
    driver.delete(volume)
    assert ceph.images() == [image]
    uuid = driver_module.uuid_of(snapshot)
    ceph.rbd("snap", "rm", "--no-progress", f"rbd/{image_of(ceph, snapshot)}")
    ceph.rados("rmomapkey", f"holdfast.volumes.{uuid[0]}", uuid)
    driver.restart()
    until(lambda: residue(ceph) == [], "the reconciler does not remove it", 60)


def test_a_snapshot_without_a_record_is_left_alone(driver, ceph, origin):
    """Of a volume that was deleted; the record may have been lost."""
    volume, data = origin
    snapshot = driver.snapshot(volume, "snap").snapshot_id
    name = image_of(ceph, snapshot)
    driver.delete(volume)
    uuid = driver_module.uuid_of(snapshot)
    ceph.rados("rmomapkey", f"holdfast.volumes.{uuid[0]}", uuid)
    driver.restart()
    until(lambda: "which no record names" in driver.log(), "nothing says so", 60)
    assert image_bytes.checksum(ceph, name) == padded(data)
    ceph.rbd("snap", "rm", "--no-progress", f"rbd/{name}")
    until(lambda: residue(ceph) == [], "the reconciler does not remove the image", 60)


def test_a_replaced_snapshot_is_left_alone(driver, ceph, origin):
    volume, data = origin
    snapshot = driver.snapshot(volume, "snap").snapshot_id
    name = image_of(ceph, snapshot)
    ceph.rbd("snap", "rm", "--no-progress", f"rbd/{name}")
    ceph.rbd("snap", "create", "--no-progress", f"rbd/{name}")
    for call in (lambda: driver.delete_snapshot(snapshot),
                 lambda: restore(driver, "copy", snapshot)):
        with pytest.raises(grpc.RpcError, match="it was replaced, and is left alone"):
            call()
    assert image_bytes.checksum(ceph, name) == padded(data)
    ceph.rbd("snap", "rm", "--no-progress", f"rbd/{name}")
    driver.delete_snapshot(snapshot)
    driver.delete(volume)
