# SPDX-License-Identifier: Apache-2.0
"""Volumes that several nodes use: the access modes, and the controller's view of the nodes that the
cluster records. tests/ceph/guest tests what the nodes do with them."""

import pytest

import csi_client
import driver as driver_module
from csi_client import capability, refused
from rbd_driver import (change_nodes, holder, image_of, journal, nodes_key, record_nodes,
                        unrecord_nodes)
from test_faults import until_it_works

MIB = driver_module.MIB
READERS, MANY, ONE_OF_MANY = ("MULTI_NODE_READER_ONLY", "MULTI_NODE_MULTI_WRITER",
                              "MULTI_NODE_SINGLE_WRITER")
REFUSED = [("mount", MANY), ("mount", ONE_OF_MANY)]
SERVED = [("mount", READERS), ("block", READERS), ("block", MANY), ("block", ONE_OF_MANY)]


def create(driver, access, mode, name="pvc"):
    return driver.call("CreateVolume", name=name, capacity_range=csi_client.at_least(64 * MIB),
                       volume_capabilities=[capability(access, mode=mode)],
                       parameters={"provisioning": "thin"}).volume


def stage(driver, volume, access, mode):
    path = driver.directory / "staging"
    path.mkdir(exist_ok=True)
    driver.call("NodeStageVolume", volume_id=volume.volume_id, staging_target_path=str(path),
                volume_capability=capability(access, mode=mode))


@pytest.mark.slice
@pytest.mark.parametrize("access, mode", SERVED)
def test_modes_of_several_nodes(access, mode, driver):
    volume = create(driver, access, mode)
    answer = driver.call("ValidateVolumeCapabilities", volume_id=volume.volume_id,
                         volume_capabilities=[capability(access, mode=mode)])
    assert answer.confirmed.volume_capabilities and not answer.message
    parameters = {"provisioning": "thin"}
    # The cluster needs some seconds before it has statistics.
    room = until_it_works(lambda: driver.call(
        "GetCapacity", volume_capabilities=[capability(access, mode=mode)], parameters=parameters))
    assert room.available_capacity > 0
    driver.delete(volume.volume_id)


@pytest.mark.slice
@pytest.mark.parametrize("access, mode", REFUSED)
def test_no_two_nodes_write_a_filesystem(access, mode, driver):
    """Every call says the same."""
    why = f"volume_capability.access_mode {mode} of a filesystem.*use raw block"
    with refused("INVALID_ARGUMENT", why):
        create(driver, access, mode)
    volume = driver.create("pvc", size=64 * MIB)
    with refused("INVALID_ARGUMENT", why):
        stage(driver, volume, access, mode)
    with refused("INVALID_ARGUMENT", why):
        driver.call("ControllerExpandVolume", volume_id=volume.volume_id,
                    capacity_range=csi_client.at_least(96 * MIB),
                    volume_capability=capability(access, mode=mode))
    answer = driver.call("ValidateVolumeCapabilities", volume_id=volume.volume_id,
                         volume_capabilities=[capability(access, mode=mode)])
    assert not answer.confirmed.volume_capabilities and "use raw block" in answer.message
    assert driver.call("GetCapacity", volume_capabilities=[capability(access, mode=mode)],
                       parameters={"provisioning": "thin"}).available_capacity == 0


@pytest.mark.slice
def test_readers_do_not_format(driver):
    volume = create(driver, "mount", READERS)
    with refused("FAILED_PRECONDITION", "never formatted, and readers do not format"):
        stage(driver, volume, "mount", READERS)


def test_growth_of_what_is_read_raw_is_for_the_nodes_to_see(driver):
    """A read-only kernel client is not notified."""
    for mode, told in ((READERS, True), (MANY, False)):
        volume = create(driver, "block", mode, name=mode)
        grown = driver.call("ControllerExpandVolume", volume_id=volume.volume_id,
                            capacity_range=csi_client.at_least(96 * MIB),
                            volume_capability=capability("block", mode=mode))
        assert grown.node_expansion_required == told


@pytest.mark.slice
def test_what_a_reader_has_is_not_deleted(driver, ceph):
    """Its client has no watch, so the record is all there is; and the blocklist, by which an
    operator says that the client is gone."""
    volume = create(driver, "mount", READERS)
    address = "10.9.8.7:0/4711"
    record_nodes(ceph, volume.volume_id, holder("far-1", "10.9.8.6:0/12", "readers"),
                 holder("far-2", address, "readers"))
    with refused("FAILED_PRECONDITION", "in use on node 'far-1'.*blocklist add 10.9.8.6:0/12"):
        driver.delete(volume.volume_id)
    ceph.ceph("osd", "blocklist", "add", "10.9.8.6:0/12")
    with refused("FAILED_PRECONDITION", "in use on node 'far-2'"):
        driver.delete(volume.volume_id)
    ceph.ceph("osd", "blocklist", "add", address)
    driver.delete(volume.volume_id)
    assert journal(ceph) == {} and ceph.images() == []


def test_which_writer_has_it_is_named(driver, ceph, image_watch):
    volume = create(driver, "block", MANY)
    end_watch = image_watch(image_of(ceph, volume.volume_id))
    address = ceph.watchers(image_of(ceph, volume.volume_id))[0]
    record_nodes(ceph, volume.volume_id, holder("gone", "10.9.8.6:0/12", "writers"),
                 holder("there", address, "writers"))
    with refused("FAILED_PRECONDITION", "in use on node 'there'"):
        driver.delete(volume.volume_id)
    assert address not in ceph.ceph("osd", "blocklist", "ls")
    end_watch()
    driver.delete(volume.volume_id)
    fenced = ceph.ceph("osd", "blocklist", "ls")
    assert "10.9.8.6:0/12" in fenced and address in fenced, "what they had under way ends first"


@pytest.mark.slice
def test_a_record_of_two_writers_is_believed_in_nothing(driver, ceph):
    volume = driver.create("pvc", size=64 * MIB)
    record_nodes(ceph, volume.volume_id, holder("a", "10.9.8.6:0/12"), holder("b", "10.9.8.7:0/3"))
    with refused("INTERNAL", "nodes 'a' and 'b' cannot both have it"):
        stage(driver, volume, "mount", "SINGLE_NODE_WRITER")
    with refused("INTERNAL", "cannot both have it"):
        driver.delete(volume.volume_id)
    assert len(ceph.images()) == 1
    unrecord_nodes(ceph, volume.volume_id)


def test_a_damaged_record_of_nodes(driver, ceph):
    volume = driver.create("pvc", size=64 * MIB)
    change_nodes(ceph, volume.volume_id, "{}")
    with refused("INTERNAL", "damaged"):
        driver.delete(volume.volume_id)
    assert nodes_key(volume.volume_id) in journal(ceph)
    unrecord_nodes(ceph, volume.volume_id)
