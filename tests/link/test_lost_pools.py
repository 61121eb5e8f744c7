# SPDX-License-Identifier: Apache-2.0
"""Nodes and disks that are gone for good, as the operator declares them to the controller."""

import json
import subprocess

import pytest

import audit
import driver_fixtures
from cluster import node_of, until
from csi_client import at_least, refused
from driver import MIB

LOST = "declared lost"


def pool_id(node, name="default"):
    listed = subprocess.run(
        [driver_fixtures.binary(), "pools", f"--endpoint=unix://{node.server.socket}",
         "--output=json"], check=True, capture_output=True, text=True)
    (found,) = [pool for pool in json.loads(listed.stdout)["pools"] if pool["name"] == name]
    return found["id"]


def nodes(cluster):
    listed = subprocess.run(
        [driver_fixtures.binary(), "nodes",
         f"--endpoint=unix://{cluster.controller.server.socket}", "--output=json"],
        check=True, capture_output=True, text=True)
    return {node["name"]: node for node in json.loads(listed.stdout)["nodes"]}


def restart_controller(cluster, *flags):
    controller = cluster.controller
    assert controller.server.stop() is None, controller.log()
    controller.server.command = [
        word for word in controller.server.command if not str(word).startswith("--lost-pool")]
    controller.server.command += flags
    controller.start()


def script_for(cluster, node, *objects, flags=()):
    """What `holdfast node lost` of the controller prints."""
    return subprocess.run(
        [driver_fixtures.binary(), "node", "lost", node, "--dry-run", *flags, "-",
         f"--endpoint=unix://{cluster.controller.server.socket}"],
        input=audit.object_list(*objects), capture_output=True, text=True, check=False)


def test_the_commands_that_replace_a_lost_node(cluster):
    volume_id = cluster.create("pvc-1", ["n1"]).volume_id
    objects = [audit.persistent_volume(volume_id, 64 * MIB, "n1", "pvc-1", "shop/data-db-1"),
               {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db-1", "namespace": "shop"},
                "spec": {"nodeName": "n1", "volumes": [
                    {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}}]}}]
    connected = script_for(cluster, "n1", *objects)
    assert (connected.returncode, connected.stdout) == (1, "")
    assert "is connected" in connected.stderr
    identity = pool_id(cluster.nodes["n1"])
    disk = script_for(cluster, "n1", *objects, flags=["--pool=default"])
    assert f"- {{node: n1, pool: default, id: {identity}}}" in disk.stdout, disk.stderr
    assert "delete node" not in disk.stdout
    cluster.nodes["n1"].server.kill()
    until(lambda: nodes(cluster)["n1"]["state"] == "missing", "the node is not missed")
    gone = script_for(cluster, "n1", *objects)
    assert gone.returncode == 0, gone.stderr
    commands = [line for line in gone.stdout.splitlines() if line and not line.startswith("#")]
    assert commands == ["kubectl delete node n1",
                        "kubectl -n shop delete pvc data-db-1 --wait=false",
                        "kubectl -n shop delete pod db-1 --force --grace-period=0"]
    cluster.nodes["n1"].start()
    cluster.wait_for("n1")
    cluster.call("DeleteVolume", volume_id=volume_id)


def test_a_node_that_is_gone_for_good(cluster):
    volume_id = cluster.create("pvc-1", ["n1"]).volume_id
    node = cluster.nodes["n1"]
    lost = f"--lost-pool=n1/default={pool_id(node)}"
    node.server.kill()
    restart_controller(cluster)
    with refused("UNAVAILABLE", "n1"):
        cluster.call("DeleteVolume", volume_id=volume_id)
    restart_controller(cluster, lost)
    with refused("FAILED_PRECONDITION", LOST):
        cluster.call("ControllerExpandVolume", volume_id=volume_id,
                     capacity_range=at_least(256 * MIB))
    condition = cluster.call("ControllerGetVolume", volume_id=volume_id).status.volume_condition
    assert condition.abnormal and LOST in condition.message
    assert cluster.capacity("n1").available_capacity == 0
    cluster.wait_for("n2")
    assert (nodes(cluster)["n1"]["state"], nodes(cluster)["n2"]["state"]) == ("lost", "connected")
    cluster.call("DeleteVolume", volume_id=volume_id)
    assert "not erased" in cluster.controller.log()
    # The replica's new claim.
    replica = cluster.create("pvc-2", ["n2"])
    assert node_of(replica) == "n2"

    # The node comes back, with its bytes: it is refused until the declaration is removed.
    node.start()
    until(lambda: LOST in cluster.controller.log(), "the node is not refused")
    until(lambda: LOST in node.log(), "the node does not know why")
    assert nodes(cluster)["n1"]["state"] == "lost"
    restart_controller(cluster)
    cluster.wait_for("n1", "n2")
    assert volume_id in [entry.volume.volume_id for entry in cluster.call("ListVolumes").entries]
    for left in (volume_id, replica.volume_id):
        cluster.call("DeleteVolume", volume_id=left)


@pytest.fixture
def two_disks(new_cluster, new_disk, directory):
    """n1 has two pools, the second one on a disk that can be taken away."""
    for name in ("n1", "n2"):
        new_disk(512 * MIB, directory / name / "pool", name=name)
    cluster = new_cluster("n1", "n2")
    disk = new_disk(512 * MIB, directory / "n1" / "disk", name="disk")
    node = cluster.nodes["n1"]
    (directory / "n1" / "disk" / "pool").mkdir()
    node.server.command.append(f"--pool=second=file:{directory}/n1/disk/pool")
    node.restart()
    cluster.wait_for("n1")
    return cluster, disk


def test_a_disk_that_is_lost_in_a_live_node(two_disks):
    cluster, disk = two_disks
    node = cluster.nodes["n1"]
    on_disk = cluster.create("pvc-1", ["n1"], pool="second").volume_id
    beside = cluster.create("pvc-2", ["n1"], pool="default").volume_id
    lost = f"--lost-pool=n1/second={pool_id(node, 'second')}"
    assert node.server.stop() is None
    disk.unmount()
    node.start()
    restart_controller(cluster, lost)
    cluster.wait_for("n1")
    cluster.call("DeleteVolume", volume_id=on_disk)
    assert cluster.call("ControllerGetVolume", volume_id=beside).volume.volume_id == beside
    cluster.call("DeleteVolume", volume_id=beside)

    # The disk is found after all: the node is refused as soon as it serves it.
    disk.mount()
    until(lambda: LOST in node.log(), "the node is not refused")
    restart_controller(cluster)
    cluster.wait_for("n1")
    assert list((disk.mount_point / "pool" / "volumes").iterdir()), "its bytes are gone"
    cluster.call("DeleteVolume", volume_id=on_disk)
    assert not list((disk.mount_point / "pool" / "volumes").iterdir())
