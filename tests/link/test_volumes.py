# SPDX-License-Identifier: Apache-2.0
"""Volumes that the controller makes and the nodes hold."""

import csi_client
import grpc
import kubelet as kubelet_module
import pytest
from cluster import TOPOLOGY_KEY, node_of, until
from csi_client import refused
from driver import MIB, SIZES


def expand(cluster, volume, size):
    return cluster.call("ControllerExpandVolume", volume_id=volume,
                        capacity_range=csi_client.at_least(size))


def delete(cluster, *volumes):
    for volume in volumes:
        cluster.call("DeleteVolume", volume_id=volume.volume_id)


def test_a_life_over_both_sides(cluster):
    volume = cluster.create("pvc", ["n2"], SIZES["xfs"], filesystem="xfs", provisioning="thick")
    assert node_of(volume) == "n2"
    node = cluster.nodes["n2"]
    kubelet = kubelet_module.Kubelet(node.directory / "kubelet", node.call)
    claim = kubelet_module.PersistentVolume(volume.volume_id, "pvc", filesystem="xfs")
    path = kubelet.mount(claim, "pod")
    grown = SIZES["xfs"] + 64 * MIB
    answer = expand(cluster, volume.volume_id, grown)
    assert (answer.capacity_bytes, answer.node_expansion_required) == (grown, True)
    kubelet.expand(claim, path, grown)
    got = cluster.call("ControllerGetVolume", volume_id=volume.volume_id)
    assert got.volume.capacity_bytes == grown and not got.status.volume_condition.abnormal
    with refused("FAILED_PRECONDITION", "in use"):
        delete(cluster, volume)
    kubelet.unmount(claim, "pod")
    delete(cluster, volume)
    delete(cluster, volume)  # repeated


@pytest.fixture
def small_n1(new_cluster, directory, new_disk):
    """A cluster whose node n1 has a separate small disk."""
    (directory / "n1").mkdir()
    new_disk(128 * MIB, directory / "n1" / "pool")
    return new_cluster("n1", "n2")


def test_capacity_follows_every_change_at_once(small_n1):
    cluster = small_n1
    before = cluster.capacity("n1").available_capacity
    volume = cluster.create("pvc", ["n1"], 32 * MIB)
    after = cluster.capacity("n1").available_capacity
    assert before - after >= 32 * MIB  # the answer to the creation came after it
    expand(cluster, volume.volume_id, 64 * MIB)
    assert after - cluster.capacity("n1").available_capacity >= 32 * MIB
    delete(cluster, volume)
    until(lambda: cluster.capacity("n1").available_capacity >= before - MIB, "space is not given back")


def test_space_that_others_take_is_told(small_n1):
    before = small_n1.capacity("n1").available_capacity
    other = small_n1.nodes["n1"].pool / "of-another-program"
    other.write_bytes(bytes(20 * MIB))
    until(lambda: small_n1.capacity("n1").available_capacity <= before - 15 * MIB, "not told")
    other.unlink()
    until(lambda: small_n1.capacity("n1").available_capacity >= before - MIB, "not told")


def test_the_largest_volume_that_is_promised_can_be_made(small_n1):
    cluster = small_n1
    largest = cluster.capacity("n1").maximum_volume_size.value
    delete(cluster, cluster.create("pvc", ["n1"], largest))


def test_a_repeated_creation_finds_its_volume_wherever_it_is(cluster):
    volume = cluster.create("pvc", ["n2"])
    assert cluster.create("pvc").volume_id == volume.volume_id
    assert cluster.create("pvc", ["n1", "n2"], preferred=["n1"]).volume_id == volume.volume_id
    cluster.controller.server.kill()
    cluster.controller.start()
    cluster.wait_for("n1", "n2")
    assert cluster.create("pvc").volume_id == volume.volume_id
    with refused("ALREADY_EXISTS"):
        cluster.create("pvc", size=2 * SIZES["ext4"])
    delete(cluster, volume)
    other = cluster.create("pvc", ["n1"])
    assert node_of(other) == "n1"
    delete(cluster, other)


def test_the_preferred_node_comes_first(cluster):
    for node in ("n1", "n2"):
        volume = cluster.create(f"at-{node}", ["n1", "n2"], preferred=[node, "n1", "n2"])
        assert node_of(volume) == node
        delete(cluster, volume)


def test_nodes_of_several_segments(new_cluster):
    """Kubernetes names all segments of a node; its files are on it regardless of the other
    segments."""
    cluster = new_cluster("n1", "n2", node_flags=["--topology=example.com/zone=a"])

    def place(node, zone):
        return {"segments": {TOPOLOGY_KEY: node, "example.com/zone": zone}}
    for name, zone in (("told", "a"), ("relabelled", "b")):
        volume = cluster.call(
            "CreateVolume", name=name, volume_capabilities=[csi_client.capability()],
            capacity_range=csi_client.at_least(SIZES["ext4"]), parameters={"provisioning": "thin"},
            accessibility_requirements={"requisite": [place("n2", zone), place("n1", zone)],
                                        "preferred": [place("n2", zone)]}).volume
        assert [dict(found.segments) for found in volume.accessible_topology] == [
            {TOPOLOGY_KEY: "n2"}]
        delete(cluster, volume)
        assert cluster.call("GetCapacity", parameters={"provisioning": "thin"},
                            accessible_topology=place("n1", zone)).available_capacity > 0
    with refused("RESOURCE_EXHAUSTED", "no node that the request allows"):
        cluster.call("CreateVolume", name="pvc", volume_capabilities=[csi_client.capability()],
                     accessibility_requirements={"requisite": [
                         {"segments": {"example.com/zone": "a"}}]})


def test_a_node_without_room_is_passed_over(small_n1):
    cluster = small_n1
    volume = cluster.create("pvc", ["n1", "n2"], 256 * MIB, preferred=["n1"])
    assert node_of(volume) == "n2"
    with refused("RESOURCE_EXHAUSTED", "1 without room"):
        cluster.create("other", ["n1"], 256 * MIB)
    free = cluster.create("free", size=16 * MIB)
    assert node_of(free) == "n2"  # where most space is
    delete(cluster, volume, free)


def test_pages_go_through_all_nodes(cluster):
    made = {cluster.create(f"pvc-{i}", [f"n{1 + i % 2}"], access="block", size=16 * MIB).volume_id
            for i in range(7)}
    for size in (0, 1, 2, 3, 7, 100):
        found, token = [], ""
        while True:
            page = cluster.call("ListVolumes", max_entries=size, starting_token=token)
            found += [entry.volume.volume_id for entry in page.entries]
            assert size == 0 or len(page.entries) <= size
            token = page.next_token
            if not token:
                break
        assert (len(found), set(found)) == (7, made)
    with refused("ABORTED", "starting_token"):
        cluster.call("ListVolumes", starting_token="made up")
    for volume in made:
        cluster.call("DeleteVolume", volume_id=volume)


def test_errors_of_the_node_are_the_callers(cluster):
    with refused("INVALID_ARGUMENT", "unknown parameter 'colour'"):
        cluster.call("CreateVolume", name="pvc", volume_capabilities=[csi_client.capability()],
                     parameters={"colour": "red"})
    with refused("INVALID_ARGUMENT", "'--help' is not an allowed option"):
        cluster.call("CreateVolume", name="pvc", volume_capabilities=[csi_client.capability()],
                     parameters={"mkfsOptions": "--help"})
    with refused("NOT_FOUND"):
        cluster.call("ControllerGetVolume", volume_id="nonsense")
    cluster.call("DeleteVolume", volume_id="nonsense")
    unmade = f"default:n1:{'0' * 8}-0000-0000-0000-{'0' * 12}"
    with refused("NOT_FOUND"):
        expand(cluster, unmade, MIB)
    cluster.call("DeleteVolume", volume_id=unmade)


@pytest.mark.parametrize("timeout", [0.05, 0.3])
def test_a_creation_whose_answer_was_lost_is_not_made_twice(cluster, timeout):
    node = cluster.nodes["n1"]
    node.server.process.send_signal(19)  # SIGSTOP: it is there and does not answer
    try:
        with pytest.raises(grpc.RpcError):
            cluster.create("pvc", ["n1"], timeout=timeout)
    finally:
        node.server.process.send_signal(18)
    volumes = set()

    def made():
        try:
            volumes.add(cluster.create("pvc").volume_id)  # free to use any node
            return True
        except grpc.RpcError as error:
            assert csi_client.code_of(error) in csi_client.MAYBE_RUNNING, error
            return False

    until(made, "the creation never ends")
    assert volumes == {entry.volume.volume_id for entry in cluster.call("ListVolumes").entries}
    assert ":n1:" in volumes.copy().pop()
    cluster.call("DeleteVolume", volume_id=volumes.pop())
