# SPDX-License-Identifier: Apache-2.0
"""Nodes that differ: a group of nodes with a pool of its own (nodeGroups of the chart)."""

import pytest

from cluster.node import COPYING_BYTES, COPYING_DISK, STATE
from cluster.processes import until
from taken_back import POOL
from workloads import TOPOLOGY_KEY, number_of_bytes

CAPACITY_SECONDS = 60
DIRECTORIES = {"n1": POOL, "n2": COPYING_DISK}


@pytest.fixture
def groups(cluster, installation):
    """n2 is in a group, and its pool `default` is on the other disk."""
    change(cluster, installation, "big", nodeGroups=[{
        "name": "big", "nodeSelector": {"size": "big"},
        "pools": [{"name": "default", "path": COPYING_DISK}]}])
    yield
    change(cluster, installation, None)


def change(cluster, installation, size, **values):
    """As docs/kubernetes.md has it."""
    node = cluster.nodes["n2"]
    node.namespace.path(f"{STATE}/pools/default.json").unlink()
    node.label("size", size)
    installation.apply(**values)
    installation.delete_controller()
    installation.wait_until_ready()
    installation.wait_until_linked()


def capacity(cluster, node):
    """What the objects of a class say for a node."""
    return [number_of_bytes(found["maximumVolumeSize"])
            for found in cluster.api.list("CSIStorageCapacity", None)
            if found["storageClassName"] == "xfs"
            and found["nodeTopology"]["matchLabels"] == {TOPOLOGY_KEY: node}]


@pytest.mark.slice
def test_volumes_are_in_the_pool_of_their_nodes_group(groups, cluster, workloads, installation):
    for name in cluster.nodes:
        until(lambda: capacity(cluster, name) == [installation.free(name)],
              lambda: f"{name} has {installation.free(name)}, the objects say "
              f"{capacity(cluster, name)}", CAPACITY_SECONDS)
    assert installation.free("n2") < COPYING_BYTES < installation.free("n1")
    for name, node in cluster.nodes.items():
        claim = workloads.claim("xfs")
        workloads.running(workloads.pod(claim, node=name))
        handle = workloads.volume_of(claim)["spec"]["csi"]["volumeHandle"]
        assert handle.startswith(f"default:{name}:")
        assert node.namespace.path(f"{DIRECTORIES[name]}/volumes/{handle[-36:]}/image").exists()
