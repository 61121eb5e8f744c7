# SPDX-License-Identifier: Apache-2.0
"""One cluster with the driver for the session; each test must leave nothing behind in it."""

import os
import pathlib
import signal

import pytest

import diagnosis
import leaks
import session
import workloads as workloads_module
from cluster import enclosure

CLUSTERS = []  # the one of the session, for the report of a failure


def pytest_configure(config):
    config.addinivalue_line("markers", "slice: one of each kind, for every run of all suites")


@pytest.fixture(scope="session")
def cluster():
    made = session.new_cluster(pathlib.Path(os.environ["HOLDFAST_E2E_DIRECTORY"]),
                               previous="HOLDFAST_E2E_PREVIOUS_SIDECARS" in os.environ)
    CLUSTERS.append(made)
    try:
        yield made.start([os.environ["HOLDFAST_E2E_IMAGE"]])
        if "HOLDFAST_E2E_KEEP" in os.environ:
            wait_for_interruption(made)
    finally:
        made.stop()


def wait_for_interruption(made):
    pid = enclosure.first_process(made.directory)
    print(f"\nThe cluster runs on. Enter it with\n  nsenter --target {pid} --mount --net --pid env "
          f"KUBECONFIG={made.control_plane.admin} PATH={made.tools}:$PATH bash\n"
          f"and end it with\n  kill {pid}", flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        pass


@pytest.fixture(scope="session")
def installation(cluster):
    return session.install(cluster)


@pytest.fixture
def workloads(cluster, installation):
    made = workloads_module.Workloads(cluster)
    yield made
    problems = made.clean() + leaks.check(cluster)
    assert not problems, "\n".join([*problems, diagnosis.report(cluster)])


@pytest.fixture
def new_class(cluster, workloads):
    """Creates StorageClasses and VolumeSnapshotClasses that are deleted with the test, after the
    objects that use them."""
    made = []

    def make(manifest):
        made.append(cluster.api.create(manifest))
        return made[-1]["metadata"]["name"]

    yield make
    workloads.clean()
    for found in made:
        cluster.api.delete(found["kind"], found["metadata"]["name"])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed and call.when != "teardown" and CLUSTERS:
        report.sections.append(("the cluster", diagnosis.report(CLUSTERS[0])))
