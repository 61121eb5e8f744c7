# SPDX-License-Identifier: Apache-2.0
"""Things that a test must not leave behind: in the API, on a node's disk, in its kernel, with its
kubelet; and the audit, which must find nothing then."""

import administration
from cluster.node import COPYING_DISK
from cluster.processes import until
from workloads import DRIVER

SETTLE_SECONDS = 30
# Leftovers that have gone are reported until the reconciler looks again.
AUDIT_SECONDS = 60
EMPTY_DIRECTORIES = (
    "/var/lib/holdfast/pools/default/volumes", "/var/lib/holdfast/pools/default/trash",
    f"{COPYING_DISK}/volumes", f"{COPYING_DISK}/trash",
    "/var/lib/holdfast/state/stages", f"/var/lib/kubelet/plugins/kubernetes.io/csi/{DRIVER}",
    "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices")
KUBELET_BOOKKEEPING = ("publish", "staging")  # kubelet keeps these two empty


def check(cluster):
    """Returns a sentence for each remaining thing, after waiting for it to disappear."""
    return lasting(lambda: volumes(cluster.api) + [
        f"{node.name}: {problem}" for node in cluster.nodes.values() for problem in of(node)],
        SETTLE_SECONDS) + lasting(lambda: audit(cluster), AUDIT_SECONDS)


def audit(cluster):
    done = administration.audited(cluster, "--snapshots")
    return [] if done.returncode == 0 else [f"the audit is not clean: {done.stdout}{done.stderr}"]


def lasting(find, seconds):
    """The files that `find` prints, after waiting until it prints nothing."""
    found = []

    def is_clean():
        found[:] = find()
        return not found
    try:
        until(is_clean, "", seconds)
    except AssertionError:
        pass
    return found


def volumes(api):
    return [f"PersistentVolume left: {volume['metadata']['name']} ({volume['status']})"
            for volume in api.list("PersistentVolume")
            if volume["spec"].get("csi", {}).get("driver") == DRIVER] + [
                f"VolumeSnapshotContent left: {content['metadata']['name']}"
                for content in api.list("VolumeSnapshotContent")]


def of(node):
    return files(node) + mounts(node) + [
        f"loop device left: {device} of {file}"
        for disk in node.disks.values() for device, file in disk.volume_loops()]


def files(node):
    found = []
    for directory in EMPTY_DIRECTORIES:
        entries = sorted(node.namespace.path(directory).glob("*"))
        found += [f"{directory}/{entry.name} left" for entry in entries
                  if entry.name not in KUBELET_BOOKKEEPING or any(entry.iterdir())]
    return found


def mounts(node):
    table = node.namespace.path("/proc/1/mountinfo").read_text().splitlines()
    points = [line.split()[4] for line in table]
    return [f"mount left: {point}" for point in points
            if "kubernetes.io~csi" in point or "plugins/kubernetes.io/csi" in point]
