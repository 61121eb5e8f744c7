# SPDX-License-Identifier: Apache-2.0
"""One cluster with a Ceph and a node that has rbd; after each test nothing of it may be left."""

import json
import os
import pathlib
import time

import pytest

import ceph_cluster
import ceph_users
import diagnosis
import guest_node
import session
import workloads as workloads_module
from cluster import network
from cluster.processes import until
from installation import NAMESPACE, VALUES, Installation, is_ready

SUITE = pathlib.Path(__file__).resolve().parent
INSTALLED_SECONDS = 300
SETTLE_SECONDS = 60
CLUSTERS = []  # the one of the session, for the report of a failure
FIGURES = []  # (what, seconds)


class Timed:
    """Notes how long its block takes."""

    def __init__(self, what):
        self.what = what

    def __enter__(self):
        self.start = time.monotonic()

    def __exit__(self, kind, *unused):
        if kind is None:
            FIGURES.append((self.what, time.monotonic() - self.start))


class RbdInstallation(Installation):
    """The chart on all nodes; there is one more than the cluster has made."""

    def __init__(self, cluster, values, nodes):
        super().__init__(cluster, values)
        self.nodes = nodes

    def wait_until_ready(self):
        until(self.is_ready, lambda: "the driver is not ready:\n" + diagnosis.report(self.cluster),
              INSTALLED_SECONDS, 0.5)

    def is_ready(self):
        pods = self.pods("controller") + self.pods("node")
        return (len(pods) == 1 + len(self.nodes) and all(map(is_ready, pods))
                and all(map(self.is_registered, self.nodes)))


@pytest.fixture(scope="session")
def cluster():
    made = session.new_cluster(pathlib.Path(os.environ["HOLDFAST_E2E_DIRECTORY"]), nodes=1)
    CLUSTERS.append(made)
    try:
        yield made.start([os.environ["HOLDFAST_E2E_IMAGE"]])
    finally:
        made.stop()


@pytest.fixture(scope="session")
def ceph(cluster):
    daemons = ceph_cluster.CephDaemons(cluster.directory / "ceph", address=network.CONTROL_PLANE)
    try:
        daemons.start()
        for side in ceph_users.SIDES:
            daemons.make_user(f"holdfast-{side}", *ceph_users.caps(side, ceph_cluster.POOL))
        yield daemons
    finally:
        daemons.stop()


@pytest.fixture(scope="session")
def guest(cluster, ceph):  # Ceph first: its start is short, and slow beside the guest's
    node = guest_node.GuestNode(2, cluster, guest_node.kernel())
    try:
        with Timed("the node in the virtual machine boots and is Ready"):
            images = cluster.directory / "images"
            node.start([images / "pause.tar", images / "busybox.tar",
                        os.environ["HOLDFAST_E2E_IMAGE"]])
            node.wait_until_ready()
        yield node
    finally:
        node.cut_power()


@pytest.fixture(scope="session")
def installation(cluster, ceph, guest):
    """By the chart, with a Secret for each side, as docs/ceph.md has it."""
    cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "privileged"}}})
    for side in ceph_users.SIDES:
        key = ceph.ceph("auth", "get-key", f"client.holdfast-{side}", plain=True).strip()
        cluster.api.create({"apiVersion": "v1", "kind": "Secret", "stringData": {"userKey": key},
                            "metadata": {"name": f"ceph-{side}", "namespace": NAMESPACE}})
    found = cluster.directory / "found.json"
    made = RbdInstallation(cluster, [VALUES, SUITE / "values.yaml", found],
                           [*cluster.nodes, guest.name])
    found.write_text(json.dumps({"pools": [{
        "name": "ceph", "rbd": ceph_cluster.POOL, "monitors": [ceph.monitors],
        **{side: {"user": f"holdfast-{side}", "secret": f"ceph-{side}"}
           for side in ceph_users.SIDES}}]}))
    with Timed("the chart is installed and registered on both nodes"):
        made.install()
    return made


@pytest.fixture
def workloads(cluster, ceph, guest, installation):
    made = workloads_module.Workloads(cluster)
    yield made
    problems = made.clean() + left(cluster, ceph)
    assert not problems, "\n".join([*problems, diagnosis.report(cluster), guest.tail()])


def left(cluster, ceph):
    """Returns what deleted volumes left in the API and in Ceph, after it had time to go."""
    found = []

    def is_clean():
        found[:] = [f"PersistentVolume left: {volume['metadata']['name']}"
                    for volume in cluster.api.list("PersistentVolume")]
        found.extend(f"image left: {image}" for image in ceph.images())
        return not found
    try:
        until(is_clean, "", SETTLE_SECONDS)
    except AssertionError:
        pass
    return found


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed and CLUSTERS:
        report.sections.append(("the cluster", diagnosis.report(CLUSTERS[0])))


def pytest_terminal_summary(terminalreporter):
    for what, seconds in FIGURES:
        terminalreporter.write_line(f"{seconds:7.1f} s  {what}")
