# SPDX-License-Identifier: Apache-2.0
"""Volumes whose PersistentVolumes the cluster has lost, and how an administrator takes them back."""

import json

import administration
import record_text
from cluster.processes import until
from workloads import DATA

OLD = "2025-06-01T12:00:00Z"
WRITE = f"test -e {DATA}/file || hostname > {DATA}/file; sync"
POOL = "/var/lib/holdfast/pools/default"
AUDITED_SECONDS = 120


def make_old(installation, node, volume_id, pool=POOL):
    """An audit says nothing yet of volumes that are new."""
    record = node.namespace.path(f"{pool}/volumes/{volume_id[-36:]}/record.json")
    record.write_bytes(record_text.sealed(
        json.loads(record.read_text()) | {"created_at": OLD}))
    installation.kill_driver(node.name)


def audit(cluster):
    """The kinds of findings, and of what is unknown, with their subjects; or why there is no audit."""
    done = administration.audited(cluster, "--output=json")
    if not done.stdout:
        return done.stderr
    shown = json.loads(done.stdout)
    return [sorted((entry["kind"], entry["subject"]) for entry in shown[verdict])
            for verdict in ("findings", "unknown")]


def wait_for_audit(cluster, findings=(), unknown=()):
    wanted = [sorted(findings), sorted(unknown)]
    until(lambda: audit(cluster) == wanted,
          lambda: f"the audit has {audit(cluster)} instead of {wanted}", AUDITED_SECONDS)


def adopt(cluster, class_name):
    """Applies what `holdfast audit --adopt` prints, and returns the PersistentVolumes."""
    done = administration.audited(cluster, "--adopt", f"--storage-class={class_name}")
    assert done.stdout, done.stderr
    administration.apply(cluster, done.stdout)
    return json.loads(done.stdout)["items"]


def claim_again(workloads, claim, class_name):
    """Makes the claim of a PersistentVolume that names it, and returns what a pod finds there."""
    workloads.claim(class_name, "64Mi", name=claim)
    return workloads.sh(workloads.running(workloads.pod(claim)), f"cat {DATA}/file")


def set_reclaim_policy(workloads, volume, policy):
    workloads.api.patch("PersistentVolume", volume,
                        {"spec": {"persistentVolumeReclaimPolicy": policy}})
