# SPDX-License-Identifier: Apache-2.0
"""`holdfast volumes` and its like on the controller: what all nodes have, whatever one of them does."""

import itertools
import json
import subprocess

import pytest

import admin_pb2
import csi_client
import driver_fixtures
import link_pb2
from cluster import until
from driver import MIB
from link_messages import result_with
from link_peer import volume_id
from rogue_node import rogue_node

LISTS = {"pools": admin_pb2.ListPoolsResponse, "volumes": admin_pb2.ListVolumesResponse,
         "snapshots": admin_pb2.ListSnapshotsResponse,
         "leftovers": admin_pb2.ListLeftoversResponse}
METHODS = {verb: f"Admin.List{verb.capitalize()}" for verb in LISTS}
ESCAPE = "\x1b[2J"


def run(cluster, verb, *flags):
    return subprocess.run(
        [driver_fixtures.binary(), verb, f"--endpoint=unix://{cluster.controller.server.socket}",
         *flags], capture_output=True, text=True, timeout=60, check=False)


def shown(cluster, verb, *flags, code=0):
    """The entries, and the names of the nodes that are missing."""
    result = run(cluster, verb, "--output=json", *flags)
    assert result.returncode == code, result.stdout + result.stderr
    answer = json.loads(result.stdout)
    missing = [entry["node"] for entry in answer["unreachable"]]
    assert all(f"node '{node}'" in result.stderr for node in missing)
    return answer[verb], missing


def names(entries):
    return sorted((entry["node"], entry["name"]) for entry in entries)


def delete_all(cluster):
    for entry in cluster.call("ListSnapshots").entries:
        cluster.call("DeleteSnapshot", snapshot_id=entry.snapshot.snapshot_id)
    for entry in cluster.call("ListVolumes").entries:
        cluster.call("DeleteVolume", volume_id=entry.volume.volume_id)


def test_every_node_is_in_every_list(cluster):
    for node in ("n1", "n2"):
        volume = cluster.create(f"data-{node}", [node])
        cluster.snapshot(volume.volume_id, f"snap-{node}")
    own, missing = shown(cluster, "volumes")
    assert (names(own), missing) == ([("n1", "data-n1"), ("n2", "data-n2")], [])
    assert {entry["condition"] for entry in own} == {"the storage is intact"}
    assert names(shown(cluster, "snapshots")[0]) == [("n1", "snap-n1"), ("n2", "snap-n2")]
    assert names(shown(cluster, "pools")[0]) == [("n1", "default"), ("n2", "default")]
    assert shown(cluster, "leftovers") == ([], [])
    nodes = {entry["name"]: entry for entry in shown(cluster, "nodes")[0]}
    assert [(nodes[node]["state"], nodes[node]["volumes"], nodes[node]["snapshots"])
            for node in ("n1", "n2")] == [("connected", 1, 1)] * 2
    assert nodes["n1"]["version"] and nodes["n1"]["thick_available_bytes"] > 0
    assert names(shown(cluster, "volumes", "--node=n2")[0]) == [("n2", "data-n2")]
    assert shown(cluster, "volumes", "--node=n3", code=1) == ([], ["n3"])
    table = run(cluster, "volumes").stdout.splitlines()
    assert [line.split()[:3] for line in table[1:]] == [["data-n1", "n1", "default"],
                                                        ["data-n2", "n2", "default"]]
    delete_all(cluster)


def test_claims_come_from_the_nodes(cluster):
    cluster.call("CreateVolume", name="pvc-0", capacity_range=csi_client.at_least(64 * MIB),
                 volume_capabilities=[csi_client.capability("mount", "ext4")],
                 parameters={"csi.storage.k8s.io/pvc/name": "orders", "provisioning": "thin",
                             "csi.storage.k8s.io/pvc/namespace": "shop"})
    entry, = shown(cluster, "volumes", "--namespace=shop")[0]
    assert (entry["claim"], entry["kubernetes_namespace"]) == ("orders", "shop")
    delete_all(cluster)


def test_a_node_that_has_ended_is_named(cluster):
    for node in ("n1", "n2"):
        cluster.create(f"data-{node}", [node])
    cluster.nodes["n2"].server.kill()
    until(lambda: run(cluster, "volumes").returncode == 1, "its end is not seen")
    own, missing = shown(cluster, "volumes", code=1)
    assert (names(own), missing) == ([("n1", "data-n1")], ["n2"])
    assert "data-n1" in run(cluster, "volumes").stdout
    nodes = {entry["name"]: entry["state"] for entry in shown(cluster, "nodes")[0]}
    assert nodes == {"n1": "connected", "n2": "missing"}
    assert [entry["name"] for entry in shown(cluster, "nodes", "--abnormal")[0]] == ["n2"]
    cluster.nodes["n2"].start()
    until(lambda: len(shown_anyhow(cluster)) == 2, "it is not back")
    delete_all(cluster)


def shown_anyhow(cluster):
    return json.loads(run(cluster, "volumes", "--output=json").stdout)["volumes"]


def test_a_list_that_takes_several_parts(new_cluster):
    """A part has 512 entries at most."""
    cluster = new_cluster("n1")
    for number in range(600):
        cluster.create(f"v{number:03}", size=MIB, access="block")
    own, missing = shown(cluster, "volumes")
    assert (names(own), missing) == ([("n1", f"v{number:03}") for number in range(600)], [])
    delete_all(cluster)


@pytest.fixture
def beside_a_rogue(new_cluster, directory):
    """A cluster of the honest n2, with a volume, and n1, which answers as the test says."""
    cluster = new_cluster("n2")
    cluster.create("honest", ["n2"])
    with rogue_node(cluster, directory, "n1") as rogue:
        for verb, response in LISTS.items():
            rogue.answers[METHODS[verb]] = lambda command, response=response: result_with(
                response())
        yield cluster, rogue
        delete_all(cluster)


def volume_of_n1(number=0, **fields):
    return admin_pb2.Volume(**{"id": volume_id("n1", f"v{number}"), "name": f"v{number}",
                               "pool": "default", "node": "n1", **fields})


def answer_volumes(rogue, *volumes, **fields):
    rogue.answers[METHODS["volumes"]] = lambda command: result_with(
        admin_pb2.ListVolumesResponse(volumes=volumes, **fields))


def test_a_node_speaks_of_itself_only(beside_a_rogue):
    cluster, rogue = beside_a_rogue
    for lie in (volume_id("n2", "honest"), volume_id("", "shared", "ceph"),
                volume_id("n1", "v0", "another-pool"), "nonsense", ""):
        answer_volumes(rogue, volume_of_n1(), volume_of_n1(id=lie))
        own, missing = shown(cluster, "volumes", code=1)
        assert (names(own), missing) == ([("n2", "honest")], ["n1"]), lie
    answer_volumes(rogue, volume_of_n1(node="n2", pool="other"))
    entry = shown(cluster, "volumes", "--node=n1")[0][0]
    assert (entry["node"], entry["pool"]) == ("n1", "default")
    rogue.answers[METHODS["pools"]] = lambda command: result_with(
        admin_pb2.ListPoolsResponse(pools=[{"name": "default", "node": "n2"}]))
    assert names(shown(cluster, "pools")[0]) == [("n1", "default"), ("n2", "default")]
    rogue.answers[METHODS["pools"]] = lambda command: result_with(
        admin_pb2.ListPoolsResponse(pools=[{"name": "unknown"}]))
    assert shown(cluster, "pools", code=1)[1] == ["n1"]
    rogue.answers[METHODS["snapshots"]] = lambda command: result_with(
        admin_pb2.ListSnapshotsResponse(snapshots=[{"id": f"s:{volume_id('n2', 'snap')}"}]))
    assert shown(cluster, "snapshots", code=1) == ([], ["n1"])
    rogue.answers[METHODS["leftovers"]] = lambda command: result_with(
        admin_pb2.ListLeftoversResponse(leftovers=[{"kind": "trash", "node": "n2"}]))
    assert [entry["node"] for entry in shown(cluster, "leftovers")[0]] == ["n1"]


def test_text_of_a_node_cannot_command_a_terminal(beside_a_rogue):
    cluster, rogue = beside_a_rogue
    answer_volumes(rogue, volume_of_n1(
        name=ESCAPE, condition=f"bad{ESCAPE}" + "x" * 10_000, abnormal=True, claim=ESCAPE,
        kubernetes_namespace="Shop", pods=[ESCAPE, "shop/web", "shop"], capacity_bytes=-5,
        target_paths=[f"/{ESCAPE}"] * 1000), unreachable=[{"node": "n2", "problem": ESCAPE}])
    result = run(cluster, "volumes", "--output=json", "--node=n1")
    assert "\x1b" not in result.stdout + result.stderr and "\\u001b" not in result.stdout
    answer = json.loads(result.stdout)
    entry, = answer["volumes"]
    assert (entry["claim"], entry["kubernetes_namespace"], entry["pods"]) == ("", "", ["shop/web"])
    assert entry["capacity_bytes"] == -1 and len(entry["condition"]) <= 2000
    assert len(entry["target_paths"]) == 32
    assert [missing["node"] for missing in answer["unreachable"]] == ["n1"]
    for output in ("table", "wide"):
        result = run(cluster, "volumes", f"--output={output}")
        assert "\x1b" not in result.stdout + result.stderr


def test_a_list_without_end_is_ended(beside_a_rogue):
    cluster, rogue = beside_a_rogue
    numbers = itertools.count()
    asked = []

    def endless(command):
        asked.append(command)
        part = [volume_of_n1(next(numbers)) for _ in range(100)]
        return result_with(admin_pb2.ListVolumesResponse(volumes=part, next=part[-1].id))

    rogue.answers[METHODS["volumes"]] = endless
    own, missing = shown(cluster, "volumes", code=1)
    assert missing == ["n1"] and ("n2", "honest") in names(own)
    assert len(asked) == 6, "it has named no volume, so no more than one part is believed"
    rogue.answers[METHODS["volumes"]] = lambda command: result_with(
        admin_pb2.ListVolumesResponse(next="again"))
    assert shown(cluster, "volumes", code=1)[1] == ["n1"]


def test_a_silent_node_does_not_keep_the_others_from_the_list(beside_a_rogue):
    cluster, rogue = beside_a_rogue
    rogue.answers[METHODS["volumes"]] = lambda command: None
    rogue.lie = lambda command, result: result
    own, missing = shown(cluster, "volumes", code=1)
    assert (names(own), missing) == ([("n2", "honest")], ["n1"])


def test_an_older_node_is_named(beside_a_rogue):
    cluster, rogue = beside_a_rogue
    rogue.answers[METHODS["volumes"]] = lambda command: link_pb2.Result(
        code=12, message="nodes of this version do not carry out 'Admin.ListVolumes'")
    result = run(cluster, "volumes")
    assert result.returncode == 1 and "honest" in result.stdout
    assert "do not carry out" in result.stderr


def test_a_failing_pool_of_a_node_is_named(cluster):
    cluster.create("data-n1", ["n1"])
    marker = cluster.nodes["n2"].pool / "holdfast-pool.json"
    hidden = marker.rename(marker.with_name("hidden"))
    pools = {entry["node"]: entry["problem"] for entry in shown(cluster, "pools")[0]}
    assert "holdfast-pool.json" in pools["n2"] and pools["n1"] == ""
    assert names(shown(cluster, "volumes")[0]) == [("n1", "data-n1")]
    hidden.rename(marker)
    delete_all(cluster)
