# SPDX-License-Identifier: Apache-2.0
"""The life of a claim whose volume is in Ceph, with the stock sidecars and a real kubelet."""

import pytest

from cluster.processes import run, until
from conftest import Timed
from expansion import Growth
from guest_pods import SECONDS, devices_of, pod_of, remove, size_in_pod, write
from workloads import DATA, MIB

CLASSES = {"ext4": "ceph", "xfs": "ceph-xfs", "block": "ceph"}
SIZE, GROWN = 512 * MIB, 1024 * MIB


def claim_of(workloads, kind):
    return workloads.claim(CLASSES[kind], str(SIZE), kind == "block")


def sh_that_may_hang(workloads, pod, script):
    """A process that waits for a device without a cluster cannot be killed on its node."""
    cluster = workloads.cluster
    run(cluster.tools / "kubectl", "--kubeconfig", cluster.control_plane.admin, "exec", pod, "--",
        "sh", "-c", script, timeout=SECONDS)


def identity(workloads, pod):
    found = workloads.api.get("Pod", pod)
    return found["metadata"]["uid"], found["status"]["containerStatuses"][0]["containerID"]


@pytest.mark.parametrize("kind", CLASSES)
def test_a_volume_grows_under_its_running_pod(workloads, guest, ceph, kind):
    block = kind == "block"
    with Timed(f"{kind}: the claim is bound, without a pod"):
        claim = claim_of(workloads, kind)
        volume = workloads.bound(claim)
    assert "nodeAffinity" not in volume["spec"]
    [image] = ceph.images()
    with Timed(f"{kind}: its pod runs"):
        pod = pod_of(workloads, guest, claim, block)
    checksum, written = write(workloads, pod, block)
    before = identity(workloads, pod)
    with Timed(f"{kind}: image and filesystem grow from 512 MiB to 1 GiB"):
        growth = Growth(workloads, claim, GROWN)
        growth.wait()
        least = GROWN if block else GROWN * 9 // 10
        until(lambda: size_in_pod(workloads, pod, block) >= least, "the pod does not see it",
              SECONDS)
    growth.check_end()
    assert ceph.image_bytes(image) == GROWN
    assert workloads.sh(pod, checksum) == written
    assert identity(workloads, pod) == before
    with Timed(f"{kind}: the pod goes"):
        remove(workloads, "Pod", pod)
    assert devices_of(workloads, guest) == []
    pod = pod_of(workloads, guest, claim, block)
    assert workloads.sh(pod, checksum) == written
    remove(workloads, "Pod", pod)
    with Timed(f"{kind}: claim, volume and image go"):
        remove(workloads, "PersistentVolumeClaim", claim)
        until(lambda: not ceph.images(), "the image is not deleted", SECONDS)


def test_a_volume_outlives_the_drivers_pod(workloads, guest, installation):
    """The kernel's connections belong to the host, not to the pod that made them."""
    claim = claim_of(workloads, "ext4")
    pod = pod_of(workloads, guest, claim)
    checksum, written = write(workloads, pod)
    installation.delete_node_pod(guest.name, SECONDS)
    sh_that_may_hang(workloads, pod, f"dd if=/dev/urandom of={DATA}/more bs=1M count=4 conv=fsync")
    # Bypasses the page cache: the data has to come from Ceph.
    sh_that_may_hang(workloads, pod, f"dd if={DATA}/file of=/dev/null bs=1M iflag=direct")
    assert workloads.sh(pod, checksum) == written
    installation.wait_until_ready()
    growth = Growth(workloads, claim, GROWN)
    growth.wait()
    assert workloads.sh(pod, checksum) == written
    remove(workloads, "Pod", pod)
    assert devices_of(workloads, guest) == []
