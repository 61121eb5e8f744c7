# SPDX-License-Identifier: Apache-2.0
"""From a claim to a volume that matches its class."""

import pytest

from cluster.processes import until
from workloads import (DRIVER, TOPOLOGY_KEY, claim_spec, number_of_bytes, pod_spec,
                       storage_class)

FILESYSTEMS = ("ext4", "ext3", "xfs", "btrfs")


def affinity(volume):
    terms = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    return [(expression["key"], expression["values"])
            for term in terms for expression in term["matchExpressions"]]


@pytest.mark.slice
@pytest.mark.parametrize("name", (*FILESYSTEMS, "block"))
def test_a_volume_is_as_claim_and_class_say(workloads, name):
    claim = workloads.claim(name)
    workloads.running(workloads.pod_for(name, claim, node="n2"))
    volume = workloads.volume_of(claim)
    spec = volume["spec"]
    assert spec["csi"]["driver"] == DRIVER
    assert spec["csi"]["volumeHandle"].startswith("default:n2:")
    wanted = workloads.api.get("PersistentVolumeClaim", claim)["spec"]["resources"]["requests"]
    assert number_of_bytes(spec["capacity"]["storage"]) == number_of_bytes(wanted["storage"])
    assert affinity(volume) == [(TOPOLOGY_KEY, ["n2"])]
    assert spec["persistentVolumeReclaimPolicy"] == "Delete"
    assert spec["volumeMode"] == ("Block" if name == "block" else "Filesystem")
    assert name == "block" or spec["csi"]["fsType"] == name


def test_mount_options_of_the_class_reach_the_mount(workloads, new_class):
    name = new_class(storage_class("options", "xfs", mount_options=["noatime", "nodiscard"]))
    claim = workloads.claim(name, "320Mi")
    pod = workloads.running(workloads.pod(claim))
    assert workloads.volume_of(claim)["spec"]["mountOptions"] == ["noatime", "nodiscard"]
    options = workloads.sh(pod, "grep ' /data ' /proc/mounts").split()[3].split(",")
    assert "noatime" in options and "discard" not in options


def test_a_size_is_rounded_up_to_whole_blocks(workloads):
    claim = workloads.claim("ext4", "100M")
    workloads.running(workloads.pod(claim))
    capacity = number_of_bytes(workloads.volume_of(claim)["spec"]["capacity"]["storage"])
    assert capacity == -(-100_000_000 // 4096) * 4096


@pytest.mark.slice
def test_delete_frees_the_space(workloads, installation):
    before = installation.free("n1")
    claim = workloads.claim("ext4", "256Mi")
    pod = workloads.running(workloads.pod(claim, node="n1"))
    volume = workloads.volume_of(claim)["metadata"]["name"]
    assert installation.free("n1") <= before - (256 << 20)
    workloads.remove("Pod", pod)
    workloads.remove("PersistentVolumeClaim", claim)
    workloads.gone("PersistentVolume", volume)
    until(lambda: installation.free("n1") == before, "the space is not free again")


def test_retain_keeps_the_data_for_another_claim(workloads, new_class):
    name = new_class(storage_class("retain", reclaim="Retain"))
    claim = workloads.claim(name, "64Mi")
    pod = workloads.running(workloads.pod(claim, script="echo precious > /data/file; sync"))
    volume = workloads.volume_of(claim)["metadata"]["name"]
    workloads.remove("Pod", pod)
    workloads.remove("PersistentVolumeClaim", claim)
    until(lambda: workloads.api.get("PersistentVolume", volume)["status"]["phase"] == "Released",
          "the volume is not released")
    # As an administrator does to reuse it.
    workloads.api.patch("PersistentVolume", volume, {"spec": {"claimRef": None}})
    again = workloads.create("PersistentVolumeClaim",
                             {**claim_spec(name, "64Mi"), "volumeName": volume})
    pod = workloads.running(workloads.pod(again))
    assert workloads.sh(pod, "cat /data/file") == "precious"
    # And to delete it in the end.
    workloads.api.patch("PersistentVolume", volume,
                        {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})
    workloads.remove("Pod", pod)
    workloads.remove("PersistentVolumeClaim", again)
    workloads.gone("PersistentVolume", volume)


def test_immediate_binding_needs_no_pod(workloads, new_class):
    name = new_class(storage_class("immediate", binding="Immediate"))
    claim = workloads.claim(name, "64Mi")
    [(key, [node])] = affinity(workloads.bound(claim))
    assert key == TOPOLOGY_KEY
    pod = workloads.running(workloads.pod(claim))
    assert workloads.node_of(pod) == node


def test_immediate_binding_within_the_allowed_topology(workloads, new_class):
    manifest = storage_class("only-n2", binding="Immediate")
    manifest["allowedTopologies"] = [
        {"matchLabelExpressions": [{"key": TOPOLOGY_KEY, "values": ["n2"]}]}]
    claims = [workloads.claim(new_class(manifest), "64Mi")]
    claims += [workloads.claim("only-n2", "64Mi") for _ in range(3)]
    for claim in claims:
        assert affinity(workloads.bound(claim)) == [(TOPOLOGY_KEY, ["n2"])]


def test_a_claim_for_one_pod_admits_one_pod(workloads):
    claim = workloads.claim("ext4", access="ReadWriteOncePod")
    first = workloads.running(workloads.pod(claim))
    second = workloads.pod(claim)
    workloads.eventually(second, "ReadWriteOncePod")
    assert workloads.phase(second) == "Pending"
    workloads.remove("Pod", first)
    workloads.running(second)


def test_a_stateful_set_keeps_its_volumes(workloads):
    template = {"metadata": {"name": "data"}, "spec": claim_spec("ext4", "64Mi")}
    spec = pod_spec(script="hostname >> /data/starts")
    spec["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    labels = {"app": "stateful"}
    workloads.create("StatefulSet", {
        "serviceName": "stateful", "replicas": 3, "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": labels}, "volumeClaimTemplates": [template],
        "template": {"metadata": {"labels": labels}, "spec": spec}}, "stateful", "apps/v1")
    pods = [f"stateful-{number}" for number in range(3)]
    workloads.running(*pods)
    nodes = {pod: workloads.node_of(pod) for pod in pods}
    identities = {pod: workloads.uid("Pod", pod) for pod in pods}
    workloads.delete("Pod", *pods)
    until(lambda: all(workloads.uid("Pod", pod) not in (None, identities[pod]) for pod in pods),
          "the pods are not made anew")
    workloads.running(*pods)
    assert {pod: workloads.node_of(pod) for pod in pods} == nodes
    for pod in pods:
        assert workloads.sh(pod, "cat /data/starts") == f"{pod}\n{pod}"


@pytest.mark.slice
def test_a_generic_ephemeral_volume_lives_with_its_pod(workloads):
    volume = {"ephemeral": {"volumeClaimTemplate": {"spec": claim_spec("xfs", "320Mi")}}}
    pod = workloads.running(workloads.pod(volumes=[volume]))
    [claim] = workloads.api.list("PersistentVolumeClaim")
    assert claim["metadata"]["ownerReferences"][0]["name"] == pod
    workloads.sh(pod, "echo scratch > /data/file")
    workloads.remove("Pod", pod)
    workloads.gone("PersistentVolumeClaim", claim["metadata"]["name"])


def test_an_inline_volume_is_refused_with_a_reason(workloads):
    pod = workloads.pod(volumes=[{"csi": {"driver": DRIVER, "fsType": "ext4"}}])
    workloads.eventually(pod, "Ephemeral")
    assert workloads.phase(pod) == "Pending"


def test_many_claims_at_once(workloads):
    claims = [workloads.claim("ext4") for _ in range(20)]
    pods = [workloads.pod(claim, script="echo here > /data/file") for claim in claims]
    workloads.running(*pods, seconds=240)
    handles = {workloads.volume_of(claim)["spec"]["csi"]["volumeHandle"] for claim in claims}
    assert len(handles) == len(claims)
