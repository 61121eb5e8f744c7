# SPDX-License-Identifier: Apache-2.0
"""`holdfast audit` on the controller: nothing is missing that has not been asked for."""

import json

import pytest

import admin_pb2
import audit
import driver_fixtures
import link_pb2
from cluster import until
from link_messages import result_with
from rogue_node import rogue_node

BINARY = driver_fixtures.binary


def audited(socket, *objects, code, flags=()):
    """The kinds and subjects of each verdict, with the nodes."""
    result = audit.run(BINARY(), socket, audit.object_list(*objects), "--output=json", *flags)
    assert result.returncode == code, result.stdout + result.stderr
    shown = json.loads(result.stdout)
    return {verdict: sorted((entry["kind"], entry["subject"]) for entry in shown[verdict])
            for verdict in ("findings", "unknown", "notes")}


def on_controller(cluster, *objects, code, flags=()):
    return audited(cluster.controller.server.socket, *objects, code=code, flags=flags)


def object_of(volume, node, name):
    return audit.persistent_volume(volume.volume_id, volume.capacity_bytes, node, name)


@pytest.fixture
def objects(cluster):
    """A volume on each node with its PersistentVolume; they are deleted afterwards."""
    made = {node: cluster.create(f"data-{node}", [node]) for node in ("n1", "n2")}
    yield [object_of(volume, node, f"pv-{node}") for node, volume in made.items()]
    for volume in made.values():
        cluster.call("DeleteVolume", volume_id=volume.volume_id)


def gone(node, name="pv-gone"):
    """A PersistentVolume whose volume does not exist."""
    return audit.persistent_volume(f"default:{node}:6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a001", "1Gi",
                                   node, name)


NOTHING = {"findings": [], "unknown": [], "notes": []}


def test_all_nodes_are_compared(cluster, objects):
    assert on_controller(cluster, *objects, code=0) == NOTHING
    found = on_controller(cluster, *objects, gone("n2"), code=1)
    assert found == NOTHING | {"findings": [("pv-without-data", "pv-gone")]}
    objects[0]["spec"]["nodeAffinity"] = objects[1]["spec"]["nodeAffinity"]
    found = on_controller(cluster, *objects, code=1)
    assert found["findings"] == [("node-differs", "pv-n1")]


def test_what_a_missing_node_has_is_unknown(cluster, objects):
    cluster.nodes["n2"].server.kill()
    until(lambda: not cluster.is_linked("n2"), "the controller does not notice")
    found = on_controller(cluster, *objects, gone("n1"), code=2)
    assert found["findings"] == [("pv-without-data", "pv-gone")]
    assert found["unknown"] == [("node", "n2"), ("pv-without-data", "pv-n2")]
    cluster.controller.server.kill()
    cluster.controller.start()
    cluster.wait_for("n1")
    found = on_controller(cluster, *objects, code=2)
    assert found["unknown"] == [("pv-without-data", "pv-n2")], "it has not been seen any more"
    cluster.nodes["n2"].start()
    cluster.wait_for("n2")
    until(lambda: audit.run(BINARY(), cluster.controller.server.socket,
                            audit.object_list(*objects)).returncode == 0, "it is not back")


def test_a_node_judges_its_own(cluster, objects):
    node = cluster.nodes["n1"]
    until(lambda: node.client.admin("ListLeftovers").rounds, "the first look")
    found = audited(node.server.socket, *objects, gone("n1"), gone("n2", "other"), code=1)
    assert found == NOTHING | {"findings": [("pv-without-data", "pv-gone")]}


def test_a_node_cannot_speak_of_another_ones_volumes(cluster, objects, directory):
    with rogue_node(cluster, directory, "n3") as rogue:
        answers = {"Pools": admin_pb2.ListPoolsResponse(pools=[{"name": "default"}]),
                   "Snapshots": admin_pb2.ListSnapshotsResponse(),
                   "Leftovers": admin_pb2.ListLeftoversResponse(),
                   "Trash": admin_pb2.ListTrashResponse(),
                   "Volumes": admin_pb2.ListVolumesResponse()}
        for kind, answer in answers.items():
            rogue.answers[f"Admin.List{kind}"] = lambda command, answer=answer: result_with(answer)
        rogue.lie = lambda command, result: (
            link_pb2.Result(code=5, message="no") if command.method == "ControllerGetVolume"
            else result)
        found = on_controller(cluster, *objects, gone("n3"), code=1)
        assert found == NOTHING | {"findings": [("pv-without-data", "pv-gone")]}, "its own"
        handle = objects[0]["spec"]["csi"]["volumeHandle"]
        answers["Volumes"].volumes.add(id=handle, name="data-n1", capacity_bytes=1 << 40)
        found = on_controller(cluster, *objects, gone("n3"), code=2)
        assert found["findings"] == [], "n1's volume is as n1 says"
        assert found["unknown"] == [("node", "n3"), ("pv-without-data", "pv-gone")]


def test_volumes_are_adopted_where_they_are(cluster):
    """From the controller, which has no volume itself, with the node that has the bytes."""
    volume = cluster.call(
        "CreateVolume", name="pvc-0", capacity_range={"required_bytes": 64 << 20},
        volume_capabilities=[driver_fixtures.csi_client.capability("mount", "ext4")],
        parameters={"provisioning": "thin", "csi.storage.k8s.io/pvc/name": "orders",
                    "csi.storage.k8s.io/pvc/namespace": "shop"}).volume
    node = cluster.nodes[volume.volume_id.split(":")[1]]
    assert node.server.stop() is None
    audit.make_old(node, volume.volume_id)
    node.start()
    cluster.wait_for(node.name)
    result = audit.run(BINARY(), cluster.controller.server.socket, audit.object_list(), "--adopt")
    assert result.returncode == 0, result.stderr
    adopted, = json.loads(result.stdout)["items"]
    assert adopted["spec"]["claimRef"]["name"] == "orders"
    term, = adopted["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert [entry["values"] for entry in term["matchExpressions"]] == [[node.name]]
    assert on_controller(cluster, adopted, code=0) == NOTHING
    refused = audit.run(BINARY(), node.server.socket, audit.object_list(), "--adopt")
    assert refused.returncode == 2 and "ask the controller" in refused.stderr
    cluster.call("DeleteVolume", volume_id=volume.volume_id)
