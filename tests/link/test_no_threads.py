# SPDX-License-Identifier: Apache-2.0
"""A node cannot start more threads: its commands fail, and nothing else does."""

import os

import pytest

import cgroup
from csi_client import code_of, grpc


def test_a_node_without_threads(cluster):
    if lack := cgroup.missing("pids"):
        pytest.skip(lack)
    process = cluster.nodes["n1"].server.process
    with cgroup.Cgroup("pids") as group:
        group.add(process.pid)
        group.set("pids.max", len(os.listdir(f"/proc/{process.pid}/task")))
        with pytest.raises(grpc.RpcError) as refusal:
            cluster.create("pvc", ["n1"], timeout=10)
        assert code_of(refusal.value) == "UNAVAILABLE"
        assert "cannot start a thread" in refusal.value.details()
        assert process.poll() is None
        group.set("pids.max", "max")
        group.release()
    volume = cluster.create("pvc", ["n1"])
    cluster.call("DeleteVolume", volume_id=volume.volume_id)
