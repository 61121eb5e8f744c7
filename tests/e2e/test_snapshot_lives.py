# SPDX-License-Identifier: Apache-2.0
"""Ends of snapshots, their origins and copies; snapshots that are kept and imported again."""

import pytest

from cluster.processes import until
from contents import read, write
from workloads import DRIVER, SNAPSHOT_API, snapshot_class

# The origin, its snapshot, a volume restored from that, and a clone of the restored volume.
ORDERS = ("origin snapshot restored clone", "clone restored snapshot origin",
          "snapshot restored origin clone", "restored origin clone snapshot")


class Family:
    """A snapshot with its origin and its descendants, each volume with a pod that reads it."""

    def __init__(self, workloads, kind):
        self.workloads = workloads
        self.kind = kind
        self.names = {"origin": workloads.claim(kind)}
        self.pods = {}
        write(workloads, kind, self.open("origin"), "data")
        self.names["snapshot"] = workloads.ready_snapshot(self.names["origin"])
        self.copy("restored", "VolumeSnapshot", "snapshot")
        self.copy("clone", "PersistentVolumeClaim", "restored")

    def open(self, member):
        self.pods[member] = self.workloads.pod_for(self.kind, self.names[member], node="n1")
        return self.workloads.running(self.pods[member])

    def copy(self, member, kind, source):
        self.names[member] = self.workloads.claim_from(self.kind, kind, self.names[source])
        self.open(member)

    def start_to_end(self, member):
        """Returns what will be gone in the end."""
        if member == "snapshot":
            ended = "VolumeSnapshotContent", self.workloads.content_of(self.names[member])
            self.workloads.delete("VolumeSnapshot", self.names[member])
            return ended
        claim = self.names[member]
        ended = "PersistentVolume", self.workloads.volume_of(claim)["metadata"]["name"]
        self.workloads.delete("Pod", self.pods.pop(member))
        self.workloads.delete("PersistentVolumeClaim", claim)
        return ended

    def check(self):
        for member, pod in self.pods.items():
            assert read(self.workloads, self.kind, pod) == "data", member


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ("xfs", "block"))
def test_any_order_of_deletions(workloads, kind, order):
    family = Family(workloads, kind)
    for member in order.split():
        workloads.gone(*family.start_to_end(member))
        family.check()
        if "snapshot" not in order.split()[:order.split().index(member) + 1]:
            late = workloads.claim_from(kind, "VolumeSnapshot", family.names["snapshot"])
            pod = workloads.running(workloads.pod_for(kind, late, node="n1"))
            assert read(workloads, kind, pod) == "data"
            workloads.remove("Pod", pod)
            workloads.remove("PersistentVolumeClaim", late)


@pytest.mark.parametrize("kind", ("ext4", "btrfs"))
def test_everything_is_deleted_at_once(workloads, kind):
    family = Family(workloads, kind)
    for ended in [family.start_to_end(member) for member in family.names]:
        workloads.gone(*ended)


def begin_import(workloads, handle, policy):
    """Returns the name of a VolumeSnapshot, and of its content, of a snapshot that should exist."""
    name = f"imported-{policy.lower()}"
    workloads.create("VolumeSnapshotContent", {
        "deletionPolicy": policy, "driver": DRIVER, "source": {"snapshotHandle": handle},
        "sourceVolumeMode": "Filesystem",
        "volumeSnapshotRef": {"name": name, "namespace": "default"}}, name, SNAPSHOT_API)
    workloads.create("VolumeSnapshot", {"source": {"volumeSnapshotContentName": name}}, name,
                     SNAPSHOT_API)
    return name


def imported(workloads, handle, policy):
    return workloads.ready(begin_import(workloads, handle, policy))


@pytest.mark.slice
def test_a_kept_snapshot_is_imported_again(workloads, new_class, installation):
    kept = new_class(snapshot_class("kept", "Retain"))
    claim = workloads.claim("ext4")
    pod = workloads.running(workloads.pod(claim, node="n1"))
    write(workloads, "ext4", pod, "data")
    snapshot = workloads.ready_snapshot(claim, kept)
    content = workloads.content_of(snapshot)
    handle = workloads.api.get("VolumeSnapshotContent", content)["status"]["snapshotHandle"]
    size = workloads.snapshot_status(snapshot)["restoreSize"]
    taken = workloads.snapshot_status(snapshot)["creationTime"]
    workloads.remove("VolumeSnapshot", snapshot)
    workloads.remove("VolumeSnapshotContent", content)
    workloads.remove("Pod", pod)
    workloads.remove("PersistentVolumeClaim", claim)

    again = imported(workloads, handle, "Retain")
    status = workloads.snapshot_status(again)
    assert (status["restoreSize"], status["creationTime"]) == (size, taken)
    workloads.remove("VolumeSnapshot", again)
    workloads.remove("VolumeSnapshotContent", again)

    last = imported(workloads, handle, "Delete")
    for node in ("n1", "n2"):
        copy = workloads.claim_from("ext4", "VolumeSnapshot", last)
        pod = workloads.running(workloads.pod(copy, node=node))
        assert read(workloads, "ext4", pod) == "data"
    # The fixture checks that the nodes have nothing left of it.
    workloads.remove("VolumeSnapshot", last)
    workloads.gone("VolumeSnapshotContent", last)


def test_an_unknown_snapshot_is_not_imported(workloads):
    name = begin_import(workloads, "default:n1:00000000-0000-4000-8000-000000000000", "Delete")
    error = until(lambda: workloads.snapshot_status(name).get("error"), "there is no error")
    assert "can not find snapshot" in error["message"]
    assert not workloads.snapshot_status(name)["readyToUse"]
