# SPDX-License-Identifier: Apache-2.0
"""The chart's other ways: its own test, and a provisioner on each node."""

import pytest

from cluster import images
from cluster.processes import until
from installation import NAMESPACE, RELEASE

ROLLED_OUT_SECONDS = 180
TEST_CLASS = {"storageClasses[0].name": "of-the-chart", "test.image": images.BUSYBOX}


@pytest.fixture
def installed_with(installation, cluster):
    """Installs with values; afterwards everything is as other tests know it."""
    yield installation.install
    installation.install()
    roll_out(installation)
    # The provisioners of the other place leave theirs; docs/upgrade.md says so.
    cluster.kubectl("delete", "csistoragecapacities", "--all", "--namespace", NAMESPACE)


def containers(installation, component):
    return {container["name"] for pod in installation.pods(component)
            for container in pod["spec"]["containers"]}


def roll_out(installation, provisioner_in="controller"):
    def moved():
        return all(("provisioner" in containers(installation, component))
                   == (component == provisioner_in) for component in ("controller", "node"))

    until(moved, "the provisioner does not move", ROLLED_OUT_SECONDS)
    installation.wait_until_ready()


def test_the_charts_own_test(cluster, workloads, installed_with):
    installed_with(**TEST_CLASS)
    assert "Phase:          Succeeded" in cluster.helm("test", RELEASE, "--namespace", NAMESPACE)
    # The hook's claim goes with its pod; its volume a moment later.
    until(lambda: not workloads.api.list("PersistentVolume"), "the test's volume is left")


def test_a_provisioner_on_each_node(cluster, workloads, installation, installed_with):
    installed_with(provisioning="nodes")
    roll_out(installation, provisioner_in="node")
    for node in cluster.nodes:
        claim = workloads.claim("xfs")
        pod = workloads.running(workloads.pod(claim, node=node, script="echo here > /data/file"))
        assert workloads.node_of(pod) == node
        workloads.api.patch("PersistentVolumeClaim", claim,
                            {"spec": {"resources": {"requests": {"storage": "448Mi"}}}})
        until(lambda: workloads.api.get("PersistentVolumeClaim", claim)["status"]["capacity"]
              ["storage"] == "448Mi", "the claim does not grow", ROLLED_OUT_SECONDS)
        assert workloads.sh(pod, "cat /data/file") == "here\n"
        workloads.remove("Pod", pod)
        workloads.remove("PersistentVolumeClaim", claim)
    until(lambda: not workloads.api.list("PersistentVolume"), "volumes are left")
