# SPDX-License-Identifier: Apache-2.0
"""The capacity that the cluster knows, and how the cluster uses it."""

import pytest

from cluster.processes import until
from workloads import DRIVER, SIZES, TOPOLOGY_KEY, number_of_bytes

GIB = 1 << 30
BLOCK = 4096
CAPACITY_SECONDS = 60


@pytest.fixture
def capacities(cluster, installation):
    return Capacities(cluster, installation)


class Capacities:
    """The CSIStorageCapacity objects of the driver."""

    def __init__(self, cluster, installation):
        self.cluster = cluster
        self.installation = installation

    def objects(self, node, class_name):
        return [found for found in self.cluster.api.list("CSIStorageCapacity", None)
                if found["storageClassName"] == class_name and found["nodeTopology"].get(
                    "matchLabels", {}).get(TOPOLOGY_KEY) == node]

    def largest(self, node, class_name="ext4"):
        found = self.objects(node, class_name)
        return number_of_bytes(found[0]["maximumVolumeSize"]) if found else None

    def wait_until_right(self):
        """Waits until every object matches its node's capacity to the byte, and returns it."""
        room = {}

        def right():
            room.update({node: self.installation.free(node) for node in self.cluster.nodes})
            return all(self.largest(node, name) == size
                       for node, size in room.items() for name in SIZES)
        until(right, lambda: f"the nodes have {room}, the objects say " + str(
            {(node, name): self.largest(node, name) for node in room for name in SIZES}),
              CAPACITY_SECONDS, interval=0.5)
        return room


def test_one_object_for_each_node_and_class(cluster, capacities, workloads):
    capacities.wait_until_right()
    for node in cluster.nodes:
        for name in SIZES:
            assert len(capacities.objects(node, name)) == 1


@pytest.mark.slice
def test_objects_are_right_after_create_grow_and_delete(workloads, capacities):
    before = capacities.wait_until_right()
    claim = workloads.claim("xfs", "1Gi")
    pod = workloads.running(workloads.pod(claim, node="n1"))
    taken = capacities.wait_until_right()
    assert taken["n2"] == before["n2"]
    assert before["n1"] - taken["n1"] >= GIB
    workloads.api.patch("PersistentVolumeClaim", claim,
                        {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})
    until(lambda: number_of_bytes(workloads.volume_of(claim)["spec"]["capacity"]["storage"])
          == 2 * GIB, "the volume does not grow")
    grown = capacities.wait_until_right()
    assert taken["n1"] - grown["n1"] >= GIB
    workloads.remove("Pod", pod)
    workloads.remove("PersistentVolumeClaim", claim)
    until(lambda: capacities.wait_until_right() == before, "the room does not come back")


def test_the_largest_volume_that_is_promised_can_be_had(workloads, capacities):
    size = capacities.wait_until_right()["n2"]
    claim = workloads.claim("block", str(size))
    workloads.running(workloads.pod_for("block", claim, node="n2"))
    assert capacities.wait_until_right()["n2"] < 16 << 20


def test_one_block_more_is_never_placed(workloads, capacities):
    size = max(capacities.wait_until_right().values())
    pod = workloads.pod_for("block", workloads.claim("block", str(size + BLOCK)))
    workloads.eventually(pod, "did not have enough free storage")
    assert workloads.phase(pod) == "Pending"


@pytest.mark.slice
def test_a_pod_lands_where_its_volume_fits(workloads, capacities):
    room = capacities.wait_until_right()
    filler = workloads.claim("block", str(room["n1"] - GIB))
    workloads.running(workloads.pod_for("block", filler, node="n1"))
    capacities.wait_until_right()
    for _ in range(2):
        claim = workloads.claim("block", str(2 * GIB))
        pod = workloads.running(workloads.pod_for("block", claim))
        assert workloads.node_of(pod) == "n2"
        capacities.wait_until_right()


def test_a_pod_waits_until_there_is_space(workloads, capacities):
    room = capacities.wait_until_right()
    fillers = {}
    for node, size in room.items():
        claim = workloads.claim("block", str(size - GIB))
        fillers[node] = workloads.pod_for("block", claim, node=node), claim
    workloads.running(*(pod for pod, _ in fillers.values()))
    capacities.wait_until_right()
    waiting = workloads.pod_for("block", workloads.claim("block", str(2 * GIB)))
    workloads.eventually(waiting, "did not have enough free storage")
    pod, claim = fillers["n2"]
    workloads.remove("Pod", pod)
    workloads.remove("PersistentVolumeClaim", claim)
    workloads.running(waiting)
    assert workloads.node_of(waiting) == "n2"


def test_stale_capacity_leads_to_another_node(workloads, capacities):
    """The scheduler believes that n1 has space that it does not have; the driver's refusal makes it
    choose again."""
    room = capacities.wait_until_right()
    filler = workloads.claim("block", str(room["n1"] - GIB))
    workloads.running(workloads.pod_for("block", filler, node="n1"))
    capacities.wait_until_right()
    [stale] = capacities.objects("n1", "block")
    metadata = stale["metadata"]
    workloads.api.patch("CSIStorageCapacity", metadata["name"],
                        {"capacity": "100Gi", "maximumVolumeSize": "100Gi"}, metadata["namespace"])
    claim = workloads.claim("block", str(2 * GIB))
    pod = workloads.pod_for("block", claim, affinity=prefers("n1"))
    workloads.running(pod, seconds=180)
    assert workloads.node_of(pod) == "n2"
    said = [event["message"] for event in workloads.events("PersistentVolumeClaim", claim)]
    assert any("ResourceExhausted" in message for message in said), said


def prefers(node):
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 100, "preference": {"matchExpressions": [expression]}}]}}


def test_two_pods_race_for_the_last_room(workloads, capacities):
    """Each node has space for one of them: the pod that loses is placed on the other node."""
    room = capacities.wait_until_right()
    size = max(room.values()) // 2 + GIB // 2
    pods = [workloads.pod_for("block", workloads.claim("block", str(size))) for _ in room]
    workloads.running(*pods, seconds=180)
    assert {workloads.node_of(pod) for pod in pods} == set(room)


def test_the_driver_is_known_to_the_cluster(cluster, installation):
    found = cluster.api.get("CSIDriver", DRIVER)["spec"]
    assert found["storageCapacity"] and not found["attachRequired"]
    for node in cluster.nodes:
        [driver] = cluster.api.get("CSINode", node)["spec"]["drivers"]
        assert driver["nodeID"] == node and driver["topologyKeys"] == [TOPOLOGY_KEY]
