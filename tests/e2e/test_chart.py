# SPDX-License-Identifier: Apache-2.0
"""The chart's features: its own test, upgrades, removal, provisioning on the nodes."""

import pytest

from cluster.processes import until
from installation import NAMESPACE, RELEASE, REPOSITORY
from workloads import DATA, MIB, number_of_bytes

ROLLED_OUT_SECONDS = 180
SECRETS = ("holdfast-link-controller", "holdfast-link-node")


def test_the_charts_own_test(cluster, workloads):
    said = cluster.helm("test", RELEASE, "--namespace", NAMESPACE, "--timeout", "3m")
    assert "Succeeded" in said


def test_an_upgrade_keeps_the_certificates(cluster, workloads, installation):
    before = [cluster.api.get("Secret", name, NAMESPACE)["data"] for name in SECRETS]
    installation.install()
    assert [cluster.api.get("Secret", name, NAMESPACE)["data"] for name in SECRETS] == before


def test_data_outlives_the_installation(workloads, installation):
    claim = workloads.claim("xfs")
    pod = workloads.running(workloads.pod(claim, script=f"echo kept > {DATA}/file; sync"))
    installation.uninstall()
    # A running pod needs no driver.
    assert workloads.sh(pod, f"cat {DATA}/file") == "kept"
    installation.install()
    workloads.remove("Pod", pod)
    pod = workloads.running(workloads.pod(claim))
    assert workloads.sh(pod, f"cat {DATA}/file") == "kept"


def test_the_plain_manifests_are_accepted(cluster, installation):
    directory = REPOSITORY / "deploy" / "kubernetes"
    files = sorted(directory.glob("*.yaml"))
    assert files
    for file in files:
        cluster.kubectl("apply", "--dry-run=server", "--filename", file)


@pytest.fixture
def provisioning_on_nodes(cluster, installation):
    installation.install(provisioning="nodes")
    roll_out(installation, "node")
    yield
    installation.install()
    roll_out(installation, "controller")
    # The provisioners of the other place leave theirs; docs/upgrade.md says so.
    cluster.kubectl("delete", "csistoragecapacities", "--all", "--namespace", NAMESPACE)


def roll_out(installation, provisioner_in):
    """Waits until the provisioner runs in the pods of this component and of no other."""
    def has_provisioner(pod):
        return any(found["name"] == "provisioner" for found in pod["spec"]["containers"])

    until(lambda: all(has_provisioner(pod) == (component == provisioner_in)
                      for component in ("controller", "node")
                      for pod in installation.pods(component)),
          "the provisioner does not move", ROLLED_OUT_SECONDS)
    installation.wait_until_ready()


def test_provisioning_on_the_nodes(workloads, installation, provisioning_on_nodes):
    claims = {node: workloads.claim("xfs") for node in workloads.cluster.nodes}
    pods = [workloads.pod(claim, node=node) for node, claim in claims.items()]
    workloads.running(*pods)
    for node, claim in claims.items():
        handle = workloads.volume_of(claim)["spec"]["csi"]["volumeHandle"]
        assert handle.startswith(f"default:{node}:")
        workloads.api.patch("PersistentVolumeClaim", claim,
                            {"spec": {"resources": {"requests": {"storage": "512Mi"}}}})
    for claim in claims.values():
        until(lambda: number_of_bytes(workloads.api.get("PersistentVolumeClaim", claim)[
            "status"]["capacity"]["storage"]) == 512 * MIB, f"claim {claim} does not grow", 120)
    workloads.remove("Pod", *pods)
    workloads.remove("PersistentVolumeClaim", *claims.values())
    until(lambda: installation.volume_count() == 0, "volumes are left")
