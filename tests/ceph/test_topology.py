# SPDX-License-Identifier: Apache-2.0
"""A pool that only nodes with a label reach: placement, reported topology and capacity of its
volumes."""

import pytest

import csi_client
from cluster import until
from csi_client import refused
from driver import MIB
from rbd_driver import residue

ZONE = "topology.kubernetes.io/zone"
NODE = "topology.csi.holdfast.dev/node"
THIN = {"provisioning": "thin"}


def place(**segments):
    return {"segments": {{"zone": ZONE, "node": NODE}[key]: value
                         for key, value in segments.items()}}


def create(driver, name, *requisite, **parameters):
    return driver.call("CreateVolume", name=name, capacity_range=csi_client.at_least(64 * MIB),
                       volume_capabilities=[csi_client.capability("mount", "ext4")],
                       parameters={**THIN, **parameters},
                       accessibility_requirements={"requisite": requisite, "preferred": requisite}
                       if requisite else None).volume


def reached_from(volume):
    return [dict(topology.segments) for topology in volume.accessible_topology]


@pytest.fixture
def zoned(new_driver):
    return new_driver(topology=f"{ZONE}=a", flags=[f"--topology={ZONE}=a"])


@pytest.mark.slice
def test_its_volumes_are_told_to_be_there(zoned):
    volume = create(zoned, "pvc-1")
    assert reached_from(volume) == [{ZONE: "a"}]
    assert zoned.call("ControllerGetVolume", volume_id=volume.volume_id).volume == volume
    [entry] = zoned.call("ListVolumes").entries
    assert entry.volume == volume
    told = zoned.call("NodeGetInfo").accessible_topology
    assert dict(told.segments) == {NODE: "test-node", ZONE: "a"}


# As csi-provisioner makes them: of the chosen node, of every node, of allowedTopologies.
@pytest.mark.parametrize("requisite", [
    [place(node="n1", zone="a")],
    [place(node="n2", zone="b"), place(node="n1", zone="a")],
    [place(zone="a")]], ids=["a node", "all nodes", "a class's"])
def test_a_volume_that_is_wanted_where_the_pool_is_reached(zoned, requisite):
    volume = create(zoned, "pvc-1", *requisite)
    assert reached_from(volume) == [{ZONE: "a"}]
    assert create(zoned, "pvc-1", *requisite) == volume


@pytest.mark.slice
@pytest.mark.parametrize("requisite", [
    [place(node="n2", zone="b")],
    [place(node="n2", zone="b"), place(node="n3", zone="c")],
    [place(node="n1")],
    [place(zone="b")]], ids=["a node", "all nodes", "a node without the label", "a class's"])
def test_a_volume_that_is_wanted_elsewhere(zoned, ceph, requisite):
    with refused("RESOURCE_EXHAUSTED", f"none of the requisite.*{ZONE}=a.*'ceph'"):
        create(zoned, "pvc-1", *requisite)
    assert residue(ceph) == []


@pytest.mark.slice
def test_capacity_is_where_the_pool_is_reached(zoned, ceph):
    until(lambda: ceph.available_bytes() > 0, "the manager gathers no statistics", 120)

    def available(where=None):
        return zoned.call("GetCapacity", parameters=THIN,
                          accessible_topology=where).available_capacity
    assert available() == available(place(node="n1", zone="a")) > 0
    assert available(place(node="n2", zone="b")) == available(place(node="n1")) == 0


def test_two_pools_in_two_zones_and_one_that_all_nodes_reach(new_driver, ceph):
    access = f"monitors={ceph.monitors},user=holdfast,keyring={ceph.directory}/holdfast.keyring"
    ceph.rbd("namespace", "create", "rbd/b")
    ceph.rbd("namespace", "create", "rbd/all")
    driver = new_driver(topology=f"{ZONE}=a", pools=[
        f"b=rbd:rbd/b,topology={ZONE}=b,{access}", f"all=rbd:rbd/all,{access}"])
    in_b, in_a = place(node="n2", zone="b"), place(node="n1", zone="a")
    volumes = [create(driver, "pvc-a", in_a), create(driver, "pvc-b", in_b, pool="b"),
               create(driver, "pvc-all", in_b, pool="all")]
    assert [reached_from(volume) for volume in volumes] == [[{ZONE: "a"}], [{ZONE: "b"}], []]
    listed = {entry.volume.volume_id: entry.volume for entry in driver.call("ListVolumes").entries}
    assert [listed[volume.volume_id] for volume in volumes] == volumes
    with refused("RESOURCE_EXHAUSTED", "'b'"):
        create(driver, "pvc-c", in_a, pool="b")
    for volume in volumes:
        driver.delete(volume.volume_id)
    for namespace in ("b", "all"):
        assert residue(ceph, namespace) == []
        ceph.rbd("namespace", "remove", f"rbd/{namespace}")
