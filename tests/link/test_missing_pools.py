# SPDX-License-Identifier: Apache-2.0
"""A node that starts without one of its pools: the controller places nothing there, and learns of
the pool and its volumes as soon as it is back."""

import pytest

import csi_client
from cluster import node_of, segment, until
from csi_client import refused
from driver import MIB


@pytest.fixture
def disk(new_disk, directory):
    return new_disk(256 * MIB, mount_point=directory / "late", name="late")


@pytest.fixture
def cluster(new_cluster, disk):
    """The late pool is n1's first and so its default."""
    cluster = new_cluster("n1", wait=False)
    node = cluster.nodes["n1"]
    assert node.server.stop() is None
    place = next(i for i, flag in enumerate(node.server.command)
                 if str(flag).startswith("--pool="))
    node.server.command.insert(place, f"--pool=late=file:{disk.mount_point}")
    node.start()
    cluster.wait_for("n1")
    return cluster


def capacity(cluster, pool):
    return cluster.call("GetCapacity", parameters={"provisioning": "thin", "pool": pool},
                        accessible_topology=segment("n1")).available_capacity


def has_room(cluster, pool):
    """False as well in the moment in which the node connects again."""
    try:
        return capacity(cluster, pool) > 0
    except csi_client.grpc.RpcError as error:
        assert csi_client.code_of(error) == "UNAVAILABLE", error
        return False


def create(cluster, name, pool=None):
    named = {"pool": pool} if pool else {}
    return cluster.call("CreateVolume", name=name, capacity_range=csi_client.at_least(64 * MIB),
                        volume_capabilities=[csi_client.capability("mount", "ext4")],
                        parameters={"provisioning": "thin", **named}).volume


def test_a_pool_comes_back_while_the_node_is_linked(cluster, disk):
    node = cluster.nodes["n1"]
    late = create(cluster, "late", "late")
    assert late.volume_id.startswith("late:")
    assert node.server.stop() is None
    disk.unmount()
    cluster.controller.server.kill()
    cluster.controller.start()
    node.start()
    cluster.wait_for("n1")
    assert capacity(cluster, "late") == 0
    assert capacity(cluster, "default") > 0
    with refused("UNAVAILABLE", "is its disk mounted"):
        cluster.call("DeleteVolume", volume_id=late.volume_id)
    # The node's default pool is away: no other pool replaces it.
    with refused("RESOURCE_EXHAUSTED"):
        create(cluster, "new", "late")
    other = create(cluster, "other", "default")
    assert node_of(other) == "n1"
    disk.mount()
    until(lambda: has_room(cluster, "late"), "the controller is not told of the pool")
    until(lambda: knows_where(cluster, "late", late.volume_id), "it does not know the volumes")
    for volume in (late, other):
        cluster.call("DeleteVolume", volume_id=volume.volume_id)


def knows_where(cluster, name, volume_id):
    try:
        return create(cluster, name, "late").volume_id == volume_id
    except csi_client.grpc.RpcError as error:
        assert csi_client.code_of(error) == "UNAVAILABLE", error
        return False


def test_a_pool_that_the_node_never_saw_gets_its_identity_later(cluster, disk, directory):
    """The state directory is lost with the machine's own disk."""
    node = cluster.nodes["n1"]
    late = create(cluster, "late", "late")
    assert node.server.stop() is None
    disk.unmount()
    disk.mount_point.rmdir()
    (directory / "n1" / "state").rename(directory / "n1" / "lost-state")
    cluster.controller.server.kill()
    cluster.controller.start()
    node.start()
    cluster.wait_for("n1")
    assert capacity(cluster, "late") == 0
    disk.mount_point.mkdir()
    disk.mount()
    until(lambda: has_room(cluster, "late"), "the controller is not told of the pool")
    until(lambda: knows_where(cluster, "late", late.volume_id), "it does not know the volumes")
    cluster.call("DeleteVolume", volume_id=late.volume_id)


def test_what_was_named_stays_known_while_its_pool_is_away(cluster, disk):
    """The node connects again and cannot name the volumes: they are neither gone nor made again."""
    node = cluster.nodes["n1"]
    late = create(cluster, "late", "late")
    assert node.server.stop() is None
    disk.unmount()
    node.start()
    cluster.wait_for("n1")
    until(lambda: not has_room(cluster, "late"), "the controller is not told of the pool")
    cluster.wait_for("n1")
    listed = [entry.volume.volume_id for entry in cluster.call("ListVolumes").entries]
    assert listed == [late.volume_id]
    with refused("UNAVAILABLE", "is its disk mounted"):
        create(cluster, "late", "late")
    disk.mount()
    until(lambda: has_room(cluster, "late"), "the controller is not told that the pool is back")
    assert create(cluster, "late", "late").volume_id == late.volume_id
    cluster.call("DeleteVolume", volume_id=late.volume_id)
