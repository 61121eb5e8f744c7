# SPDX-License-Identifier: Apache-2.0
"""The cluster that tests/ceph/run has started, users of it, and drivers on it."""

import os
import signal

import pytest

import ceph_cluster
import cluster as cluster_module
import driver_fixtures
import link_files
import rbd_driver
from cluster import until
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
    assert not problems, "\n".join([*problems, *(driver.log()[-8000:] for driver in drivers)])
    # The cluster frees the data of snapshots some time after they were removed.
    until(lambda: not rbd_driver.residue(ceph), "the Ceph is not as before")


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


@pytest.fixture
def linked(directory, ceph):  # noqa: F811
    """A controller with a pool in Ceph, and nodes with that and a file pool, which are started when
    asked for."""
    authority = link_files.Authority(directory / "ca")
    pool = (f"ceph=rbd:rbd,monitors={ceph.monitors},user=holdfast,"
            f"keyring={ceph.directory}/holdfast.keyring")
    controller = cluster_module.Controller(
        driver_fixtures.binary(), directory / "controller",
        authority.issue("controller", directory / "controller-tls"), [f"--pool={pool}"])
    nodes = {}
    for name in ("n1", "n2"):
        (directory / name).mkdir()
        nodes[name] = cluster_module.Node(driver_fixtures.binary(), directory / name, name,
                                          controller.port,
                                          authority.issue(name, directory / f"{name}-tls"), "",
                                          [f"--pool={pool}"])
    made = cluster_module.Cluster(directory, authority, controller.start(), nodes)
    yield made
    problems = []
    for node in nodes.values():
        if node.server.process:
            problems += [node.server.stop(), *node.leftovers()]
    problems.append(controller.server.stop())
    assert not list(filter(None, problems)), controller.log()[-6000:]
    until(lambda: not rbd_driver.residue(ceph), "the Ceph is not as before")
