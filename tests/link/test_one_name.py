# SPDX-License-Identifier: Apache-2.0
"""A name never becomes two volumes, and no claim is tied to a node that is gone."""

import concurrent.futures
import signal

import csi_client
import grpc
import pytest
from cluster import node_of, until
from csi_client import refused
from driver import MIB
from link_peer import volume_id
from rogue_node import rogue_node


def silent(command, truth):
    return None if command.method == "CreateVolume" else truth


def no_answer(cluster, *arguments, **fields):
    with pytest.raises(grpc.RpcError) as caught:
        cluster.create(*arguments, **fields)
    assert csi_client.code_of(caught.value) in csi_client.MAYBE_RUNNING, caught.value


def test_a_creation_in_doubt_gives_way_to_another_node(cluster):
    node = cluster.nodes["n1"].server.process
    node.send_signal(signal.SIGSTOP)
    try:
        no_answer(cluster, "pvc", ["n1"], timeout=0.3)
        volume = cluster.create("pvc", ["n2"])
        assert node_of(volume) == "n2"
    finally:
        node.send_signal(signal.SIGCONT)
    until(lambda: "given up on node 'n1', is deleted" in cluster.controller.log(), "not deleted")
    assert [entry.volume.volume_id for entry in cluster.call("ListVolumes").entries] == [
        volume.volume_id]
    assert not list((cluster.nodes["n1"].pool / "volumes").iterdir())
    assert cluster.create("pvc", ["n2"]).volume_id == volume.volume_id
    cluster.call("DeleteVolume", volume_id=volume.volume_id)


def test_a_volume_that_was_handed_out_is_not_made_again_elsewhere(cluster):
    volume = cluster.create("pvc", ["n1"])
    with refused("ALREADY_EXISTS", "node 'n1' has a volume named 'pvc'"):
        cluster.create("pvc", ["n2"])
    # Also when that is known from the node alone.
    cluster.controller.server.kill()
    cluster.controller.start()
    cluster.wait_for("n1", "n2")
    with refused("ALREADY_EXISTS", "node 'n1' has a volume named 'pvc'"):
        cluster.create("pvc", ["n2"])
    assert cluster.create("pvc", ["n1"]).volume_id == volume.volume_id
    cluster.call("DeleteVolume", volume_id=volume.volume_id)
    other = cluster.create("pvc", ["n2"])
    assert node_of(other) == "n2"
    cluster.call("DeleteVolume", volume_id=other.volume_id)


def test_a_dead_node_does_not_keep_a_claim(new_cluster, directory):
    """n1 is asked to create the volume, and dies. When it returns with the volume, which no caller
    has received, that volume is deleted."""
    cluster = new_cluster("n2")
    with rogue_node(cluster, directory) as rogue:
        rogue.lie = silent
        no_answer(cluster, "pvc", ["n1"], timeout=0.3)
        assert rogue.asked("CreateVolume")
    until(lambda: not cluster.is_linked("n1"), "the controller does not notice")
    volume = cluster.create_again("pvc", ["n2"])
    assert node_of(volume) == "n2"
    with rogue_node(cluster, directory, volumes=[("default", "pvc")]) as rogue:
        until(lambda: len(rogue.asked("DeleteVolume")) >= 2, "it is not deleted")
        assert {request.volume_id for request in rogue.asked("DeleteVolume")} == {
            volume_id("n1", "pvc")}
        assert cluster.create("pvc").volume_id == volume.volume_id
    cluster.call("DeleteVolume", volume_id=volume.volume_id)


def test_a_claim_that_may_go_anywhere_leaves_a_node_that_is_cut_off(new_cluster, directory):
    cluster = new_cluster("n2")
    with rogue_node(cluster, directory) as rogue:
        rogue.lie = silent
        no_answer(cluster, "pvc", ["n1", "n2"], preferred=["n1"], timeout=0.3)
    until(lambda: not cluster.is_linked("n1"), "the controller does not notice")
    volume = cluster.create_again("pvc", ["n1", "n2"], preferred=["n1"])
    assert node_of(volume) == "n2"
    cluster.call("DeleteVolume", volume_id=volume.volume_id)


def test_a_node_that_never_answers_loses_a_claim_that_may_go_elsewhere(new_cluster, directory):
    cluster = new_cluster("n2")
    with rogue_node(cluster, directory) as rogue:
        rogue.lie = silent
        for _ in range(3):
            no_answer(cluster, "pvc", ["n1", "n2"], preferred=["n1"], timeout=0.3)
        volumes = []

        def made():
            try:
                volumes.append(cluster.create("pvc", ["n1", "n2"], preferred=["n1"], timeout=2))
            except grpc.RpcError as error:
                assert csi_client.code_of(error) in csi_client.MAYBE_RUNNING, error
            return volumes

        until(made, "it stays at the silent node")
        assert node_of(volumes[0]) == "n2"
    cluster.call("DeleteVolume", volume_id=volumes[0].volume_id)


def test_what_was_given_up_is_deleted_before_its_node_makes_it_again(new_cluster, directory):
    cluster = new_cluster("n2")
    with rogue_node(cluster, directory) as rogue:
        rogue.lie = silent
        no_answer(cluster, "pvc", ["n1"], timeout=0.3)
        volume = cluster.create_again("pvc", ["n2"])
        cluster.call("DeleteVolume", volume_id=volume.volume_id)
        rogue.lie = lambda command, truth: truth
        assert node_of(cluster.create("pvc", ["n1"])) == "n1"
        methods = [command.method for command in rogue.commands]
        assert methods[0] == "CreateVolume" and "DeleteVolume" in methods[1:]
        assert methods[-1] == "CreateVolume"


def test_a_node_may_be_named_controller(new_cluster, directory):
    """The controller is not on any node, whatever its settings: it has no name that a node could
    have."""
    cluster = new_cluster("n2", controller_flags=["--node-id=controller"])
    assert "as node" not in cluster.controller.log()
    with rogue_node(cluster, directory, "controller"):
        volume = cluster.create("pvc", ["controller"])
        assert volume.volume_id == volume_id("controller", "pvc")
        cluster.call("DeleteVolume", volume_id=volume.volume_id)


@pytest.fixture
def two_pools(new_cluster, directory):
    second = directory / "second"
    second.mkdir()
    return new_cluster("n1", node_flags=[f"--pool=second=file:{second}"])


def create_in(where, pool, name="same", **fields):
    return where.call("CreateVolume", name=name, volume_capabilities=[csi_client.capability()],
                      capacity_range=csi_client.at_least(16 * MIB),
                      parameters={"provisioning": "thin", "pool": pool}, **fields).volume


def test_one_name_in_two_pools(two_pools):
    for first, other in (("default", "second"), ("second", "default")):
        volume = create_in(two_pools, first)
        with refused("ALREADY_EXISTS", f"exists in pool '{first}'"):
            create_in(two_pools, other)
        assert create_in(two_pools, first).volume_id == volume.volume_id
        two_pools.call("DeleteVolume", volume_id=volume.volume_id)


def test_one_name_in_two_pools_at_the_same_time(two_pools):
    with concurrent.futures.ThreadPoolExecutor() as calls:
        for number in range(20):
            both = [calls.submit(create_in, two_pools, pool, f"pvc-{number}")
                    for pool in ("default", "second")]
            failures = [call.exception() for call in both]
            assert any(failures), "both were made"
            for call, failure in zip(both, failures):
                if failure is None:
                    two_pools.call("DeleteVolume", volume_id=call.result().volume_id)
                else:
                    assert csi_client.code_of(failure) in ("ABORTED", "ALREADY_EXISTS"), failure
