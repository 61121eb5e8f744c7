# SPDX-License-Identifier: Apache-2.0
"""Secrets that the controller receives are not sent to the nodes, which have no use for them."""

import concurrent.futures
import re

import csi_client
import csi_pb2
import grpc
import link_pb2
import pytest
from cluster import segment
from link_messages import request_in, request_type
from link_peer import peer_as, pools_of, register
from pytest_run import REPOSITORY

SENTINEL = "sentinel-8e1f4711-secret"
VOLUME = "default:n2:6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a001"
SNAPSHOT = "s:" + VOLUME


def requests():
    """The controller's commands to a node, by RPC."""
    capability = csi_client.capability(filesystem="ext4")
    size = csi_client.at_least(1 << 30)
    return {
        "CreateVolume": {"name": "pv", "capacity_range": size, "volume_capabilities": [capability],
                         "accessibility_requirements": csi_pb2.TopologyRequirement(
                             requisite=[segment("n2")])},
        "DeleteVolume": {"volume_id": VOLUME},
        "ControllerExpandVolume": {"volume_id": VOLUME, "capacity_range": size},
        "ValidateVolumeCapabilities": {"volume_id": VOLUME, "volume_capabilities": [capability]},
        "CreateSnapshot": {"name": "snapshot", "source_volume_id": VOLUME},
        "DeleteSnapshot": {"snapshot_id": SNAPSHOT},
        "GetSnapshot": {"snapshot_id": SNAPSHOT},
        "ListSnapshots": {"snapshot_id": SNAPSHOT},
    }


@pytest.mark.parametrize("name", requests())
def test_a_node_is_told_no_secret(new_cluster, directory, name):
    cluster = new_cluster("n1")
    with peer_as(cluster, directory) as peer, concurrent.futures.ThreadPoolExecutor() as calls:
        peer.send(register=register(pools=pools_of("n2")))
        peer.prove()
        cluster.wait_for("n2")
        call = calls.submit(cluster.call, name, secrets={SENTINEL: SENTINEL}, **requests()[name])
        command = peer.receive().command
        assert command.method == name
        assert SENTINEL.encode() not in command.SerializeToString()
        asked = request_in(command)
        subject = next(iter(requests()[name]))
        assert not asked.secrets and getattr(asked, subject) == requests()[name][subject]
        peer.send(result=link_pb2.Result(id=command.id, code=13, message="no"))
        with pytest.raises(grpc.RpcError):
            call.result()
        peer.outgoing.put(None)
    assert SENTINEL not in cluster.controller.log() + cluster.nodes["n1"].log()


def test_every_request_with_secrets_that_a_node_carries_out_is_tried():
    """As the controller's table of RPCs says (src/controller/rpc_table.cc)."""
    table = (REPOSITORY / "src/controller/rpc_table.cc").read_text()
    forwarded = set(re.findall(r'Row\(\{"(\w+)",\s+By::(?!kController)', table))
    assert {"CreateVolume", "ControllerGetVolume"} < forwarded
    assert set(requests()) == {
        name for name in forwarded
        if any(part.GetOptions().Extensions[csi_pb2.csi_secret]
               for part in request_type(name).DESCRIPTOR.fields)}
