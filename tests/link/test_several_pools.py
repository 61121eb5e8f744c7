# SPDX-License-Identifier: Apache-2.0
"""Nodes with several pools: the roomiest pool of all nodes gets the volume, and its name stays one
volume."""

import signal

import pytest

from cluster import node_of, until
from driver import MIB


def pool_of(volume):
    return volume.volume_id.split(":")[0]


@pytest.fixture
def cluster(new_cluster, new_disk, directory):
    """n1 has a small pool and a large one, n2 only one of a size between."""
    sizes = {"n1": 512, "n2": 768}
    for name, size in sizes.items():
        new_disk(size * MIB, directory / name / "pool", name=name)
    cluster = new_cluster("n1", "n2")
    node = cluster.nodes["n1"]
    new_disk(1024 * MIB, directory / "n1" / "large", name="large")
    node.server.command.append(f"--pool=large=file:{directory}/n1/large")
    node.restart()
    cluster.wait_for("n1")
    until(lambda: cluster.capacity("n1").maximum_volume_size.value > 600 * MIB, "the pool is not known")
    return cluster


def test_the_roomiest_pool_of_all_nodes_gets_the_volume(cluster):
    first = cluster.create("first", size=700 * MIB, provisioning="thick")
    assert (node_of(first), pool_of(first)) == ("n1", "large")
    until(lambda: cluster.capacity("n1", "thick").maximum_volume_size.value < 500 * MIB,
          "the room is not reported")
    second = cluster.create("second", size=500 * MIB, provisioning="thick")
    assert (node_of(second), pool_of(second)) == ("n2", "default")
    assert cluster.create("first", size=700 * MIB, provisioning="thick").volume_id == first.volume_id
    for volume in (first, second):
        cluster.call("DeleteVolume", volume_id=volume.volume_id)


def test_a_creation_in_doubt_is_deleted_in_whichever_pool_it_was_made(cluster):
    volume = cluster.create("pvc", ["n1"])
    assert pool_of(volume) == "large"
    cluster.call("DeleteVolume", volume_id=volume.volume_id)
    node = cluster.nodes["n1"].server.process
    node.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(Exception, match="DEADLINE_EXCEEDED|UNAVAILABLE"):
            cluster.create("pvc", ["n1"], timeout=0.3)
        volume = cluster.create("pvc", ["n2"])
        assert node_of(volume) == "n2"
    finally:
        node.send_signal(signal.SIGCONT)
    until(lambda: "given up on node 'n1', is deleted" in cluster.controller.log(), "not deleted")
    for pool in ("pool", "large"):
        assert not list((cluster.directory / "n1" / pool / "volumes").iterdir())
    cluster.call("DeleteVolume", volume_id=volume.volume_id)
