# SPDX-License-Identifier: Apache-2.0
"""The trash of all nodes on the controller: listed, restored and purged by the node that has it."""

import json
import subprocess

import pytest

import admin_pb2
import csi_client
import driver_fixtures
import link_pb2
from link_messages import result_with
from rogue_node import rogue_node

KEEP = ",keepDeleted=24h"
LIST, RESTORE, PURGE = "Admin.ListTrash", "Admin.RestoreTrash", "Admin.PurgeTrash"


@pytest.fixture
def cluster(new_cluster):
    return new_cluster("n1", "n2", n1=KEEP, n2=KEEP)


def run(cluster, *words):
    return subprocess.run(
        [driver_fixtures.binary(), "trash", *words,
         f"--endpoint=unix://{cluster.controller.server.socket}"],
        capture_output=True, text=True, timeout=60, check=False)


def listed(cluster, *flags):
    result = run(cluster, "list", "--output=json", *flags)
    return json.loads(result.stdout)["trash"]


def purge_all(cluster):
    for entry in cluster.call("ListVolumes").entries:
        cluster.call("DeleteVolume", volume_id=entry.volume.volume_id)
    for entry in listed(cluster):
        assert run(cluster, "purge", entry["id"]).returncode == 0
    assert listed(cluster) == []


def test_the_controller_lists_restores_and_purges(cluster):
    for node in ("n1", "n2"):
        volume = cluster.create(f"data-{node}", [node])
        cluster.call("DeleteVolume", volume_id=volume.volume_id)
    first, second = sorted(listed(cluster), key=lambda entry: entry["node"])
    assert (first["name"], second["name"]) == ("data-n1", "data-n2")
    assert listed(cluster, "--node=n2") == [second]
    result = run(cluster, "restore", "--claim=shop/orders", second["id"])
    assert result.returncode == 0, result.stderr
    spec = json.loads(result.stdout)["spec"]
    assert spec["csi"]["volumeHandle"] == second["volume_id"]
    term, = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["n2"]
    assert listed(cluster) == [first]
    # The controller knows the name again.
    again = cluster.create("data-n2", ["n1", "n2"])
    assert again.volume_id == second["volume_id"]
    assert run(cluster, "purge", first["id"]).returncode == 0
    purge_all(cluster)


def test_a_node_that_is_missing_keeps_its_trash(cluster):
    volume = cluster.create("data", ["n1"])
    cluster.call("DeleteVolume", volume_id=volume.volume_id)
    entry, = listed(cluster)
    cluster.nodes["n1"].server.kill()
    result = run(cluster, "list")
    assert result.returncode == 1 and "node 'n1'" in result.stderr
    result = run(cluster, "purge", entry["id"])
    assert result.returncode == 1 and "n1" in result.stderr
    cluster.nodes["n1"].start()
    cluster.wait_for("n1", "n2")
    assert [found["id"] for found in listed(cluster)] == [entry["id"]]
    purge_all(cluster)


def test_a_node_answers_only_for_its_own(cluster):
    """Whatever the controller asks of it."""
    volume = cluster.create("data", ["n1"])
    cluster.call("DeleteVolume", volume_id=volume.volume_id)
    entry, = listed(cluster)
    for wrong in (entry["id"].replace(":n1:", ":n2:"), entry["id"][:-2] + "1Z"):
        result = run(cluster, "purge", wrong)
        assert result.returncode == 1, result.stdout
    assert listed(cluster)[0]["id"] == entry["id"]
    purge_all(cluster)


@pytest.fixture
def beside_a_rogue(new_cluster, directory):
    """A cluster of the honest n2, with an entry, and n1, which answers as the test says."""
    cluster = new_cluster("n2", n2=KEEP)
    cluster.call("DeleteVolume", volume_id=cluster.create("honest", ["n2"]).volume_id)
    with rogue_node(cluster, directory, "n1") as rogue:
        rogue.answers[LIST] = lambda command: result_with(admin_pb2.ListTrashResponse())
        yield cluster, rogue
        rogue.answers[LIST] = lambda command: result_with(admin_pb2.ListTrashResponse())
        purge_all(cluster)


def entry_of_n1(number, **fields):
    place = f"default:n1:00000000-0000-4000-8000-{number:012}"
    return admin_pb2.TrashEntry(**{"id": f"{place}.20261125T084500Z", "kind": "volume",
                                   "volume_id": place, "name": "v", "node": "n1", **fields})


@pytest.mark.parametrize("lie", [{"id": "default:n2:00000000-0000-4000-8000-000000000001."
                                        "20261125T084500Z"},
                                 {"id": "x"}, {"kind": "pool"}, {"kind": ""}],
                         ids=["another node's", "no id", "another kind", "no kind"])
def test_a_node_speaks_of_its_own_trash_only(beside_a_rogue, lie):
    cluster, rogue = beside_a_rogue
    told = entry_of_n1(1, **lie)
    rogue.answers[LIST] = lambda command: result_with(admin_pb2.ListTrashResponse(trash=[told]))
    result = run(cluster, "list", "--output=json")
    shown = json.loads(result.stdout)
    assert result.returncode == 1
    assert [entry["node"] for entry in shown["trash"]] == ["n2"]
    assert [entry["node"] for entry in shown["unreachable"]] == ["n1"]
    rogue.answers[RESTORE] = lambda command: result_with(
        admin_pb2.RestoreTrashResponse(entry=told))
    with csi_client.refused("UNAVAILABLE"):
        cluster.controller.client.admin_command("RestoreTrash", id=entry_of_n1(1).id)


def test_what_follows_from_the_id_is_not_the_nodes_to_say(beside_a_rogue):
    cluster, rogue = beside_a_rogue
    told = entry_of_n1(1, volume_id="default:n2:stolen", node="n2", pool="other",
                       kubernetes_name="a/../b", name="\x1b[2J")
    rogue.answers[RESTORE] = lambda command: result_with(admin_pb2.RestoreTrashResponse(
        entry=told, driver="evil", topology_key="evil", topology_value="n2"))
    restored = cluster.controller.client.admin_command("RestoreTrash", id=told.id)
    assert restored.entry.volume_id == entry_of_n1(1).volume_id
    assert (restored.entry.node, restored.entry.pool) == ("n1", "default")
    assert restored.entry.kubernetes_name == "" and "\x1b" not in restored.entry.name
    assert restored.driver == "csi.holdfast.dev" and restored.topology_value == "n1"
    with csi_client.refused("UNAVAILABLE"):
        cluster.controller.client.admin_command("RestoreTrash", id=entry_of_n1(2).id)


def test_codes_of_other_calls_are_not_passed_on(beside_a_rogue):
    cluster, rogue = beside_a_rogue
    rogue.answers[PURGE] = lambda command: link_pb2.Result(code=14 + 2, message="who are you")
    with csi_client.refused("INTERNAL", "n1"):
        cluster.controller.client.admin_command("PurgeTrash", id=entry_of_n1(1).id)
