# SPDX-License-Identifier: Apache-2.0
"""Pools that only one node reaches. Of its zone its pods know by Kubernetes, of its rack they do not."""

import pytest

from cluster.processes import until
from conftest import ELSEWHERE, IN_REACH, RACK, RACK_POOL, ZONE, ZONE_POOL, Timed
from guest_pods import SECONDS, devices_of, remove, write
from installation import NAMESPACE
from workloads import DRIVER, MIB, TOPOLOGY_KEY

SIZE = 512 * MIB


def topology_keys(api, node):
    return next(driver["topologyKeys"] for driver in api.get("CSINode", node)["spec"]["drivers"]
                if driver["name"] == DRIVER)


def test_nodes_tell_their_zone(installation, guest):
    zones = {name: IN_REACH if name == guest.name else ELSEWHERE for name in installation.nodes}
    for name, zone in zones.items():
        assert installation.node_pod(name)["metadata"]["labels"][ZONE] == zone
        assert sorted(topology_keys(installation.api, name)) == [TOPOLOGY_KEY, ZONE]
        assert installation.api.get("Node", name)["metadata"]["labels"][TOPOLOGY_KEY] == name


def test_there_is_capacity_in_the_pools_zone_alone(installation, guest):
    def room():
        """By zone."""
        return {told["nodeTopology"]["matchLabels"][ZONE]: told.get("maximumVolumeSize", "0")
                for told in installation.api.list("CSIStorageCapacity", NAMESPACE)
                if told["storageClassName"] == "ceph-zone-late"}
    until(lambda: room().get(IN_REACH, "0") != "0" and room().get(ELSEWHERE) == "0",
          lambda: f"capacity of the zones is {room()}", SECONDS)


@pytest.mark.parametrize("storage_class, pool, key, value", [
    ("ceph-zone", ZONE_POOL, ZONE, IN_REACH), ("ceph-zone-late", ZONE_POOL, ZONE, IN_REACH),
    ("ceph-rack", RACK_POOL, RACK, "7")])
def test_a_pod_goes_where_its_volume_is_reached(workloads, guest, ceph, storage_class, pool, key,
                                                value):
    """The pod has no placement constraints."""
    claim = workloads.claim(storage_class, str(SIZE))
    if not storage_class.endswith("late"):
        workloads.bound(claim)
    with Timed(f"{storage_class}: a pod finds its node and runs"):
        running = workloads.running(workloads.pod(claim), seconds=SECONDS)
    assert workloads.node_of(running) == guest.name
    [term] = workloads.volume_of(claim)["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": key, "operator": "In", "values": [value]}]
    assert len(ceph.images(pool)) == 1
    write(workloads, running)
    remove(workloads, "Pod", running)
    assert devices_of(workloads, guest) == []


@pytest.mark.parametrize("storage_class, reason", [
    ("ceph-zone", "node(s) didn't match PersistentVolume's node affinity"),
    ("ceph-zone-late", "node(s) didn't find available persistent volumes to bind")])
def test_a_pod_that_must_be_elsewhere_waits(workloads, cluster, storage_class, reason):
    pod = workloads.pod(workloads.claim(storage_class, str(SIZE)), node=next(iter(cluster.nodes)))
    workloads.eventually(pod, reason)
    assert workloads.phase(pod) == "Pending"
