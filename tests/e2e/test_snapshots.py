# SPDX-License-Identifier: Apache-2.0
"""Snapshots, restores and clones with the stock csi-snapshotter and snapshot-controller."""

import pytest

from cluster.processes import until
from contents import read, write
from workloads import DATA, DEVICE, MIB

KINDS = ("ext4", "xfs", "btrfs", "block")


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


@pytest.mark.parametrize("node", ("n1", "n2"))
@pytest.mark.parametrize("kind", KINDS)
def test_a_larger_restore_is_larger_inside(workloads, kind, node):
    claim = workloads.claim(kind)
    pod = workloads.running(workloads.pod_for(kind, claim, node="n1"))
    write(workloads, kind, pod, "data")
    copy = workloads.claim_from(kind, "VolumeSnapshot", workloads.ready_snapshot(claim), "1Gi")
    pod = workloads.running(workloads.pod_for(kind, copy, node=node))
    assert read(workloads, kind, pod) == "data"
    if kind == "block":
        assert int(workloads.sh(pod, f"blockdev --getsize64 {DEVICE}")) == 1024 * MIB
    else:
        mebibytes = int(workloads.sh(pod, f"df -m {DATA} | tail -n 1").split()[1])
        assert 900 < mebibytes <= 1024


@pytest.mark.parametrize("node", ("n1", "n2"))
@pytest.mark.parametrize("kind", KINDS)
def test_a_read_only_restore_is_read_by_two_pods(workloads, kind, node):
    claim = workloads.claim(kind)
    pod = workloads.running(workloads.pod_for(kind, claim, node="n1"))
    write(workloads, kind, pod, "data")
    snapshot = workloads.ready_snapshot(claim)
    copy = workloads.claim_from(kind, "VolumeSnapshot", snapshot, access="ReadOnlyMany")
    readers = [workloads.pod_for(kind, copy, node=node) for _ in range(2)]
    workloads.running(*readers)
    for reader in readers:
        assert read(workloads, kind, reader) == "data"
        with pytest.raises(RuntimeError, match="Read-only|not permitted"):
            write(workloads, kind, reader, "other")


@pytest.mark.parametrize("node", ("n1", "n2"))
@pytest.mark.parametrize("kind", KINDS)
def test_a_claim_is_cloned_on_both_nodes(workloads, kind, node):
    claim = workloads.claim(kind)
    pod = workloads.running(workloads.pod_for(kind, claim, node="n2"))
    write(workloads, kind, pod, "old")
    clone = workloads.claim_from(kind, "PersistentVolumeClaim", claim, "400Mi")
    copy = workloads.running(workloads.pod_for(kind, clone, node=node))
    write(workloads, kind, pod, "new")
    assert [read(workloads, kind, one) for one in (pod, copy)] == ["new", "old"]


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
