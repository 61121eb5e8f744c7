# SPDX-License-Identifier: Apache-2.0
"""A controller that has a pool in Ceph itself and file pools through its nodes."""

import pytest

import cluster as cluster_module
import csi_client
import driver as driver_module
from csi_client import refused
from rbd_driver import image_of

MIB = driver_module.MIB
THIN = {"provisioning": "thin"}


def create(cluster, name, **parameters):
    return cluster.call("CreateVolume", name=name, capacity_range=csi_client.at_least(64 * MIB),
                        volume_capabilities=[csi_client.capability("mount", "ext4")],
                        parameters={**THIN, **parameters}).volume


@pytest.mark.slice
def test_its_own_volumes_need_no_node(linked, ceph):
    volume = create(linked, "pvc-1", pool="ceph")
    assert not volume.accessible_topology and ceph.images() == [image_of(ceph, volume.volume_id)]
    grown = linked.call("ControllerExpandVolume", volume_id=volume.volume_id,
                        capacity_range=csi_client.at_least(80 * MIB))
    assert grown.capacity_bytes == 80 * MIB
    found = linked.call("ControllerGetVolume", volume_id=volume.volume_id)
    assert found.volume.volume_id == volume.volume_id
    confirmed = linked.call(
        "ValidateVolumeCapabilities", volume_id=volume.volume_id,
        volume_capabilities=[csi_client.capability("mount", "ext4")]).confirmed
    assert confirmed.volume_capabilities
    linked.call("DeleteVolume", volume_id=volume.volume_id)


def test_both_kinds_beside_each_other(linked, ceph):
    linked.nodes["n1"].start()
    linked.wait_for("n1")
    shared = [create(linked, f"shared-{number}", pool="ceph") for number in range(3)]
    local = [create(linked, f"local-{number}") for number in range(3)]
    assert [cluster_module.node_of(volume) for volume in local] == ["n1"] * 3
    for size in (0, 1, 2, 3, 4, 7):
        seen, token = [], ""
        while True:
            page = linked.call("ListVolumes", max_entries=size, starting_token=token)
            seen += [entry.volume.volume_id for entry in page.entries]
            token = page.next_token
            if not token:
                break
        assert sorted(seen) == sorted(volume.volume_id for volume in shared + local), size
    # Wherever a pod is, the free space is the Ceph pool's.
    everywhere = linked.call("GetCapacity", parameters={**THIN, "pool": "ceph"})
    there = linked.call("GetCapacity", parameters={**THIN, "pool": "ceph"},
                        accessible_topology=cluster_module.segment("n1"))
    assert everywhere == there and there.available_capacity > 0
    # The node knows them too, but they are not its own.
    node = linked.nodes["n1"]
    assert node.call("Probe").ready.value
    for volume in shared + local:
        linked.call("DeleteVolume", volume_id=volume.volume_id)


def test_an_id_of_a_pool_that_is_not_there_may_exist(linked):
    with refused("UNAVAILABLE", "not configured here"):
        linked.call("DeleteVolume",
                    volume_id="gone::0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001")


def test_a_name_is_one_volume_in_ceph_and_on_nodes(linked):
    linked.nodes["n1"].start()
    linked.wait_for("n1")
    for first, other in (({"pool": "ceph"}, {}), ({}, {"pool": "ceph"})):
        volume = create(linked, "same", **first)
        with refused("ALREADY_EXISTS", "'same'"):
            create(linked, "same", **other)
        assert create(linked, "same", **first).volume_id == volume.volume_id
        linked.call("DeleteVolume", volume_id=volume.volume_id)
