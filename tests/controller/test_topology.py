# SPDX-License-Identifier: Apache-2.0
"""The permitted topology of a volume, and its actual topology."""

import pytest

import csi_client
import driver_fixtures
from csi_client import refused
from driver import MIB, Driver

TOPOLOGY = {"topology.csi.holdfast.dev/node": "test-node"}


def test_topology(driver):
    volume = driver.create("pv")
    assert [dict(place.segments) for place in volume.accessible_topology] == [TOPOLOGY]
    info = driver.call("NodeGetInfo")
    assert (info.node_id, dict(info.accessible_topology.segments)) == ("test-node", TOPOLOGY)
    with refused("RESOURCE_EXHAUSTED", "test-node"):
        driver.call("CreateVolume", name="elsewhere",
                    volume_capabilities=[csi_client.capability()],
                    accessibility_requirements={"requisite": [
                        {"segments": {"topology.csi.holdfast.dev/node": "another"}}]})


@pytest.fixture
def flagged(directory, request):
    """A driver with the flags in the test's parameter."""
    made = Driver(driver_fixtures.binary(), directory)
    made.server.command += request.param
    yield made.start()
    assert not driver_fixtures.end(made)


@pytest.mark.parametrize("flagged, own", [
    ([], {}), (["--topology=example.com/zone=a", "--topology=rack="], {"example.com/zone": "a"})],
    ids=["a stranger's label", "the node's own"], indirect=["flagged"])
def test_a_node_of_several_segments(flagged, own):
    """Kubernetes names all segments of a node; its files are on it regardless of the other
    segments."""
    told = flagged.call("NodeGetInfo").accessible_topology.segments
    assert dict(told) == {**TOPOLOGY, **own}
    here, elsewhere = ({"segments": {**TOPOLOGY, "example.com/zone": "a", **other}}
                       for other in ({}, {"topology.csi.holdfast.dev/node": "another"}))

    def make(name, place):
        return flagged.call("CreateVolume", name=name, parameters={"provisioning": "thin"},
                            volume_capabilities=[csi_client.capability()],
                            capacity_range=csi_client.at_least(64 * MIB),
                            accessibility_requirements={"requisite": [place],
                                                        "preferred": [place]})
    volume = make("pv", here).volume
    assert [dict(place.segments) for place in volume.accessible_topology] == [TOPOLOGY]
    with refused("RESOURCE_EXHAUSTED", "test-node"):
        make("elsewhere", elsewhere)
    assert flagged.call("GetCapacity", accessible_topology=here).available_capacity > 0
    assert flagged.call("GetCapacity", accessible_topology=elsewhere).available_capacity == 0


def test_a_requirement_that_names_thousands_of_nodes(driver):
    terms = [{"segments": {"topology.csi.holdfast.dev/node": f"node-{number}"}}
             for number in range(5000)] + [{"segments": TOPOLOGY}]
    volume = driver.call("CreateVolume", name="pv", volume_capabilities=[csi_client.capability()],
                         capacity_range=csi_client.at_least(64 * MIB),
                         parameters={"provisioning": "thin"},
                         accessibility_requirements={"requisite": terms, "preferred": terms})
    assert dict(volume.volume.accessible_topology[0].segments) == TOPOLOGY
