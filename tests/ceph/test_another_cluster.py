# SPDX-License-Identifier: Apache-2.0
"""A pool whose name or monitors lead to another place than before, and a driver that has no record
of it, such as a controller's pod: volumes must never seem to be deleted."""

import pytest

import csi_client
import driver as driver_module
from csi_client import refused
from rbd_driver import never_made

MIB = driver_module.MIB
ELSEWHERE = "made in another Ceph cluster, pool or name space"


@pytest.fixture
def forgetful(new_driver, ceph):
    """Starts a driver with an empty state directory, of a user of all pools."""
    started = []
    ceph.make_user("wide", ("mon", "profile rbd"), ("osd", "profile rbd"))

    def start(location="rbd"):
        for driver in started:
            driver.server.stop()
        started.append(new_driver(f"driver-{len(started)}", user="wide", location=location,
                                  flags=("--attach",)))
        return started[-1]
    yield start


@pytest.fixture(params=["another pool", "a name space", "the pool made anew"])
def elsewhere(request, ceph, forgetful):
    """A volume, and a driver for which the pool's name leads somewhere else."""
    ceph.make_pool("place")
    home = forgetful("place")
    volume_id = home.create("pvc-1", size=64 * MIB).volume_id
    if request.param == "another pool":
        yield volume_id, forgetful("rbd")
    if request.param == "a name space":
        ceph.rbd("namespace", "create", "place/inner")
        yield volume_id, forgetful("place/inner")
    if request.param == "the pool made anew":
        remove_pool(ceph)
        ceph.make_pool("place")
        yield volume_id, forgetful("place")
    remove_pool(ceph)


def remove_pool(ceph):
    ceph.ceph("osd", "pool", "delete", "place", "place", "--yes-i-really-really-mean-it")


@pytest.mark.slice
def test_nothing_is_told_to_be_gone(elsewhere):
    volume_id, driver = elsewhere
    for call in (
            lambda: driver.delete(volume_id),
            lambda: driver.call("ControllerGetVolume", volume_id=volume_id),
            lambda: driver.call("ControllerExpandVolume", volume_id=volume_id,
                                capacity_range=csi_client.at_least(96 * MIB)),
            lambda: driver.call("ControllerUnpublishVolume", volume_id=volume_id, node_id="n1"),
            lambda: driver.call("ValidateVolumeCapabilities", volume_id=volume_id,
                                volume_capabilities=[csi_client.capability("mount", "ext4")])):
        with refused("FAILED_PRECONDITION", ELSEWHERE):
            call()


@pytest.mark.slice
def test_a_forgetful_controller_of_the_same_pool(forgetful, ceph):
    volume_id = forgetful().create("pvc-1", size=64 * MIB).volume_id
    driver = forgetful()
    assert driver.create("pvc-1", size=64 * MIB).volume_id == volume_id
    driver.delete(never_made(volume_id))
    with refused("NOT_FOUND"):
        driver.call("ControllerGetVolume", volume_id=never_made(volume_id))
    driver.delete(volume_id)
    driver.delete(volume_id)
