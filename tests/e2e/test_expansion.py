# SPDX-License-Identifier: Apache-2.0
"""Claims that grow, as pods and users see it."""

import pytest

from cluster.api import ApiError
from cluster.processes import until
from expansion import Growth, kernel_grows_ext4_online
from workloads import DATA, DEVICE, MIB, SIZES, number_of_bytes, storage_class

FILESYSTEMS = ("ext4", "ext3", "xfs", "btrfs")


def bigger(name):
    return number_of_bytes(SIZES[name]) + 128 * MIB


def size_in_pod(workloads, pod, name):
    if name == "block":
        return int(workloads.sh(pod, f"blockdev --getsize64 {DEVICE}"))
    return int(workloads.sh(pod, f"stat -f -c %b {DATA}")) * int(
        workloads.sh(pod, f"stat -f -c %S {DATA}"))


def grown(name, size):
    """The least that a filesystem of this size offers; its own tables take the rest."""
    return size if name == "block" else size * 3 // 4


def claim_with_data(workloads, name):
    claim = workloads.claim(name)
    pod = workloads.running(workloads.pod_for(name, claim))
    where = DEVICE if name == "block" else f"{DATA}/file"
    workloads.sh(pod, f"dd if=/dev/urandom of={where} bs=1M count=2 conv=notrunc,fsync")
    return claim, pod, f"head -c 2097152 {where} | sha256sum"


@pytest.mark.slice
@pytest.mark.parametrize("name", (*FILESYSTEMS, "block"))
def test_growth_under_a_running_pod(workloads, name, record_property):
    claim, pod, checksum = claim_with_data(workloads, name)
    before, written = size_in_pod(workloads, pod, name), workloads.sh(pod, checksum)
    growth = Growth(workloads, claim, bigger(name))
    if name in ("ext4", "ext3") and not kernel_grows_ext4_online():
        # The guest of tests/vm has the capability; here growth must wait, and then converge.
        record_property("ext", "no CAP_SYS_RESOURCE: converges with the next pod instead")
        print("the kernel refuses ext4 growth online (no CAP_SYS_RESOURCE): with the next pod")
        growth.wait_until_the_node_is_asked()
        assert size_in_pod(workloads, pod, name) == before
        workloads.remove("Pod", pod)
        pod = workloads.running(workloads.pod_for(name, claim))
    growth.wait()
    until(lambda: size_in_pod(workloads, pod, name) >= grown(name, bigger(name)),
          "the pod does not see the growth")
    assert workloads.sh(pod, checksum) == written
    growth.check_end()


@pytest.mark.parametrize("name", (*FILESYSTEMS, "block"))
def test_growth_without_a_pod(workloads, name):
    claim, pod, checksum = claim_with_data(workloads, name)
    written = workloads.sh(pod, checksum)
    workloads.remove("Pod", pod)
    growth = Growth(workloads, claim, bigger(name))
    growth.wait_for_volume()
    pod = workloads.running(workloads.pod_for(name, claim))
    growth.wait()
    assert size_in_pod(workloads, pod, name) >= grown(name, bigger(name))
    assert workloads.sh(pod, checksum) == written
    growth.check_end()


@pytest.mark.slice
def test_the_states_of_a_growth(workloads):
    """A growth without a pod stops where the node is needed, so that its states can be seen."""
    claim, pod, _ = claim_with_data(workloads, "xfs")
    workloads.remove("Pod", pod)
    growth = Growth(workloads, claim, bigger("xfs"))
    growth.wait_for_volume()
    until(lambda: growth.resize_status() == "NodeResizePending", growth.describe)
    assert "FileSystemResizePending" in growth.conditions()
    workloads.running(workloads.pod(claim))
    growth.wait()
    growth.check_end()
    assert growth.seen[-2:] == ["NodeResizePending", None] or "NodeResizeInProgress" in growth.seen


def test_growth_twice_and_from_two_pods(workloads):
    claim, first, _ = claim_with_data(workloads, "xfs")
    second = workloads.running(workloads.pod(claim, node=workloads.node_of(first)))
    for size in (448 * MIB, 640 * MIB):
        growth = Growth(workloads, claim, size)
        growth.wait()
        for pod in (first, second):
            assert size_in_pod(workloads, pod, "xfs") >= grown("xfs", size)
    growth.check_end()


@pytest.mark.parametrize("name", ("xfs", "block"))
def test_too_large_is_infeasible_and_can_be_taken_back(workloads, name):
    claim, pod, checksum = claim_with_data(workloads, name)
    written = workloads.sh(pod, checksum)
    Growth(workloads, claim, 1 << 40).wait_for_status("ControllerResizeInfeasible")
    assert workloads.sh(pod, checksum) == written
    recovery = Growth(workloads, claim, bigger(name))
    recovery.wait()
    assert size_in_pod(workloads, pod, name) >= grown(name, bigger(name))
    assert workloads.sh(pod, checksum) == written
    recovery.check_end()


def test_a_class_without_expansion_is_refused_by_the_cluster(workloads, new_class):
    name = new_class(storage_class("fixed", expansion=False))
    claim = workloads.claim(name, "64Mi")
    workloads.running(workloads.pod(claim))
    with pytest.raises(ApiError, match="only dynamically provisioned pvc can be resized"):
        Growth(workloads, claim, 128 * MIB)
