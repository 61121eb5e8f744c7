# SPDX-License-Identifier: Apache-2.0
"""Snapshots, restores and clones with the stock csi-snapshotter and snapshot-controller."""

import pytest

from cluster.processes import until

KINDS = ("ext4", "xfs", "btrfs", "block")


def write(workloads, kind, pod, text):
    if kind == "block":
        workloads.sh(pod, f"echo {text} | dd of=/dev/volume conv=sync,fsync 2>/dev/null")
    else:
        workloads.sh(pod, f"echo {text} > /data/file; sync")


def read(workloads, kind, pod):
    if kind == "block":
        return workloads.sh(pod, "head -n 1 /dev/volume")
    return workloads.sh(pod, "cat /data/file")


@pytest.mark.slice
@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_is_restored_on_both_nodes(workloads, kind):
    claim = workloads.claim(kind)
    pod = workloads.running(workloads.pod_for(kind, claim, node="n1"))
    write(workloads, kind, pod, "old")
    snapshot = workloads.ready_snapshot(claim)
    write(workloads, kind, pod, "new")
    restored = []
    for node in ("n1", "n2"):
        copy = workloads.claim_from(kind, "VolumeSnapshot", snapshot, "400Mi")
        restored.append(workloads.running(workloads.pod_for(kind, copy, node=node)))
        handle = workloads.volume_of(copy)["spec"]["csi"]["volumeHandle"]
        assert handle.startswith(f"default:{node}:")
    assert [read(workloads, kind, one) for one in (pod, *restored)] == ["new", "old", "old"]


def test_a_claim_is_cloned_where_its_volume_is(workloads):
    claim = workloads.claim("ext4")
    pod = workloads.running(workloads.pod(claim, node="n2"))
    write(workloads, "ext4", pod, "data")
    clone = workloads.claim_from("ext4", "PersistentVolumeClaim", claim)
    copy = workloads.running(workloads.pod(clone))
    assert read(workloads, "ext4", copy) == "data"
    assert workloads.volume_of(clone)["spec"]["csi"]["volumeHandle"].startswith("default:n2:")


@pytest.mark.slice
def test_a_snapshot_outlives_its_volume(workloads):
    claim = workloads.claim("ext4")
    pod = workloads.running(workloads.pod(claim))
    write(workloads, "ext4", pod, "precious")
    snapshot = workloads.ready_snapshot(claim)
    volume = workloads.volume_of(claim)["metadata"]["name"]
    workloads.remove("Pod", pod)
    workloads.remove("PersistentVolumeClaim", claim)
    workloads.gone("PersistentVolume", volume)
    copy = workloads.claim_from("ext4", "VolumeSnapshot", snapshot)
    pod = workloads.running(workloads.pod(copy))
    assert read(workloads, "ext4", pod) == "precious"


def test_a_deleted_snapshot_frees_its_space(workloads, installation):
    claim = workloads.claim("ext4", "256Mi")
    pod = workloads.running(workloads.pod(claim, node="n1"))
    before = installation.free("n1")
    snapshot = workloads.ready_snapshot(claim)
    assert installation.free("n1") < before
    workloads.remove("VolumeSnapshot", snapshot)
    until(lambda: not workloads.api.list("VolumeSnapshotContent"), "the content does not go")
    until(lambda: installation.free("n1") >= before - (1 << 20), "the space is not free again")
    assert workloads.phase(pod) == "Running"
