# SPDX-License-Identifier: Apache-2.0
"""Snapshots of file pools that are restored in Ceph, and the other way round: in one process, and
by a node for its controller."""

import hashlib

import pytest

import cluster as cluster_module
import content
import csi_client
import driver as driver_module
import image_bytes
from cluster import until
from csi_client import refused
from rbd_driver import change_record, image_of, journal, moment, record, residue

MIB = driver_module.MIB
BIG = 384 * MIB


def file_image(pool, volume_id):
    return pool / "volumes" / driver_module.uuid_of(volume_id) / "image"


def until_made(create):
    """The volume that repeated calls make."""
    made = []

    def is_made():
        try:
            made.append(create())
        except csi_client.grpc.RpcError as error:
            assert csi_client.code_of(error) in ("ABORTED", "UNAVAILABLE"), error
        return made
    until(is_made, "the copy is not completed", 60)
    return made[0]


@pytest.fixture
def both(new_driver, directory):
    """One process with a pool in Ceph and the pool `files`."""
    (directory / "files").mkdir()
    return new_driver(pools=[f"files=file:{directory / 'files'}"])


@pytest.mark.slice
@pytest.mark.parametrize("provisioning", ["thin", "thick"])
def test_to_ceph_and_back(provisioning, both, ceph, directory):
    files = directory / "files"
    origin = both.create("origin", access="block", size=64 * MIB, pool="files",
                         provisioning=provisioning).volume_id
    content.write(file_image(files, origin), 9 * MIB, offset=3 * MIB)
    before = content.checksum(file_image(files, origin))
    snapshot = both.snapshot(origin, "snap").snapshot_id
    moved = until_made(lambda: both.create("moved", access="block", size=96 * MIB, pool="ceph",
                                           source=snapshot))
    assert moved.content_source.snapshot.snapshot_id == snapshot
    moved = moved.volume_id
    both.delete(origin)
    both.delete_snapshot(snapshot)
    data = image_bytes.read(ceph, image_of(ceph, moved))
    assert len(data) == 96 * MIB and not data[64 * MIB:].strip(b"\0")
    assert hashlib.sha256(data[:64 * MIB]).hexdigest() == before
    stored = record(ceph, moved)
    assert (stored["state"], stored.get("copy")) == ("ready", None)

    # Of a clone, so that a parent has most of the data.
    clone = both.create("clone", access="block", size=96 * MIB, pool="ceph", source=moved).volume_id
    image_bytes.write(ceph, image_of(ceph, clone), MIB, directory)
    expected = image_bytes.checksum(ceph, image_of(ceph, clone))
    snapshot = both.snapshot(clone, "snap-2").snapshot_id
    back = until_made(lambda: both.create("back", access="block", size=96 * MIB, pool="files",
                                          provisioning=provisioning, source=snapshot)).volume_id
    assert content.checksum(file_image(files, back)) == expected
    for volume in (back, clone, moved):
        both.delete(volume)
    both.delete_snapshot(snapshot)


@pytest.mark.slice
def test_a_filesystem_is_inherited(both, ceph):
    for pool, other in (("files", "ceph"), ("ceph", "files")):
        origin = both.create(f"origin-{pool}", pool=pool).volume_id
        snapshot = both.snapshot(origin, f"snap-{pool}").snapshot_id
        copy = until_made(lambda: both.create(f"copy-{pool}", pool=other, source=snapshot))
        assert copy.volume_id.startswith(other)
        for volume in (origin, copy.volume_id):
            both.delete(volume)
        both.delete_snapshot(snapshot)


def held_in(ceph):
    """The records of the snapshots that are held for clones, in Ceph."""
    return [stored for stored in journal(ceph).values() if "held_at" in stored]


@pytest.mark.slice
def test_a_volume_is_cloned_into_ceph_and_back(both, ceph, directory):
    files = directory / "files"
    origin = both.create("origin", access="block", size=64 * MIB, pool="files").volume_id
    content.write(file_image(files, origin), 9 * MIB, offset=3 * MIB)
    before = content.checksum(file_image(files, origin))
    fields = {"access": "block", "size": 96 * MIB, "pool": "ceph", "source": origin}
    moved = until_made(lambda: both.create("moved", **fields))
    assert moved.content_source.volume.volume_id == origin
    assert both.create("moved", **fields) == moved
    both.delete(origin)
    assert both.create("moved", **fields) == moved
    moved = moved.volume_id
    data = image_bytes.read(ceph, image_of(ceph, moved))
    assert hashlib.sha256(data[:64 * MIB]).hexdigest() == before and len(data) == 96 * MIB
    fields = {"access": "block", "size": 96 * MIB, "pool": "files", "source": moved}
    back = until_made(lambda: both.create("back", **fields))
    assert back.content_source.volume.volume_id == moved
    assert not held_in(ceph)
    both.delete(moved)
    assert both.create("back", **fields) == back
    assert content.checksum(file_image(files, back.volume_id), 64 * MIB) == before
    both.delete(back.volume_id)
    assert not list((files / "volumes").iterdir())


def test_what_cannot_be(both, ceph):
    volume = both.create("origin", access="block", size=64 * MIB, pool="ceph").volume_id
    with refused("OUT_OF_RANGE"):
        both.create("small", access="block", size=MIB, limit=32 * MIB, pool="files", source=volume)
    assert not held_in(ceph)
    snapshot = both.snapshot(volume, "snap").snapshot_id
    with refused("OUT_OF_RANGE"):
        both.create("small", access="block", size=MIB, limit=32 * MIB, pool="files",
                    source=snapshot)
    both.delete_snapshot(snapshot)
    with refused("NOT_FOUND"):
        both.create("late", access="block", size=64 * MIB, pool="files", source=snapshot)
    both.delete(volume)


def test_blocks_of_4096_byte_sectors_stay_with_files(both, new_driver, directory):
    (directory / "large").mkdir()
    driver = new_driver("second", pools=[f"large=file:{directory / 'large'},sectorSize=4096"])
    volume = driver.create("origin", access="block", size=64 * MIB, pool="large").volume_id
    snapshot = driver.snapshot(volume, "snap").snapshot_id
    with refused("INVALID_ARGUMENT", "sectors of 4096 bytes"):
        driver.create("copy", access="block", size=64 * MIB, pool="ceph", source=snapshot)


# By a node, for its controller.

def create(cluster, name, size=64 * MIB, source=None, **parameters):
    return cluster.call("CreateVolume", name=name, capacity_range=csi_client.at_least(size),
                        volume_capabilities=[csi_client.capability("block", "")],
                        parameters={"provisioning": "thin", **parameters},
                        volume_content_source=csi_client.content_source(source)).volume


@pytest.fixture
def slow(linked):
    linked.nodes["n1"].server.command.append("--copy-rate=64Mi")
    linked.nodes["n1"].start()
    linked.wait_for("n1")
    return linked


def origin_of(cluster, size):
    """The id of the snapshot of a volume on the node, and its checksum; the volume is gone."""
    made = create(cluster, "origin", size)
    image = cluster.nodes["n1"].image(made.volume_id)
    before = content.write(image, size)
    snapshot = cluster.snapshot(made.volume_id, "snap").snapshot_id

    def is_ready():
        return cluster.snapshot(made.volume_id, "snap").ready_to_use
    until(is_ready, "the snapshot is not complete", 60)
    cluster.call("DeleteVolume", volume_id=made.volume_id)
    return snapshot, before


@pytest.mark.parametrize("victim", [pytest.param("", marks=pytest.mark.slice), "node",
                                    "controller"])
def test_a_node_copies_to_ceph(victim, slow, ceph):
    snapshot, before = origin_of(slow, BIG)
    with refused("ABORTED", "of 384 MiB"):
        create(slow, "copy", BIG, snapshot, pool="ceph")
    if victim == "node":
        slow.nodes["n1"].crash()
    elif victim == "controller":
        slow.controller.server.kill()
        slow.controller.start()
    slow.wait_for("n1")
    copy = until_made(lambda: create(slow, "copy", BIG, snapshot, pool="ceph")).volume_id
    assert image_bytes.checksum(ceph, image_of(ceph, copy)) == before
    slow.call("DeleteSnapshot", snapshot_id=snapshot)
    assert create(slow, "copy", BIG, snapshot, pool="ceph").volume_id == copy, "it needs no source"
    slow.call("DeleteVolume", volume_id=copy)


@pytest.mark.parametrize("victim", ["", pytest.param("node", marks=pytest.mark.slice),
                                    "controller"])
def test_a_node_copies_from_ceph(victim, slow, ceph, directory):
    made = create(slow, "origin", BIG, pool="ceph")
    data = image_bytes.write(ceph, image_of(ceph, made.volume_id), BIG, directory)
    snapshot = slow.snapshot(made.volume_id, "snap").snapshot_id
    slow.call("DeleteVolume", volume_id=made.volume_id)
    with refused("ABORTED", "of 384 MiB"):
        create(slow, "copy", BIG, snapshot)
    if victim == "node":
        slow.nodes["n1"].crash()
    elif victim == "controller":
        slow.controller.server.kill()
        slow.controller.start()
    slow.wait_for("n1")
    copy = until_made(lambda: create(slow, "copy", BIG, snapshot)).volume_id
    assert cluster_module.node_of(slow.call("ControllerGetVolume", volume_id=copy).volume) == "n1"
    assert content.checksum(slow.nodes["n1"].image(copy)) == hashlib.sha256(data).hexdigest()
    slow.call("DeleteVolume", volume_id=copy)
    slow.call("DeleteSnapshot", snapshot_id=snapshot)


@pytest.mark.parametrize("victim", [pytest.param("", marks=pytest.mark.slice), "node",
                                    "controller"])
def test_a_node_clones_to_ceph(victim, slow, ceph):
    origin = create(slow, "origin", BIG).volume_id
    before = content.write(slow.nodes["n1"].image(origin), BIG)

    def is_begun():
        with refused("ABORTED") as refusal:
            create(slow, "copy", BIG, origin, pool="ceph")
        return "to volume" in refusal.value.details()
    until(is_begun, "the copy does not begin", 60)
    slow.call("DeleteVolume", volume_id=origin)
    if victim == "node":
        slow.nodes["n1"].crash()
    elif victim == "controller":
        slow.controller.server.kill()
        slow.controller.start()
    slow.wait_for("n1")
    copy = until_made(lambda: create(slow, "copy", BIG, origin, pool="ceph"))
    assert copy.content_source.volume.volume_id == origin
    assert image_bytes.checksum(ceph, image_of(ceph, copy.volume_id)) == before
    assert create(slow, "copy", BIG, origin, pool="ceph") == copy, "it needs no source"
    assert not list((slow.nodes["n1"].pool / "volumes").iterdir())
    slow.call("DeleteVolume", volume_id=copy.volume_id)


@pytest.mark.slice
def test_a_clone_that_is_given_up_leaves_nothing(slow, ceph, directory):
    origin = create(slow, "origin", BIG, pool="ceph").volume_id
    image_bytes.write(ceph, image_of(ceph, origin), BIG, directory)
    with refused("ABORTED", "of 384 MiB"):
        create(slow, "copy", BIG, origin)
    node = slow.nodes["n1"]
    unfinished, = (path.name for path in (node.pool / "volumes").iterdir())
    slow.call("DeleteVolume", volume_id=f"default:n1:{unfinished}")
    held, = held_in(ceph)
    slow.controller.server.kill()
    change_record(ceph, held["uuid"], held_at=moment(-4000))
    slow.controller.start()
    until(lambda: not held_in(ceph), "the snapshot is left", 60)
    slow.wait_for("n1")
    slow.call("DeleteVolume", volume_id=origin)
    until(lambda: residue(ceph) == [], "something is left in Ceph")


@pytest.mark.parametrize("victim", ["", pytest.param("node", marks=pytest.mark.slice),
                                    "controller"])
def test_a_node_clones_from_ceph(victim, slow, ceph, directory):
    origin = create(slow, "origin", BIG, pool="ceph").volume_id
    data = image_bytes.write(ceph, image_of(ceph, origin), BIG, directory)
    with refused("ABORTED", "of 384 MiB"):
        create(slow, "copy", BIG, origin)
    assert len(held_in(ceph)) == 1 and not slow.call("ListSnapshots").entries
    slow.call("DeleteVolume", volume_id=origin)
    if victim == "node":
        slow.nodes["n1"].crash()
    elif victim == "controller":
        slow.controller.server.kill()
        slow.controller.start()
    slow.wait_for("n1")
    copy = until_made(lambda: create(slow, "copy", BIG, origin))
    assert copy.content_source.volume.volume_id == origin
    assert content.checksum(slow.nodes["n1"].image(copy.volume_id)) == (
        hashlib.sha256(data).hexdigest())
    assert not held_in(ceph)
    slow.call("DeleteVolume", volume_id=copy.volume_id)
    until(lambda: residue(ceph) == [], "something is left in Ceph")


def test_a_snapshot_that_is_deleted_while_it_is_read(slow, ceph, directory):
    """What is read after that is never handed on, and the copy goes."""
    made = create(slow, "origin", BIG, pool="ceph")
    image_bytes.write(ceph, image_of(ceph, made.volume_id), BIG, directory)
    snapshot = slow.snapshot(made.volume_id, "snap").snapshot_id
    with refused("ABORTED"):
        create(slow, "copy", BIG, snapshot)
    slow.call("DeleteSnapshot", snapshot_id=snapshot)

    def is_refused():
        with pytest.raises(csi_client.grpc.RpcError) as error:
            create(slow, "copy", BIG, snapshot)
        return csi_client.code_of(error.value) == "NOT_FOUND"
    until(is_refused, "the copy goes on without its source", 60)
    slow.call("DeleteVolume", volume_id=made.volume_id)
    until(lambda: not list((slow.nodes["n1"].pool / "volumes").iterdir()), "the copy is left", 60)
    until(lambda: residue(ceph) == [], "something is left in Ceph")


def test_a_node_without_the_pool_says_so(linked, ceph, directory):
    node = linked.nodes["n1"]
    node.server.command = [word for word in node.server.command if "=rbd:" not in str(word)]
    node.start()
    linked.wait_for("n1")
    snapshot, _ = origin_of(linked, 64 * MIB)
    with refused("ABORTED", "'ceph', which is not configured here"):
        create(linked, "copy", 64 * MIB, snapshot, pool="ceph")
    linked.call("DeleteVolume", volume_id=unfinished(ceph))
    linked.call("DeleteSnapshot", snapshot_id=snapshot)


def unfinished(ceph):
    """The id of the only volume in Ceph."""
    image, = ceph.images()
    return f"ceph::{image[len('holdfast-'):][:36]}"
