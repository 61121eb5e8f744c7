# SPDX-License-Identifier: Apache-2.0
"""One cluster with a Ceph and a node that has rbd; each test must leave nothing behind in it."""

import json
import os
import pathlib
import time

import pytest

import ceph_cluster
import ceph_users
import diagnosis
import guest_node
import leaks
import session
import workloads as workloads_module
from cluster import network
from cluster.processes import until
from installation import CONTAINER, NAMESPACE, VALUES, Installation, is_ready
from workloads import DRIVER

SUITE = pathlib.Path(__file__).resolve().parent
INSTALLED_SECONDS = 300
SETTLE_SECONDS = 60
TEAM = "team"  # a pool in a Ceph namespace, and the namespace of the Secrets of its users
TEAM_POOL = f"{ceph_cluster.POOL}/{TEAM}"
ZONE = "topology.kubernetes.io/zone"
ELSEWHERE, IN_REACH = "zone-a", "zone-b"  # where the first node is, and the one in the machine
ZONE_POOL = f"{ceph_cluster.POOL}/zone"  # that only the latter reaches
RACK, RACK_POOL = "example.com/rack", f"{ceph_cluster.POOL}/rack"  # the same; pods know no racks
POOLS = (ceph_cluster.POOL, TEAM_POOL, ZONE_POOL, RACK_POOL)
CLUSTERS = []  # the one of the session, for the report of a failure
FIGURES = []  # (what, seconds)


class Timed:
    """Records how long its block takes."""

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
        self.attaches = False

    def set_attaching(self, attaches):
        """As docs/ceph.md has it. No volume may be in use."""
        self.attaches = attaches
        self.api.delete("CSIDriver", DRIVER)
        self.install(attachRequired=attaches)

    def wait_until_ready(self):
        until(self.is_ready, lambda: "the driver is not ready:\n" + diagnosis.report(self.cluster),
              INSTALLED_SECONDS, 0.5)

    def is_ready(self):
        pods = self.pods("controller") + self.pods("node")
        return (len(pods) == 1 + len(self.nodes) and all(map(is_ready, pods))
                and all(("--attach" in driver_flags(pod)) == self.attaches for pod in pods)
                and all(map(self.is_registered, self.nodes)))


def driver_flags(pod):
    return next(container["args"] for container in pod["spec"]["containers"]
                if container["name"] == CONTAINER)


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
        for pool in (TEAM_POOL, ZONE_POOL, RACK_POOL):
            daemons.rbd("namespace", "create", pool)
        for side in ceph_users.SIDES:
            daemons.make_user(f"holdfast-{side}", *ceph_users.caps(side, ceph_cluster.POOL))
            daemons.make_user(f"{TEAM}-{side}", *ceph_users.caps(side, ceph_cluster.POOL, TEAM))
        yield daemons
    finally:
        daemons.stop()


@pytest.fixture(scope="session")
def guest(cluster, ceph):  # Ceph first: its start is short, but slow while the guest runs
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


def key_of(ceph, user):
    return ceph.ceph("auth", "get-key", f"client.{user}", plain=True).strip()


def make_secret(cluster, namespace, name, **content):
    cluster.api.create({"apiVersion": "v1", "kind": "Secret", "stringData": content,
                        "metadata": {"name": name, "namespace": namespace}})


@pytest.fixture(scope="session")
def installation(cluster, ceph, guest):
    """By the chart, with Secrets as docs/ceph.md has them: of the pool, and of the team's class."""
    cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "privileged"}}})
    cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}})
    for name in cluster.nodes:
        cluster.api.patch("Node", name, {"metadata": {"labels": {ZONE: ELSEWHERE, RACK: "1"}}})
    cluster.api.patch("Node", guest.name, {"metadata": {"labels": {ZONE: IN_REACH, RACK: "7"}}})
    for side in ceph_users.SIDES:
        make_secret(cluster, NAMESPACE, f"ceph-{side}", userKey=key_of(ceph, f"holdfast-{side}"))
        make_secret(cluster, TEAM, f"ceph-{side}", userID=f"{TEAM}-{side}",
                    userKey=key_of(ceph, f"{TEAM}-{side}"))
    found = cluster.directory / "found.json"
    made = RbdInstallation(cluster, [VALUES, SUITE / "values.yaml", found],
                           [*cluster.nodes, guest.name])
    users = {side: {"user": f"holdfast-{side}", "secret": f"ceph-{side}"}
             for side in ceph_users.SIDES}
    found.write_text(json.dumps({"pools": [
        {"name": "ceph", "rbd": ceph_cluster.POOL, "monitors": [ceph.monitors], **users},
        {"name": TEAM, "rbd": TEAM_POOL, "monitors": [ceph.monitors]},
        {"name": "zone", "rbd": ZONE_POOL, "monitors": [ceph.monitors], **users,
         "topology": {ZONE: IN_REACH}},
        {"name": "rack", "rbd": RACK_POOL, "monitors": [ceph.monitors], **users,
         "topology": {RACK: "7"}}]}))
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
    """Returns what deleted volumes left in the API and in Ceph, after waiting for it to
    disappear."""
    def find():
        return [*leaks.volumes(cluster.api),
                *(f"VolumeAttachment left: {attachment['metadata']['name']}"
                  for attachment in cluster.api.list("VolumeAttachment")),
                *(f"image left: {image}" for pool in POOLS
                  for image in ceph.images(pool))]
    return leaks.lasting(find, SETTLE_SECONDS)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed and CLUSTERS:
        report.sections.append(("the cluster", diagnosis.report(CLUSTERS[0])))


def pytest_terminal_summary(terminalreporter):
    for what, seconds in FIGURES:
        terminalreporter.write_line(f"{seconds:7.1f} s  {what}")
