# SPDX-License-Identifier: Apache-2.0
"""Snapshots, restores and clones in a pool whose filesystem cannot share blocks."""

import pytest

from cluster.processes import until
from contents import read, write
from workloads import DATA, MIB, snapshot_class

SUM = f"sha256sum < {DATA}/much"


@pytest.fixture
def stopped(workloads):
    """A claim with 200 MiB of data that no pod uses, and their checksum."""
    claim = workloads.claim("copying", "400Mi")
    pod = workloads.running(workloads.pod(claim, node="n1"))
    workloads.sh(pod, f"head -c {200 * MIB} /dev/urandom > {DATA}/much && sync")
    checksum = workloads.sh(pod, SUM)
    workloads.remove("Pod", pod)
    return claim, checksum


def copies_have(workloads, snapshot, class_name, checksum):
    for node in ("n1", "n2"):
        copy = workloads.claim_from(class_name, "VolumeSnapshot", snapshot, "500Mi")
        pod = workloads.running(workloads.pod(copy, node=node), seconds=180)
        assert workloads.sh(pod, SUM) == checksum


@pytest.mark.slice
def test_a_snapshot_is_restored_on_both_nodes(workloads, stopped):
    claim, checksum = stopped
    copies_have(workloads, workloads.ready_snapshot(claim), "copying", checksum)


def test_a_snapshot_is_restored_in_the_pool_that_shares(workloads, stopped):
    claim, checksum = stopped
    copies_have(workloads, workloads.ready_snapshot(claim), "ext4", checksum)


def test_a_clone(workloads, stopped):
    claim, checksum = stopped
    clone = workloads.claim_from("copying", "PersistentVolumeClaim", claim, "400Mi")
    pod = workloads.running(workloads.pod(clone, node="n1"), seconds=180)
    assert workloads.sh(pod, SUM) == checksum


def test_a_mounted_volume_is_frozen_for_its_copy(workloads, new_class):
    patient = new_class(snapshot_class("patient", maxFreeze="10s"))
    claim = workloads.claim("copying", "64Mi")
    pod = workloads.running(workloads.pod(claim))
    write(workloads, "ext4", pod, "old")
    snapshot = workloads.ready_snapshot(claim, patient)
    write(workloads, "ext4", pod, "new")
    copy = workloads.claim_from("copying", "VolumeSnapshot", snapshot, "64Mi")
    restored = workloads.running(workloads.pod(copy))
    assert [read(workloads, "ext4", one) for one in (pod, restored)] == ["new", "old"]


def test_a_raw_block_volume_in_use_is_copied_when_its_pod_has_ended(workloads):
    claim = workloads.claim("copying", "64Mi", block=True)
    pod = workloads.running(workloads.pod(block_claims=[claim]))
    write(workloads, "block", pod, "data")
    snapshot = workloads.snapshot(claim)
    error = until(lambda: workloads.snapshot_status(snapshot).get("error", {}).get("message"),
                  "the snapshot of a volume with writers is not refused")
    assert "FailedPrecondition" in error
    workloads.remove("Pod", pod)
    workloads.ready(snapshot)
    assert "error" not in workloads.snapshot_status(snapshot)
