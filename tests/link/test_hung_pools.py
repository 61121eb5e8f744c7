# SPDX-License-Identifier: Apache-2.0
"""A pool of a linked node hangs: the node's other pool and other nodes are still served."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

import csi_client
import csi_pb2
from cluster import node_of, segment, until
from driver import MIB

SECONDS = 3  # the deadline of the hung pool's callers
GIVEN_UP = {"DEADLINE_EXCEEDED", "UNAVAILABLE"}


@pytest.fixture
def disk(new_disk, directory):
    return new_disk(256 * MIB, mount_point=directory / "hung", name="hung")


@pytest.fixture
def cluster(new_cluster, disk):
    """n1 has the pool that hangs besides its default, n2 only the latter."""
    cluster = new_cluster("n1", "n2")
    node = cluster.nodes["n1"]
    assert node.server.stop() is None
    node.server.command.append(f"--pool=hung=file:{disk.mount_point}")
    node.start()
    cluster.wait_for("n1")
    until(lambda: room(cluster, "hung", "n1") > 0, "the controller is not told of the pool")
    return cluster


@pytest.fixture
def hang(disk):
    """Every write to the pool's filesystem waits, in a sleep that no signal ends."""
    def freeze():
        subprocess.run(["fsfreeze", "--freeze", disk.mount_point], check=True)
        frozen.append(disk.mount_point)

    def thaw():
        while frozen:
            subprocess.run(["fsfreeze", "--unfreeze", frozen.pop()], check=True)

    frozen = []
    freeze.end = thaw
    yield freeze
    thaw()


def room(cluster, pool, node):
    return cluster.call("GetCapacity", parameters={"provisioning": "thin", "pool": pool},
                        accessible_topology=segment(node)).available_capacity


def create(cluster, name, pool, node, **fields):
    return cluster.call("CreateVolume", name=name, capacity_range=csi_client.at_least(4 * MIB),
                        volume_capabilities=[csi_client.capability("block")],
                        accessibility_requirements=csi_pb2.TopologyRequirement(
                            requisite=[segment(node)]),
                        parameters={"provisioning": "thin", "pool": pool}, **fields).volume


def expand(cluster, volume, **fields):
    return cluster.call("ControllerExpandVolume", volume_id=volume.volume_id,
                        capacity_range=csi_client.at_least(8 * MIB), **fields).capacity_bytes


def delete(cluster, volume, **fields):
    cluster.call("DeleteVolume", volume_id=volume.volume_id, **fields)


def lead_a_life(cluster, pool, node):
    volume = create(cluster, "passing", pool, node)
    assert node_of(volume) == node
    assert expand(cluster, volume) == 8 * MIB
    got = cluster.call("ControllerGetVolume", volume_id=volume.volume_id)
    assert not got.status.volume_condition.abnormal
    delete(cluster, volume)


def listed(cluster):
    return {entry.volume.volume_id for entry in cluster.call("ListVolumes").entries}


def ended(cluster):
    """The methods of the calls that the controller itself gave up, whether or not a caller still
    waits."""
    calls = [json.loads(line) for line in cluster.controller.log().splitlines() if '"call"' in line]
    return {call["method"] for call in calls if call["code"] in GIVEN_UP}


def test_a_pool_that_hangs_holds_up_nothing_else(cluster, hang):
    volumes = {name: create(cluster, name, "hung", "n1") for name in ("kept", "doomed")}
    calls = {
        "CreateVolume": partial(create, cluster, "new", "hung", "n1"),
        "ControllerExpandVolume": partial(expand, cluster, volumes["kept"]),
        "DeleteVolume": partial(delete, cluster, volumes["doomed"]),
    }
    assert listed(cluster) == {volume.volume_id for volume in volumes.values()}
    assert not ended(cluster) & set(calls)
    hang()
    beside = []

    def others_go_on_until_all_have_ended():
        lead_a_life(cluster, "default", "n1")
        lead_a_life(cluster, "default", "n2")
        assert room(cluster, "default", "n1") > 0 and room(cluster, "default", "n2") > 0
        assert listed(cluster) >= {volume.volume_id for volume in volumes.values()}
        beside.append(not any(call.done() for call in waiting))
        return all(call.done() for call in waiting)

    with ThreadPoolExecutor(len(calls)) as threads:
        waiting = [threads.submit(csi_client.outcome, partial(call, timeout=SECONDS))
                   for call in calls.values()]
        until(others_go_on_until_all_have_ended, "they do not end", csi_client.CALL_SECONDS)
    assert any(beside), "the other pools' calls waited for this one's"
    assert {call.result() for call in waiting} <= GIVEN_UP
    until(lambda: ended(cluster) >= set(calls), "the controller waits on")
    hang.end()
    for call in calls.values():
        until(lambda call=call: csi_client.outcome(call) == "OK", "it does not work after the thaw")
    sizes = {entry.volume.volume_id: entry.volume.capacity_bytes
             for entry in cluster.call("ListVolumes").entries}
    assert sizes == {volumes["kept"].volume_id: 8 * MIB,
                     calls["CreateVolume"]().volume_id: 4 * MIB}
    for volume_id in sizes:
        cluster.call("DeleteVolume", volume_id=volume_id)
    lead_a_life(cluster, "hung", "n1")
