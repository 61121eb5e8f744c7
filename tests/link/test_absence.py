# SPDX-License-Identifier: Apache-2.0
"""Nodes that are away, controllers that start again, and two that claim one name."""

import signal
import threading

import csi_client
import driver_fixtures
import grpc
from cluster import Node, node_of, until
from csi_client import refused
from driver import MIB


def expect_unavailable(cluster, volume):
    """For a volume whose node is away, only this is reported."""
    for method, fields in (
            ("DeleteVolume", {}), ("ControllerGetVolume", {}),
            ("ControllerExpandVolume", {"capacity_range": csi_client.at_least(256 * MIB)})):
        with refused("UNAVAILABLE", "n2"):
            cluster.call(method, volume_id=volume.volume_id, **fields)


def test_a_node_that_is_away(cluster):
    volume = cluster.create("pvc", ["n2"])
    cluster.nodes["n2"].server.kill()
    until(lambda: not cluster.is_linked("n2"), "the controller does not notice")
    expect_unavailable(cluster, volume)
    with refused("UNAVAILABLE", "n2"):
        cluster.capacity("n2")
    entry, = cluster.call("ListVolumes").entries
    assert entry.volume.volume_id == volume.volume_id and node_of(entry.volume) == "n2"
    assert "not known" in entry.status.volume_condition.message
    # A repeated creation is not made elsewhere, a new one is.
    with refused("UNAVAILABLE", "n2"):
        cluster.create("pvc")
    other = cluster.create("other", ["n1", "n2"], preferred=["n2"])
    assert node_of(other) == "n1"
    # A CO that has chosen this node chooses again, once nothing half made can exist there.
    until(lambda: code_of_creation(cluster) == "RESOURCE_EXHAUSTED", "the CO is not sent elsewhere")
    cluster.nodes["n2"].start()
    cluster.wait_for("n2")
    assert cluster.create("pvc").volume_id == volume.volume_id
    for made in (volume, other):
        cluster.call("DeleteVolume", volume_id=made.volume_id)


def code_of_creation(cluster):
    try:
        cluster.create("for n2 alone", ["n2"])
    except grpc.RpcError as error:
        return csi_client.code_of(error)
    return "OK"


def test_calls_wait_for_nodes_after_the_controller_started_again(cluster):
    volume = cluster.create("pvc", ["n2"])
    cluster.controller.server.kill()
    cluster.controller.start()
    # At once: no node is back yet.
    got = cluster.call("ControllerGetVolume", volume_id=volume.volume_id)
    assert got.volume.volume_id == volume.volume_id
    assert [entry.volume.volume_id for entry in cluster.call("ListVolumes").entries] == [
        volume.volume_id]
    cluster.call("DeleteVolume", volume_id=volume.volume_id)


def test_a_creation_waits_for_nodes_too(cluster):
    cluster.controller.server.kill()
    cluster.controller.start()
    for name, nodes in (("anywhere", ()), ("chosen", ["n1"])):
        volume = cluster.create(name, nodes)
        cluster.call("DeleteVolume", volume_id=volume.volume_id)


def test_what_was_made_before_the_controller_started_again_is_not_made_elsewhere(cluster):
    volume = cluster.create("pvc", ["n2"])
    slow = cluster.nodes["n2"].server.process
    cluster.controller.server.kill()
    slow.send_signal(signal.SIGSTOP)  # it returns last
    try:
        cluster.controller.start()
        cluster.wait_for("n1")
        answer = []
        caller = threading.Thread(target=lambda: answer.append(cluster.create("pvc")))
        caller.start()
        caller.join(1)
        assert caller.is_alive()
    finally:
        slow.send_signal(signal.SIGCONT)
    caller.join()
    assert [made.volume_id for made in answer] == [volume.volume_id]
    cluster.call("DeleteVolume", volume_id=volume.volume_id)


def test_pods_do_not_notice_a_controller_that_is_away(cluster):
    volume = cluster.create("pvc", ["n1"])
    cluster.controller.server.kill()
    node = cluster.nodes["n1"]
    staging = node.directory / "staging"
    staging.mkdir()
    capability = csi_client.capability("mount", "ext4")
    node.call("NodeStageVolume", volume_id=volume.volume_id, staging_target_path=str(staging),
              volume_capability=capability)
    node.call("NodeUnstageVolume", volume_id=volume.volume_id, staging_target_path=str(staging))
    cluster.controller.start()
    cluster.wait_for("n1", "n2")
    cluster.call("DeleteVolume", volume_id=volume.volume_id)


def test_a_node_that_connects_again_takes_the_place_of_its_old_stream(cluster):
    """As after a half-open connection: the controller still holds the old stream."""
    volume = cluster.create("pvc", ["n1"])
    cluster.nodes["n1"].server.process.send_signal(19)
    try:
        cluster.nodes["n1"].server.kill()
    finally:
        cluster.nodes["n1"].start()
    cluster.wait_for("n1")
    cluster.call("DeleteVolume", volume_id=volume.volume_id)


def test_another_machine_with_the_name_of_a_node_is_refused(cluster, directory):
    """It would answer "there is no such volume", which a CO takes to mean "deleted"."""
    volume = cluster.create("pvc", ["n1"])
    (directory / "impostor").mkdir()
    impostor = Node(driver_fixtures.binary(), directory / "impostor", "n1", cluster.controller.port,
                    directory / "n1-tls").start()
    until(lambda: "two nodes of one name" in impostor.log(), "the impostor is not refused")
    assert cluster.is_linked("n1")
    got = cluster.call("ControllerGetVolume", volume_id=volume.volume_id)
    assert got.volume.volume_id == volume.volume_id
    # Also while the true one is away.
    cluster.nodes["n1"].server.kill()
    with refused("UNAVAILABLE", "n1"):
        cluster.call("DeleteVolume", volume_id=volume.volume_id)
    assert impostor.server.stop() is None
    cluster.nodes["n1"].start()
    cluster.wait_for("n1")
    cluster.call("DeleteVolume", volume_id=volume.volume_id)
