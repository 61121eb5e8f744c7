# SPDX-License-Identifier: Apache-2.0
"""The link on a real network: refused, silent, half silent, slow, and elsewhere."""

import pytest

from cluster.processes import until
from link_trouble import LOST, REFUSED, link_packets, slow_network
from workloads import DATA, MIB, SIZES, number_of_bytes

NOTICED_SECONDS = 120
BACK_SECONDS = 120

TROUBLE = {
    "refused": {"fate": REFUSED},
    "silent": {"fate": LOST},
    "nothing comes from the controller": {"fate": LOST, "to_controller": False},
    "nothing comes from the node": {"fate": LOST, "from_controller": False},
}


@pytest.fixture
def far_node(cluster, installation):
    """A node whose link crosses the network."""
    return cluster.nodes[installation.node_without_controller()]


def says(workloads, claim, text):
    return any(text in event["message"]
               for event in workloads.events("PersistentVolumeClaim", claim))


@pytest.mark.parametrize("trouble", TROUBLE)
def test_a_link_that_is_cut_and_restored(workloads, installation, far_node, trouble):
    claim = workloads.claim("xfs")
    pod = workloads.running(workloads.pod(claim, node=far_node.name))
    with link_packets(far_node, **TROUBLE[trouble]):
        until(lambda: installation.linked_nodes() == 1,
              "the controller does not notice", NOTICED_SECONDS)
        # Pods continue; operations that need the controller wait, and are never reported as done.
        workloads.sh(pod, f"echo kept > {DATA}/file; sync")
        new = workloads.claim("ext4")
        waiting = workloads.pod(new, node=far_node.name)
        workloads.api.patch("PersistentVolumeClaim", claim,
                            {"spec": {"resources": {"requests": {"storage": "512Mi"}}}})
        until(lambda: says(workloads, claim, "Unavailable"),
              lambda: workloads.events("PersistentVolumeClaim", claim), NOTICED_SECONDS)
        assert workloads.phase(waiting) == "Pending"
        assert workloads.claim_phase(new) == "Pending"
        # The pod that used a volume can end without the controller.
        workloads.remove("Pod", pod)
    workloads.running(waiting, seconds=BACK_SECONDS)
    pod = workloads.running(workloads.pod(claim))
    until(lambda: number_of_bytes(workloads.api.get("PersistentVolumeClaim", claim)["status"][
        "capacity"]["storage"]) == 512 * MIB, "the growth does not go on", BACK_SECONDS)
    assert workloads.sh(pod, f"cat {DATA}/file") == "kept"


def test_a_volume_of_a_node_that_is_cut_off_is_not_deleted(workloads, installation, far_node):
    claim = workloads.claim("ext4")
    pod = workloads.running(workloads.pod(claim, node=far_node.name))
    volume = workloads.volume_of(claim)["metadata"]["name"]
    workloads.remove("Pod", pod)
    with link_packets(far_node, LOST):
        until(lambda: installation.linked_nodes() == 1,
              "the controller does not notice", NOTICED_SECONDS)
        workloads.remove("PersistentVolumeClaim", claim)
        until(lambda: workloads.events("PersistentVolume", volume), "no deletion is tried")
        assert workloads.api.find("PersistentVolume", volume)
    workloads.gone("PersistentVolume", volume, seconds=BACK_SECONDS)


def test_a_slow_link(workloads, far_node):
    with slow_network(far_node):
        claims = [workloads.claim(name) for name in SIZES]
        pods = [workloads.pod_for(name, claim, node=far_node.name)
                for name, claim in zip(SIZES, claims)]
        workloads.running(*pods, seconds=240)


def test_the_controller_comes_back_at_another_address(workloads, installation):
    before = installation.controller_pod()["status"]["podIP"]
    installation.delete_controller()
    installation.wait_until_ready()
    assert installation.controller_pod()["status"]["podIP"] != before
    until(lambda: installation.linked_nodes() == 2, "the nodes do not come back", BACK_SECONDS)
    for node in workloads.cluster.nodes:
        workloads.running(workloads.pod(workloads.claim("ext4"), node=node))
