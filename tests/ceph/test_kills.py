# SPDX-License-Identifier: Apache-2.0
"""kill -9 at and within every call into Ceph's libraries: the CO's repeated call finishes the
work."""

import mmap
import os
import platform
import random
import struct

import pytest

import csi_client
import driver as driver_module
from cluster import until
from rbd_driver import (has_all_parts, holder, image_of, journal, nodes, record, record_nodes,
                        residue, retained, snapshots_in, snapshots_kept)
from test_attach import ATTACH, publish, published, unpublish
from test_faults import until_it_works

MIB = driver_module.MIB
ORDERS_BYTES = 128
MOST_CALLS = 60  # that one operation makes
MANY_CALLS = 1_000_000  # that none makes
SEED = int(os.environ.get("HOLDFAST_SEED", random.randrange(1 << 32)))
DYING_SECONDS = 30

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64",
                                reason="the routines that kill are x86-64 code")


class KillPoint:
    """Orders to the library that is preloaded into the driver (kill_point.c)."""

    def __init__(self, directory):
        self.path = directory / "orders"
        self.path.write_bytes(bytes(ORDERS_BYTES))
        with open(self.path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), ORDERS_BYTES)

    def arm(self, call, microseconds=0):
        self.memory[0:ORDERS_BYTES] = struct.pack("<ii", call, microseconds).ljust(
            ORDERS_BYTES, b"\0")

    def disarm(self):
        self.arm(0)

    @property
    def left(self):
        """How many steps are left until the kill."""
        return struct.unpack("<i", self.memory[0:4])[0]

    @property
    def victim(self):
        return self.memory[8:72].rstrip(b"\0").decode()


@pytest.fixture
def kill_point(directory, monkeypatch):
    point = KillPoint(directory)
    monkeypatch.setenv("HOLDFAST_KILL_ORDERS", str(point.path))
    monkeypatch.setenv("LD_PRELOAD", os.environ["HOLDFAST_KILL_POINT"])
    return point


def run_killed(driver, kill_point, call, number, microseconds=0):
    """Runs the call with a kill at the given step; returns whether the driver died of it."""
    kill_point.arm(number, microseconds)
    try:
        call()
        died = bool(kill_point.victim) and driver.server.process.poll() is not None
    except csi_client.grpc.RpcError as error:
        assert kill_point.victim, error.details()
        died = True
    if kill_point.victim:  # ordered, so it will come
        driver.server.process.wait(DYING_SECONDS)
        died = True
    kill_point.disarm()
    if died:
        driver.start()
    return died


def each_kill(driver, kill_point, prepare, call, check):
    """Kills at the first, second, ... step of a call, until it has no more steps."""
    victims = []
    for number in range(1, MOST_CALLS):
        context = prepare(number)
        if not run_killed(driver, kill_point, lambda: call(context), number):
            check(context, None)
            break
        victims.append(kill_point.victim)
        check(context, number)
    else:
        raise AssertionError("the call never ends")
    return number - 1


@pytest.mark.slice
def test_create(driver, kill_point, ceph):
    driver.restart()  # with the library
    name = "pvc-{}".format

    def check(number, killed):
        assert len(driver.listed()) <= 1
        volume = until_it_works(lambda: driver.create(name(number), size=64 * MIB))
        assert driver.listed() == [volume.volume_id] and ceph.images() == [
            image_of(ceph, volume.volume_id)]
        assert record(ceph, volume.volume_id)["state"] == "ready"
        assert has_all_parts(ceph, volume.volume_id)
        until_it_works(lambda: driver.delete(volume.volume_id))
        assert residue(ceph) == []
    steps = each_kill(driver, kill_point, lambda number: number,
                      lambda number: driver.create(name(number), size=64 * MIB), check)
    assert steps >= 4, "there are that many at least"


def test_create_is_undone_for_another_request(driver, kill_point, ceph):
    """The CO never got an answer, and now requests something else with the same name."""
    driver.restart()
    for number in range(3, 7):
        run_killed(driver, kill_point, lambda: driver.create("pvc", size=64 * MIB), number)
        if journal(ceph) and next(iter(journal(ceph).values()))["state"] == "ready":
            driver.delete(driver.listed()[0])
            continue
        volume = until_it_works(lambda: driver.create("pvc", size=96 * MIB))
        assert volume.capacity_bytes == 96 * MIB and len(ceph.images()) == 1
        until_it_works(lambda: driver.delete(volume.volume_id))
        assert residue(ceph) == []


def test_delete(driver, kill_point, ceph):
    driver.restart()

    def check(volume, killed):
        until_it_works(lambda: driver.delete(volume.volume_id))
        assert driver.listed() == [] and residue(ceph) == []
    steps = each_kill(driver, kill_point,
                      lambda number: driver.create(f"pvc-{number}", size=64 * MIB),
                      lambda volume: driver.delete(volume.volume_id), check)
    assert steps >= 4


def test_expand(driver, kill_point, ceph):
    driver.restart()

    def grow(volume):
        return driver.call("ControllerExpandVolume", volume_id=volume.volume_id,
                           capacity_range=csi_client.at_least(96 * MIB))

    def check(volume, killed):
        assert until_it_works(lambda: grow(volume)).capacity_bytes == 96 * MIB
        stored = record(ceph, volume.volume_id)
        assert (stored["capacity_bytes"], stored["grow_to_bytes"]) == (96 * MIB, 0)
        until(lambda: not ceph.watchers(image_of(ceph, volume.volume_id)), "a dead client's watch", 60)
        driver.delete(volume.volume_id)
    steps = each_kill(driver, kill_point,
                      lambda number: driver.create(f"pvc-{number}", size=64 * MIB), grow, check)
    assert steps >= 5


def with_snapshot(driver, number):
    volume = driver.create(f"pvc-{number}", size=64 * MIB, access="block").volume_id
    return volume, until_it_works(lambda: driver.snapshot(volume, f"snap-{number}")).snapshot_id


def delete_all(driver, ceph):
    for snapshot in driver.snapshots():
        until_it_works(lambda: driver.delete_snapshot(snapshot))
    for volume in driver.listed():
        until_it_works(lambda: driver.delete(volume))
    until(lambda: residue(ceph) == [], f"something is left: {residue(ceph)}", 60)


def test_snapshot(driver, kill_point, ceph):
    driver.restart()

    def check(volume, killed):
        assert len(driver.snapshots()) <= 1
        snapshot = until_it_works(lambda: driver.snapshot(volume, "snap"))
        assert snapshot.ready_to_use and driver.snapshots() == [snapshot.snapshot_id]
        delete_all(driver, ceph)
    steps = each_kill(
        driver, kill_point,
        lambda number: driver.create(f"pvc-{number}", size=64 * MIB).volume_id,
        lambda volume: driver.snapshot(volume, "snap"), check)
    assert steps >= 5


def some_kills(driver, kill_point, prepare, call, check, kills=12):
    """As each_kill, at steps by chance, for calls that have many."""
    context = prepare(0)
    kill_point.arm(MANY_CALLS)
    call(context)
    steps = MANY_CALLS - kill_point.left
    kill_point.disarm()
    check(context, None)
    rng = random.Random(SEED)
    print(f"seed {SEED}, {steps} steps")
    for number in sorted(rng.sample(range(1, steps + 1), min(kills, steps))):
        context = prepare(number)
        run_killed(driver, kill_point, lambda: call(context), number)
        check(context, number)


def group_of(driver, volumes):
    return driver.call("CreateVolumeGroupSnapshot", name="group",
                       source_volume_ids=volumes).group_snapshot


def two_volumes(driver, number):
    return [driver.create(f"pvc-{number}-{one}", size=64 * MIB).volume_id for one in range(2)]


def test_group_snapshot(driver, kill_point, ceph):
    """All members or none, as soon as the CO has repeated its call; and until then none is complete
    unless the first one is, which decides."""
    driver.restart()

    def check(volumes, killed):
        states = {key: stored["state"] for key, stored in journal(ceph).items()
                  if stored.get("role") == "snapshot"}
        if "ready" in states.values():
            assert len(states) == 2 and set(states.values()) <= {"ready", "cut"}, states
            assert states[min(states)] == "ready", states
        group = until_it_works(lambda: group_of(driver, volumes))
        assert group.ready_to_use and len(group.snapshots) == 2
        assert sorted(driver.snapshots()) == sorted(one.snapshot_id for one in group.snapshots)
        delete_all(driver, ceph)
    some_kills(driver, kill_point, lambda number: two_volumes(driver, number),
               lambda volumes: group_of(driver, volumes), check)


def test_deletion_of_a_group_snapshot(driver, kill_point, ceph):
    driver.restart()

    def delete(group):
        driver.call("DeleteVolumeGroupSnapshot", group_snapshot_id=group.group_snapshot_id,
                    snapshot_ids=[one.snapshot_id for one in group.snapshots])

    def check(group, killed):
        until_it_works(lambda: delete(group))
        assert driver.snapshots() == []
        delete_all(driver, ceph)
    some_kills(driver, kill_point,
               lambda number: until_it_works(
                   lambda volumes=two_volumes(driver, number): group_of(driver, volumes)),
               delete, check, kills=6)


@pytest.mark.parametrize("kind", ["snapshot", pytest.param("volume", marks=pytest.mark.slice)])
def test_restore(kind, driver, kill_point, ceph):
    driver.restart()

    def create(context, name="copy"):
        return driver.create(name, size=96 * MIB, access="block",
                             source=context[kind == "snapshot"]).volume_id

    def check(context, killed):
        assert len(driver.listed()) <= 2
        copy = until_it_works(lambda: create(context))
        assert sorted(driver.listed()) == sorted([context[0], copy])
        assert has_all_parts(ceph, copy) and ceph.image_bytes(image_of(ceph, copy)) == 96 * MIB
        snapshots_kept(ceph)
        delete_all(driver, ceph)
    steps = each_kill(driver, kill_point, lambda number: with_snapshot(driver, number), create,
                      check)
    assert steps >= 6


@pytest.mark.parametrize("first", ["snapshot", "volume"])
def test_the_last_end_of_a_retained_image(first, driver, kill_point, ceph):
    """A snapshot with a clone, whose volume is deleted: the image goes with the last of them."""
    driver.restart()

    def prepare(number):
        volume, snapshot = with_snapshot(driver, number)
        copy = until_it_works(lambda: driver.create("copy", size=64 * MIB, access="block",
                                                    source=snapshot)).volume_id
        until_it_works(lambda: driver.delete(volume))
        ends = [lambda: driver.delete_snapshot(snapshot), lambda: driver.delete(copy)]
        if first == "volume":
            ends.reverse()
        until_it_works(ends[0])
        return ends[1]

    def check(end, killed):
        until_it_works(end)
        delete_all(driver, ceph)
    steps = each_kill(driver, kill_point, prepare, lambda end: end(), check)
    assert steps >= 6


@pytest.mark.parametrize("end", ["snapshot", pytest.param("copy", marks=pytest.mark.slice),
                                 "clone"])
def test_ends_on_an_image_that_stays(end, driver, kill_point, ceph):
    """Deletion of a snapshot that has a clone, of the last clone of a deleted snapshot, and of a
    clone of the volume: nothing is left of it on the image of a volume that stays."""
    driver.restart()

    def prepare(number):
        volume, snapshot = with_snapshot(driver, number)
        copy = until_it_works(lambda: driver.create(
            "copy", size=64 * MIB, access="block",
            source=volume if end == "clone" else snapshot)).volume_id
        if end == "copy":
            until_it_works(lambda: driver.delete_snapshot(snapshot))
        return volume, snapshot, copy

    def delete(context):
        _, snapshot, copy = context
        driver.delete_snapshot(snapshot) if end == "snapshot" else driver.delete(copy)

    def check(context, killed):
        volume, snapshot, copy = context
        image = image_of(ceph, volume)
        until_it_works(lambda: delete(context))
        until(lambda: len(snapshots_in(ceph, image)) == (0 if end == "copy" else 1),
              "something is left", 60)
        snapshots_kept(ceph)
        until_it_works(lambda: driver.delete(copy))
        until_it_works(lambda: driver.delete_snapshot(snapshot))
        until(lambda: not snapshots_in(ceph, image) and not retained(ceph), "something is left", 60)
        delete_all(driver, ceph)
    assert each_kill(driver, kill_point, prepare, delete, check) >= 8


def test_flattening(driver, kill_point, ceph):
    driver.restart()

    def prepare(number):
        volume = driver.create(f"pvc-{number}", size=64 * MIB, access="block").volume_id
        for level in range(3):
            volume = until_it_works(lambda: driver.create(
                f"clone-{level}", size=64 * MIB, access="block", source=volume)).volume_id
        return volume

    def create(volume):
        while True:
            try:
                return driver.create("flat", size=64 * MIB, access="block", source=volume)
            except csi_client.grpc.RpcError as error:
                if csi_client.code_of(error) != "ABORTED":  # that says how far it is
                    raise

    def check(volume, killed):
        flat = until_it_works(lambda: create(volume)).volume_id
        assert "parent" not in ceph.image_info(image_of(ceph, flat))
        until(lambda: not snapshots_in(ceph, image_of(ceph, volume)), "something is left", 60)
        delete_all(driver, ceph)
    assert each_kill(driver, kill_point, prepare, create, check) >= 8


@pytest.fixture
def attaching(kill_point, new_driver):
    return new_driver(flags=ATTACH)


def test_publish(attaching, kill_point, ceph):
    def check(volume_id, killed):
        until_it_works(lambda: publish(attaching, volume_id, "test-node"))
        assert published(ceph, volume_id) == [("test-node", "SINGLE_NODE_WRITER")]
        unpublish(attaching, volume_id)
        attaching.delete(volume_id)
    steps = each_kill(attaching, kill_point,
                      lambda number: attaching.create(f"pvc-{number}", size=64 * MIB).volume_id,
                      lambda volume_id: publish(attaching, volume_id, "test-node"), check)
    assert steps >= 3


@pytest.mark.slice
def test_unpublish_from_a_node_that_is_gone(attaching, kill_point, ceph):
    """Once the call has been answered, the node is fenced, and it is never forgotten before
    that."""
    addresses = {}

    def prepare(number):
        volume_id = attaching.create(f"pvc-{number}", size=64 * MIB).volume_id
        addresses[volume_id] = f"10.7.7.{number}:0/123"
        record_nodes(ceph, volume_id, holder("far", addresses[volume_id]),
                     published=[{"node": "far", "access_mode": "SINGLE_NODE_WRITER"}])
        return volume_id

    def check(volume_id, killed):
        stored = nodes(ceph, volume_id)
        fenced = addresses[volume_id] in ceph.ceph("osd", "blocklist", "ls")
        assert fenced or stored["holders"], "it could write, and nobody would know of it"
        until_it_works(lambda: unpublish(attaching, volume_id, "far"))
        assert addresses[volume_id] in ceph.ceph("osd", "blocklist", "ls")
        assert nodes(ceph, volume_id) is None
        publish(attaching, volume_id, "test-node")
        unpublish(attaching, volume_id)
        attaching.delete(volume_id)
    steps = each_kill(attaching, kill_point, prepare,
                      lambda volume_id: unpublish(attaching, volume_id, "far"), check)
    assert steps >= 4


def test_in_the_middle_of_calls(driver, kill_point, ceph):
    """At random moments while the library works."""
    driver.restart()
    rng = random.Random(SEED)
    print(f"seed {SEED}")
    for round_number in range(12):
        name = f"pvc-{round_number}"
        run_killed(driver, kill_point, lambda: driver.create(name, size=64 * MIB),
                   rng.randrange(2, 6), rng.randrange(1, 8000))
        volume = until_it_works(lambda: driver.create(name, size=64 * MIB))
        assert ceph.images() == [image_of(ceph, volume.volume_id)]
        assert has_all_parts(ceph, volume.volume_id), f"seed {SEED}"
        run_killed(driver, kill_point, lambda: driver.delete(volume.volume_id),
                   rng.randrange(2, 5), rng.randrange(1, 8000))
        until_it_works(lambda: driver.delete(volume.volume_id))
        assert residue(ceph) == [], f"seed {SEED}"
