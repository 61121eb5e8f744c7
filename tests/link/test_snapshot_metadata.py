# SPDX-License-Identifier: Apache-2.0
"""Changed blocks of snapshots on nodes, asked of the controller."""

import os

import link_pb2
import pytest

import changed_blocks
import csi_client
from changed_blocks import UNIT, allocated, delta
from csi_client import refused
from driver import MIB
from falsehoods import LONG, falsify
from link_messages import result_with
from link_peer import volume_id
from rogue_node import rogue_node

SIZE = 256 * MIB
RANGES = 12_000  # more than one page


@pytest.fixture
def pair(new_cluster, directory, new_disk):
    for node in ("n1", "n2"):
        (directory / node).mkdir()
        new_disk(4 << 30, directory / node / "pool", filesystem="xfs", name=node)
    cluster = new_cluster("n1", "n2")
    yield cluster
    for entry in cluster.call("ListSnapshots").entries:
        cluster.call("DeleteSnapshot", snapshot_id=entry.snapshot.snapshot_id)
    for entry in cluster.call("ListVolumes").entries:
        cluster.call("DeleteVolume", volume_id=entry.volume.volume_id)


def write(image, numbers):
    with open(image, "r+b", buffering=0) as file:
        for number in numbers:
            os.pwrite(file.fileno(), os.urandom(UNIT), 2 * UNIT * number)
        os.fsync(file.fileno())


def test_the_node_of_the_snapshots_answers_page_by_page(pair, directory):
    node = pair.nodes["n1"]
    volume = pair.create("pv", ["n1"], SIZE, access="block").volume_id
    write(node.image(volume), range(RANGES))
    one = pair.snapshot(volume, "one").snapshot_id
    write(node.image(volume), range(0, RANGES, 2))
    two = pair.snapshot(volume, "two").snapshot_id
    wanted = [(2 * UNIT * number, 2 * UNIT * number + UNIT) for number in range(RANGES)]
    assert allocated(pair.call, one) == wanted
    ranges = delta(pair.call, one, two)
    assert ranges == wanted[::2]
    assert delta(pair.call, one, two, start=ranges[-2][1]) == ranges[-1:]
    restored = changed_blocks.apply(node.image(one), node.image(two), ranges, directory)
    assert restored.read_bytes() == node.image(two).read_bytes()


def test_codes_are_those_of_the_node(pair):
    ids = {}
    for name, where in (("a", "n1"), ("b", "n1"), ("c", "n2")):
        volume = pair.create(name, [where], SIZE, access="block").volume_id
        ids[name] = pair.snapshot(volume, f"snap-{name}").snapshot_id
    for base in (ids["b"], ids["c"]):
        with refused("INVALID_ARGUMENT", "base_snapshot_id"):
            delta(pair.call, base, ids["a"])
    with refused("OUT_OF_RANGE", "starting_offset"):
        allocated(pair.call, ids["a"], start=2 * SIZE)
    unknown = ids["a"][:-4] + "0000"
    for snapshot in (unknown, "nonsense"):
        with refused("NOT_FOUND"):
            allocated(pair.call, snapshot)
        with refused("NOT_FOUND"):
            delta(pair.call, snapshot, ids["a"])
    pair.nodes["n1"].server.kill()
    with refused("UNAVAILABLE", "not connected"):
        allocated(pair.call, ids["a"])
    assert allocated(pair.call, ids["c"]) == []
    pair.nodes["n1"].start()
    pair.wait_for("n1")
    assert allocated(pair.call, ids["a"]) == []


def test_no_lie_of_a_node_makes_an_unsound_stream(new_cluster, directory):
    cluster = new_cluster("n2")
    snapshot = "s:" + volume_id("n1", "snap")
    honest = link_pb2.Ranges(capacity_bytes=SIZE, bounds=[0, UNIT, 8 * UNIT, 16 * UNIT], next=SIZE,
                             version="1")
    answered = {}
    with rogue_node(cluster, directory) as rogue:
        for what, page in [("honest", honest), *falsify(honest, (LONG,))]:
            rogue.answers["FindRanges"] = lambda command, page=page: result_with(page)
            answered[what] = csi_client.outcome(lambda: allocated(cluster.call, snapshot))
    assert answered.pop("honest") == "OK"
    assert set(answered.values()) <= {"OK", "UNAVAILABLE", "ABORTED"}, answered
    assert "UNAVAILABLE" in answered.values()
