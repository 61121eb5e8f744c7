# SPDX-License-Identifier: Apache-2.0
"""What an administrator does with a cluster that runs: see it, undo a deletion, find what Kubernetes has
forgotten, learn of problems."""

import json

import pytest

import administration
import record_text
from cluster.processes import until
from workloads import DATA, claim_spec, storage_class

OLD = "2025-06-01T12:00:00Z"
EVENT_SECONDS = 200  # the controller looks every two minutes
POOL = "/var/lib/holdfast/pools/default"


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


def write_and_delete(workloads, class_name):
    """The claim of a pod with data; both are deleted then."""
    claim = workloads.claim(class_name, "64Mi")
    pod = workloads.running(workloads.pod(claim, script=f"echo kept > {DATA}/file; sync"))
    workloads.remove("Pod", pod)
    workloads.remove("PersistentVolumeClaim", claim)
    return claim


def claim_again(workloads, claim, class_name, volume):
    """The claim, for that PersistentVolume, and what a pod finds in it."""
    spec = claim_spec(class_name, "64Mi") | {"volumeName": volume}
    workloads.create("PersistentVolumeClaim", spec, claim)
    pod = workloads.running(workloads.pod(claim))
    return workloads.sh(pod, f"cat {DATA}/file")


def delete_with_its_claim(workloads, volume):
    workloads.api.patch("PersistentVolume", volume,
                        {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})


def test_a_deleted_claim_comes_back_from_the_trash(cluster, workloads, new_class):
    name = new_class(storage_class("kept", keepDeleted="1h"))
    claim = write_and_delete(workloads, name)
    until(lambda: administration.listed(cluster, "trash list"), "the volume is not in the trash")
    [entry] = administration.listed(cluster, "trash list")
    assert (entry["kubernetes_namespace"], entry["kubernetes_name"]) == ("default", claim)
    restored = administration.holdfast(cluster, "trash", "restore", f"--storage-class={name}",
                                       entry["id"])
    assert restored.returncode == 0, restored.stderr
    administration.apply(cluster, restored.stdout)
    volume = json.loads(restored.stdout)["metadata"]["name"]
    assert claim_again(workloads, claim, name, volume) == "kept"
    delete_with_its_claim(workloads, volume)
    assert not workloads.clean()
    until(lambda: administration.listed(cluster, "trash list"), "the volume is not in the trash")
    [entry] = administration.listed(cluster, "trash list")
    purged = administration.holdfast(cluster, "trash", "purge", entry["id"])
    assert purged.returncode == 0, purged.stderr
    assert administration.listed(cluster, "trash list") == []


def make_old(installation, node, volume_id):
    """An audit says nothing yet of volumes that are new."""
    record = node.namespace.path(f"{POOL}/volumes/{volume_id[-36:]}/record.json")
    record.write_bytes(record_text.sealed(
        json.loads(record.read_text()) | {"created_at": OLD}))
    installation.kill_driver(node.name)


def test_what_etcd_has_forgotten_is_adopted(cluster, workloads, installation):
    """As after a restored backup, or in a cluster that was built anew."""
    claim = workloads.claim("ext4")
    pod = workloads.running(workloads.pod(claim, script=f"echo kept > {DATA}/file; sync"))
    volume = workloads.volume_of(claim)
    volume_id, node = volume["spec"]["csi"]["volumeHandle"], cluster.nodes[workloads.node_of(pod)]
    workloads.remove("Pod", pod)
    workloads.api.patch("PersistentVolume", volume["metadata"]["name"],
                        {"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
    workloads.remove("PersistentVolumeClaim", claim)
    workloads.remove("PersistentVolume", volume["metadata"]["name"])
    make_old(installation, node, volume_id)
    installation.wait_until_ready()
    until(lambda: volume_id in administration.audited(cluster).stdout, "the audit does not see it")
    audit = administration.audited(cluster, "--output=json")
    assert audit.returncode == 1, audit.stderr
    [finding] = json.loads(audit.stdout)["findings"]
    assert (finding["kind"], finding["claim"]) == ("volume-without-pv", f"default/{claim}")
    adopted = administration.audited(cluster, "--adopt", "--storage-class=ext4")
    assert adopted.returncode == 0, adopted.stderr
    administration.apply(cluster, adopted.stdout)
    [again] = json.loads(adopted.stdout)["items"]
    assert again["spec"]["csi"]["volumeHandle"] == volume_id
    assert claim_again(workloads, claim, "ext4", again["metadata"]["name"]) == "kept"
    delete_with_its_claim(workloads, again["metadata"]["name"])


def test_a_class_without_a_pool_uses_the_one_with_room(cluster, workloads):
    """Pool `copying` has less room on each node than pool `default`, but enough for this volume."""
    claim = workloads.claim("ext4")
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
    installation.install(**{"events.enabled": "true"})
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
