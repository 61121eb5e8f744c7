# SPDX-License-Identifier: Apache-2.0
"""The power of a whole Ceph is cut: of a driver that meets it before its object store is back, and
of one that lived through the cut, neither needs a restart."""

import pytest

import ceph_cluster
from conftest import CAPS, USER
from csi_client import refused
from rbd_driver import residue
from test_faults import until_it_works

MIB = 1 << 20


@pytest.fixture
def ceph(directory):
    """A separate Ceph, whose store survives the cut."""
    daemons = ceph_cluster.CephDaemons(directory / "ceph", watch_timeout=5, store="bluestore")
    try:
        daemons.start(manager=False)
        daemons.make_user(USER, *CAPS)
        yield daemons
    finally:
        daemons.stop()


def test_the_store_comes_back_after_the_drivers(new_driver, ceph):
    """Until then the monitors' map says that the store is still at its old address."""
    living = new_driver("living")
    volume = living.create("pvc-1", size=64 * MIB)
    ceph.cut_power()
    ceph.launch("mon.a")
    ceph.until(lambda: ceph.try_ceph("quorum_status") is not None, "the monitor has no quorum")
    new = new_driver("new", node="new-node")
    for driver in (living, new):
        with refused("UNAVAILABLE", "did not answer in time"):
            driver.listed()
    ceph.launch("osd.0")
    for driver in (living, new):
        assert until_it_works(driver.listed) == [volume.volume_id]
    new.delete(volume.volume_id)
    assert not residue(ceph)
