# SPDX-License-Identifier: Apache-2.0
"""Snapshots of several volumes at one instant, with the stock csi-snapshotter and
snapshot-controller."""

import pytest

from cluster.processes import until
from contents import read, write


@pytest.mark.slice
@pytest.mark.parametrize("kinds", (("ext4", "xfs"), ("xfs", "block")), ids="-".join)
def test_volumes_of_two_nodes_are_snapshotted_together(workloads, kinds):
    """And each is restored on the other node, where its origin is not."""
    pods, handles = {}, {}
    for kind, node in zip(kinds, ("n1", "n2")):
        claim = workloads.claim(kind, labels={"application": "database"})
        pods[kind] = workloads.running(workloads.pod_for(kind, claim, node=node))
        handles[kind] = workloads.volume_of(claim)["spec"]["csi"]["volumeHandle"]
        write(workloads, kind, pods[kind], "old")
    group = workloads.ready_group(application="database")
    until(lambda: set(workloads.members_of(group)) == set(handles.values()),
          lambda: f"the snapshots of {handles} are {workloads.members_of(group)}")
    members = workloads.members_of(group)
    for kind, node in zip(kinds, ("n2", "n1")):
        write(workloads, kind, pods[kind], "new")
        copy = workloads.claim_from(kind, "VolumeSnapshot", members[handles[kind]], "400Mi")
        pod = workloads.running(workloads.pod_for(kind, copy, node=node))
        assert [read(workloads, kind, one) for one in (pods[kind], pod)] == ["new", "old"]
    workloads.remove("VolumeGroupSnapshot", group)
    workloads.gone("VolumeSnapshot", *members.values())
    until(lambda: not workloads.api.list("VolumeGroupSnapshotContent"), "the group's content goes")
