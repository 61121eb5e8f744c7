# SPDX-License-Identifier: Apache-2.0
"""What an administrator does with a cluster that runs: see it, undo a deletion, let a class choose its pool, learn
of problems. test_disasters.py is about clusters that do not run."""

import json

import pytest

import administration
from cluster.processes import until
from taken_back import WRITE, claim_again, set_reclaim_policy
from workloads import storage_class

EVENT_SECONDS = 200  # the controller looks every two minutes


@pytest.mark.slice
def test_the_whole_cluster_at_a_glance(cluster, workloads):
    claims = {node: workloads.claim("ext4") for node in cluster.nodes}
    pods = {node: workloads.pod(claim, node=node) for node, claim in claims.items()}
    workloads.running(*pods.values())
    found = {volume["node"]: volume for volume in administration.listed(cluster, "volumes")}
    for node, claim in claims.items():
        volume = found[node]
        assert (volume["kubernetes_namespace"], volume["claim"]) == ("default", claim)
        assert volume["persistent_volume"] == workloads.volume_of(claim)["metadata"]["name"]
        assert volume["pods"] == [f"default/{pods[node]}"]
        assert not volume["abnormal"] and volume["allocated_bytes"] > 0
    assert {node["name"]: node["state"] for node in administration.listed(cluster, "nodes")} == {
        node: "connected" for node in cluster.nodes}
    only = administration.listed(cluster, "volumes", "--node=n1", "--namespace=default")
    assert [volume["node"] for volume in only] == ["n1"]


@pytest.mark.slice
def test_a_deleted_claim_comes_back_from_the_trash(cluster, workloads, new_class):
    name = new_class(storage_class("kept", keepDeleted="1h"))
    claim = workloads.claim(name, "64Mi")
    written = workloads.running(workloads.pod(claim, script=WRITE))
    workloads.remove("Pod", written)
    workloads.remove("PersistentVolumeClaim", claim)
    until(lambda: administration.listed(cluster, "trash list"), "the volume is not in the trash")
    [entry] = administration.listed(cluster, "trash list")
    assert (entry["kubernetes_namespace"], entry["kubernetes_name"]) == ("default", claim)
    restored = administration.holdfast(cluster, "trash", "restore", f"--storage-class={name}",
                                       entry["id"])
    assert restored.returncode == 0, restored.stderr
    administration.apply(cluster, restored.stdout)
    volume = json.loads(restored.stdout)["metadata"]["name"]
    assert claim_again(workloads, claim, name) == written
    set_reclaim_policy(workloads, volume, "Delete")
    assert not workloads.clean()
    until(lambda: administration.listed(cluster, "trash list"), "the volume is not in the trash")
    [entry] = administration.listed(cluster, "trash list")
    purged = administration.holdfast(cluster, "trash", "purge", entry["id"])
    assert purged.returncode == 0, purged.stderr
    assert administration.listed(cluster, "trash list") == []


def test_a_class_without_a_pool_uses_the_one_with_room(cluster, workloads, new_class):
    """Pool `copying` has less room on each node than pool `default`, but enough for this volume."""
    claim = workloads.claim(new_class(storage_class("any")), "64Mi")
    workloads.running(workloads.pod(claim))
    handle = workloads.volume_of(claim)["spec"]["csi"]["volumeHandle"]
    assert handle.startswith("default:")


def test_a_class_of_several_pools_uses_the_one_with_room(cluster, workloads, new_class):
    name = new_class(storage_class("several", pool="copying,default"))
    claim = workloads.claim(name, "2500Mi")  # more than `copying` has
    workloads.running(workloads.pod(claim))
    assert workloads.volume_of(claim)["spec"]["csi"]["volumeHandle"].startswith("default:")


@pytest.fixture
def events(installation):
    installation.install(**{"events.enabled": True})
    installation.wait_until_linked()
    yield
    installation.install()


def test_a_node_that_is_missing_is_an_event(cluster, workloads, installation, events):
    node = cluster.nodes[installation.node_without_controller()]
    node.crash()

    def reported():
        return [event for event in cluster.api.list("Event", None)
                if event["reason"] == "HoldfastNodeMissing"
                and event["involvedObject"]["name"] == node.name]
    try:
        until(reported, "no event says that the node is missing", EVENT_SECONDS)
        assert reported()[0]["involvedObject"]["kind"] == "Node"
    finally:
        node.boot()
        node.wait_until_ready()
        installation.wait_until_ready()
    cluster.kubectl("delete", "events", "--all", "--all-namespaces")
