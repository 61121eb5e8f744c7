# SPDX-License-Identifier: Apache-2.0
"""Failures in a cluster, while pods continue."""

import pytest

from cluster.processes import until
from workloads import DATA, MIB, number_of_bytes

# Each write is durable and checked; a single failure ends the pod, which would be seen.
BUSY = f"""set -e
while true; do
  n=$((n + 1)); echo $n > {DATA}/beat.new; sync {DATA}/beat.new; mv {DATA}/beat.new {DATA}/beat
  usleep 20000
done &"""


class Busy:
    """A pod that writes without end."""

    def __init__(self, workloads, name, node):
        self.workloads = workloads
        self.claim = workloads.claim(name)
        self.pod = workloads.running(workloads.pod(self.claim, node=node, script=BUSY))
        volume = workloads.volume_of(self.claim)["metadata"]["name"]
        self.file = workloads.cluster.nodes[node].namespace.path(
            f"/var/lib/kubelet/pods/{workloads.uid('Pod', self.pod)}/volumes/kubernetes.io~csi/"
            f"{volume}/mount/beat")

    def beat(self):
        """Read on the node, because the kubelet may be down."""
        return self.file.read_text()

    def goes_on(self):
        before = self.beat()
        until(lambda: self.beat() != before, f"pod {self.pod} does not write any more")
        assert self.workloads.restarts(self.pod) == 0


@pytest.fixture
def busy(workloads):
    return [Busy(workloads, name, "n2") for name in ("ext4", "xfs", "btrfs")]


def works(workloads, node):
    """A new volume can be made, used and removed on the node."""
    claim = workloads.claim("xfs")
    pod = workloads.running(workloads.pod(claim, node=node))
    assert workloads.sh(pod, f"echo new > {DATA}/file && cat {DATA}/file") == "new"
    workloads.remove("Pod", pod)
    workloads.remove("PersistentVolumeClaim", claim)


def check_all(workloads, busy):
    for pod in busy:
        pod.goes_on()
    works(workloads, "n2")


@pytest.mark.parametrize("way", ("stop", "kill"))
def test_kubelet_restarts_under_running_pods(cluster, workloads, busy, way):
    node = cluster.nodes["n2"]
    block = workloads.claim("block")
    device = workloads.running(workloads.pod_for("block", block, node="n2"))
    loops = sorted(node.disk.volume_loops())
    getattr(node.kubelet, way)()
    for pod in busy:
        pod.goes_on()
    node.kubelet.start()
    node.wait_until_ready()
    check_all(workloads, busy)
    workloads.running(device)
    assert sorted(node.disk.volume_loops()) == loops


def test_a_pod_is_deleted_while_the_kubelet_is_down(cluster, workloads, busy):
    node = cluster.nodes["n2"]
    node.kubelet.kill()
    workloads.delete("Pod", busy[0].pod)
    node.kubelet.start()
    node.wait_until_ready()
    workloads.gone("Pod", busy[0].pod)
    check_all(workloads, busy[1:])


@pytest.mark.slice
def test_the_node_plugin_is_killed_under_running_pods(workloads, installation, busy):
    for _ in range(3):
        installation.kill_driver("n2")
        for pod in busy:
            pod.goes_on()
    installation.wait_until_ready()
    check_all(workloads, busy)


def test_the_node_plugin_is_killed_while_volumes_come_and_go(workloads, installation):
    claims = [workloads.claim(name) for name in ("ext4", "xfs", "btrfs", "ext4", "xfs")]
    pods = [workloads.pod(claim, node="n2") for claim in claims]
    for _ in range(3):
        installation.kill_driver("n2")
    workloads.running(*pods, seconds=300)
    workloads.delete("Pod", *pods)
    installation.kill_driver("n2")
    workloads.gone("Pod", *pods, seconds=300)


def test_the_driver_is_upgraded_under_running_pods(workloads, installation, busy):
    installation.upgrade()
    check_all(workloads, busy)


@pytest.mark.slice
def test_the_controller_is_killed_while_claims_are_made(workloads, installation):
    claims = [workloads.claim("ext4") for _ in range(8)]
    pods = [workloads.pod(claim) for claim in claims]
    for _ in range(3):
        installation.kill_controller()
    workloads.running(*pods, seconds=300)
    assert installation.volume_count() == len(claims)


def test_the_controller_is_killed_while_claims_are_deleted(workloads, installation):
    claims = [workloads.claim("ext4") for _ in range(8)]
    pods = [workloads.pod(claim) for claim in claims]
    workloads.running(*pods, seconds=180)
    volumes = [workloads.volume_of(claim)["metadata"]["name"] for claim in claims]
    workloads.remove("Pod", *pods)
    workloads.delete("PersistentVolumeClaim", *claims)
    for _ in range(3):
        installation.kill_controller()
    workloads.gone("PersistentVolume", *volumes, seconds=300)
    assert installation.volume_count() == 0


def test_the_controller_is_killed_while_claims_grow(workloads, installation):
    claims = [workloads.claim("xfs") for _ in range(4)]
    pods = [workloads.pod(claim) for claim in claims]
    workloads.running(*pods, seconds=180)
    for claim in claims:
        workloads.api.patch("PersistentVolumeClaim", claim,
                            {"spec": {"resources": {"requests": {"storage": "512Mi"}}}})
    for _ in range(2):
        installation.kill_controller()
    for claim in claims:
        until(lambda: number_of_bytes(workloads.api.get("PersistentVolumeClaim", claim)[
            "status"]["capacity"]["storage"]) == 512 * MIB, f"claim {claim} does not grow", 300)


@pytest.mark.parametrize("sidecar", ("provisioner", "resizer"))
def test_a_sidecar_is_killed_at_work(workloads, installation, sidecar):
    claims = [workloads.claim("xfs") for _ in range(4)]
    pods = [workloads.pod(claim) for claim in claims]
    installation.kill_sidecar(sidecar)
    workloads.running(*pods, seconds=300)
    for claim in claims:
        workloads.api.patch("PersistentVolumeClaim", claim,
                            {"spec": {"resources": {"requests": {"storage": "384Mi"}}}})
    installation.kill_sidecar(sidecar)
    for claim in claims:
        until(lambda: number_of_bytes(workloads.api.get("PersistentVolumeClaim", claim)[
            "status"]["capacity"]["storage"]) == 384 * MIB, f"claim {claim} does not grow", 300)
    assert installation.volume_count() == len(claims)


def test_a_node_crashes_and_boots(cluster, workloads, installation):
    node = cluster.nodes[installation.node_without_controller()]
    names = ("ext4", "ext3", "xfs", "btrfs", "block")
    claims = {name: workloads.claim(name) for name in names}
    pods = {name: workloads.running(workloads.pod_for(name, claim, node=node.name))
            for name, claim in claims.items()}
    for name in names[:-1]:
        workloads.sh(pods[name], f"echo {name} > {DATA}/file; sync")
    node.crash()
    node.boot()
    node.wait_until_ready()
    installation.wait_until_ready()
    for name in names:
        until(lambda: workloads.restarts(pods[name]) == 1, f"pod {pods[name]} is not started again",
              180)
        workloads.running(pods[name])
    for name in names[:-1]:
        assert workloads.sh(pods[name], f"cat {DATA}/file") == name
