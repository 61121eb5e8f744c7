# SPDX-License-Identifier: Apache-2.0
"""The cluster that tests/ceph/run has started, users of it, and drivers on it."""

import os
import signal

import pytest

import ceph_cluster
import driver_fixtures
import rbd_driver
from driver_fixtures import directory  # noqa: F401

USER = "holdfast"
# The caps that docs/ceph.md asks operators to grant.
CAPS = (("mon", "profile rbd"), ("osd", "profile rbd pool=rbd"))


def pytest_configure(config):
    config.addinivalue_line("markers", "slice: one of each kind, for every run of all suites")


@pytest.fixture(scope="session")
def ceph():
    cluster = ceph_cluster.Ceph(os.environ["HOLDFAST_CEPH"])
    cluster.make_user(USER, *CAPS)
    return cluster


@pytest.fixture
def new_driver(directory, ceph):  # noqa: F811
    """Starts drivers. Afterwards each must delete its volumes, and the Ceph must be as before."""
    drivers = []

    def start(name="driver", user=USER, **options):
        drivers.append(rbd_driver.RbdDriver(driver_fixtures.binary(), directory / name, ceph, user,
                                            **options))
        return drivers[-1].start()

    yield start
    for daemon in ("osd.0", "mon.a"):
        ceph.signal(daemon, signal.SIGCONT)
    problems = [problem for driver in drivers for problem in driver_fixtures.end(driver)]
    left = rbd_driver.residue(ceph)
    assert not problems, "\n".join([*problems, *(driver.log()[-8000:] for driver in drivers)])
    assert not left


@pytest.fixture
def driver(new_driver):
    return new_driver()


@pytest.fixture
def image_watch(ceph):
    """Opens an image as a client on another machine would; returns a function that closes it."""
    watches = []

    def start(image):
        watch = ceph.watch(image)
        watches.append(watch)
        return lambda: end(watch)

    def end(watch):
        if watch.poll() is None:
            watch.communicate(b"\n")  # the end that it waits for, so that its watch ends too

    yield start
    for watch in watches:
        end(watch)
