# SPDX-License-Identifier: Apache-2.0
"""The pods' view of their volumes."""

import pytest

from cluster.processes import until
from workloads import DATA, DEVICE, MIB, storage_class

FILESYSTEMS = ("ext4", "ext3", "xfs", "btrfs")
SUM = "head -c 4194304 {where} | sha256sum"


@pytest.mark.parametrize("name", (*FILESYSTEMS, "block"))
def test_data_outlives_the_pod(workloads, name):
    where = DEVICE if name == "block" else f"{DATA}/file"
    claim = workloads.claim(name)
    writer = workloads.running(workloads.pod_for(name, claim))
    # Writing to a device does not make it longer.
    workloads.sh(writer, "dd if=/dev/urandom of=%s bs=1M count=4 conv=notrunc,fsync" % where)
    written = workloads.sh(writer, SUM.format(where=where))
    workloads.remove("Pod", writer)
    reader = workloads.running(workloads.pod_for(name, claim))
    assert workloads.sh(reader, SUM.format(where=where)) == written


@pytest.mark.parametrize("name", FILESYSTEMS)
def test_a_group_of_the_pod_owns_the_files(workloads, name):
    claim = workloads.claim(name)
    context = {"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 2000}
    pod = workloads.running(workloads.pod(claim, securityContext=context))
    assert workloads.sh(pod, f"stat -c %g {DATA}") == "2000"
    assert workloads.sh(pod, f"touch {DATA}/file && stat -c %u:%g {DATA}/file") == "1000:2000"


def refuses_to_write(workloads, pod):
    said = workloads.sh(pod, f"echo x > {DATA}/other 2>&1 || true")
    return "Read-only file system" in said


def test_read_only_in_one_container_mount(workloads):
    claim = workloads.claim("ext4")
    writer = workloads.running(workloads.pod(claim, script=f"echo text > {DATA}/file"))
    reader = workloads.running(workloads.pod(claim, read_only=True,
                                             node=workloads.node_of(writer)))
    assert workloads.sh(reader, f"cat {DATA}/file") == "text"
    assert refuses_to_write(workloads, reader)
    workloads.sh(writer, f"echo more >> {DATA}/file")
    assert workloads.sh(reader, f"cat {DATA}/file") == "text\nmore"


def test_read_only_volume_source(workloads):
    claim = workloads.claim("xfs")
    writer = workloads.running(workloads.pod(claim, script=f"echo text > {DATA}/file; sync"))
    workloads.remove("Pod", writer)
    source = {"persistentVolumeClaim": {"claimName": claim, "readOnly": True}}
    reader = workloads.running(workloads.pod(volumes=[source]))
    assert workloads.sh(reader, f"cat {DATA}/file") == "text"
    assert refuses_to_write(workloads, reader)


def test_a_class_that_mounts_read_only(workloads, new_class):
    name = new_class(storage_class("ro", mount_options=["ro"]))
    pod = workloads.running(workloads.pod(workloads.claim(name, "64Mi")))
    assert refuses_to_write(workloads, pod)


def test_a_path_below_the_volume(workloads):
    claim = workloads.claim("ext4")
    below = workloads.running(workloads.pod(claim, sub_path="a/b"))
    workloads.sh(below, f"echo text > {DATA}/file")
    whole = workloads.running(workloads.pod(claim, node=workloads.node_of(below)))
    assert workloads.sh(whole, f"cat {DATA}/a/b/file") == "text"


@pytest.mark.parametrize("name", ("ext4", "xfs", "btrfs", "block"))
def test_two_pods_share_a_volume_on_one_node(workloads, name):
    where = DEVICE if name == "block" else f"{DATA}/file"
    claim = workloads.claim(name)
    # The second pod has no placement constraint: the volume decides.
    first = workloads.running(workloads.pod_for(name, claim, node="n2"))
    second = workloads.running(workloads.pod_for(name, claim))
    assert workloads.node_of(second) == "n2"
    workloads.sh(first, f"printf shared | dd of={where} conv=notrunc,fsync")
    assert workloads.sh(second, f"head -c 6 {where}") == "shared"
    workloads.remove("Pod", first)
    assert workloads.sh(second, f"head -c 6 {where}") == "shared"


def test_several_volumes_in_one_pod(workloads):
    claims = [workloads.claim(name) for name in ("ext4", "xfs", "btrfs")]
    blocks = [workloads.claim("block"), workloads.claim("block")]
    pod = workloads.running(workloads.several(claims, blocks))
    for number in range(3):
        suffix = number or ""
        workloads.sh(pod, f"echo {number} > {DATA}{suffix}/file")
    for suffix in ("", 1):
        assert int(workloads.sh(pod, f"blockdev --getsize64 {DEVICE}{suffix}")) == 64 * MIB


def test_the_statistics_that_kubelet_reports(workloads):
    claim = workloads.claim("xfs")
    pod = workloads.running(workloads.pod(claim))
    workloads.sh(pod, f"head -c {64 * MIB} /dev/zero > {DATA}/file; sync")
    until(lambda: workloads.statistics(pod).get("usedBytes", 0) >= 64 * MIB,
          lambda: f"kubelet reports {workloads.statistics(pod)}")
    reported = workloads.statistics(pod)
    assert 200 * MIB < reported["capacityBytes"] <= 320 * MIB
    assert reported["availableBytes"] <= reported["capacityBytes"] - reported["usedBytes"]
    assert reported["inodes"] > reported["inodesUsed"] > 0
