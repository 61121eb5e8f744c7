# SPDX-License-Identifier: Apache-2.0
"""`holdfast audit` of a driver, and PersistentVolumes as csi-provisioner makes them."""

import json
import subprocess
import time

import record_text

TOPOLOGY_KEY = "topology.csi.holdfast.dev/node"
DRIVER_NAME = "csi.holdfast.dev"
SECONDS = 60
CLEAN, FINDINGS, INCOMPLETE = 0, 1, 2
# The reconciler looks every half minute; until then it reports what it saw the last time.
NEXT_LOOK_SECONDS = 50
OLD = "2025-06-01T12:00:00Z"


def object_list(*objects):
    """As kubectl prints it."""
    return json.dumps({"apiVersion": "v1", "items": objects, "kind": "List",
                       "metadata": {"resourceVersion": ""}})


def persistent_volume(handle, size, node, name="", claim=""):
    """As csi-provisioner makes it; claim is NAMESPACE/NAME."""
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": str(size)},
            "csi": {"driver": DRIVER_NAME, "fsType": "ext4", "volumeHandle": handle},
            "persistentVolumeReclaimPolicy": "Delete", "volumeMode": "Filesystem"}
    if claim:
        spec["claimRef"] = dict(zip(("namespace", "name"), claim.split("/")))
    if node:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": TOPOLOGY_KEY, "operator": "In", "values": [node]}]}]}}
    return {"apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": name or f"pv-{handle[-36:]}"}, "spec": spec}


def volume_snapshot_content(handle, name="snapcontent"):
    return {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
            "metadata": {"name": name},
            "spec": {"driver": DRIVER_NAME, "source": {}, "volumeSnapshotRef": {}},
            "status": {"snapshotHandle": handle}}


def make_old(driver, *ids):
    """Volumes and snapshots are then not taken for new ones. While the driver is stopped."""
    for volume_id in ids:
        path = driver.record_path(volume_id)
        path.write_bytes(record_text.sealed(json.loads(path.read_text()) | {"created_at": OLD}))


def run(binary, socket, objects, *flags):
    """Runs `holdfast audit -` with the text of a list on its standard input."""
    return subprocess.run([binary, "audit", f"--endpoint=unix://{socket}", *flags, "-"],
                          input=objects, capture_output=True, text=True, timeout=SECONDS,
                          check=False)


def problem_of(binary, socket, *objects):
    """Waits until an audit with these objects, and those of no snapshots, is clean; returns a
    problem or None. What a test has removed by hand may still be reported as a leftover until the
    reconciler looks again."""
    deadline = time.monotonic() + NEXT_LOOK_SECONDS
    while True:
        done = run(binary, socket, object_list(*objects), "--snapshots")
        if done.returncode == CLEAN:
            return None
        # Anything but a leftover, and an instance that has just started, stays as it is.
        lines = done.stdout.splitlines()[1:-1]
        passes = bool(lines) and all(line.split()[1] in ("leftover", "leftovers") for line in lines)
        if not passes or time.monotonic() > deadline:
            return f"the audit is not clean ({done.returncode}): {done.stdout}{done.stderr}"
        time.sleep(0.1)
