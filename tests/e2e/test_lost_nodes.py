# SPDX-License-Identifier: Apache-2.0
"""A node, or a disk of a node, that is gone for good, as docs/lost-nodes.md has it."""

import json

import pytest

import administration
from cluster.node import COPYING_DISK, STATE
from cluster.processes import until
from workloads import DATA, claim_spec, pod_spec

ELSEWHERE_SECONDS = 180
LOST = "declared lost"


@pytest.fixture
def undeclared(installation):
    """Ends every declaration after the test."""
    yield
    installation.install()


def replicas(workloads, class_name):
    """The pods of a StatefulSet, one on each node, with data of their own."""
    labels = {"app": "db"}
    spec = pod_spec(script=f"test -e {DATA}/file || hostname > {DATA}/file; sync")
    spec["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": DATA}]
    spec["topologySpreadConstraints"] = [{
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels}}]
    spec["tolerations"] = [{"operator": "Exists"}]
    template = {"metadata": {"name": "data"}, "spec": claim_spec(class_name, "64Mi")}
    workloads.create("StatefulSet", {
        "serviceName": "db", "replicas": 2, "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": labels}, "volumeClaimTemplates": [template],
        "template": {"metadata": {"labels": labels}, "spec": spec}}, "db", "apps/v1")
    return workloads.running("db-0"), workloads.running("db-1")


def on(workloads, node):
    return next(pod for pod in ("db-0", "db-1") if workloads.node_of(pod) == node)


def declare(installation, node, pool, identity):
    installation.apply(lostPools=[{"node": node, "pool": pool, "id": identity}])
    until(lambda: f"{node}/{pool}={identity}" in json.dumps(installation.pods("controller")),
          "the controller does not get the declaration")


def identity_of(cluster, node, pool):
    [found] = [one["id"] for one in administration.listed(cluster, "pools", f"--node={node}")
               if one["name"] == pool]
    return found


def plan(cluster, node, *flags):
    """What `holdfast node lost` says, as a script and as JSON."""
    objects = administration.objects(cluster, "persistentvolumes,pods")
    texts = []
    for output in ("script", "json"):
        done = administration.holdfast(cluster, "node", "lost", node, "--dry-run", *flags,
                                       f"--output={output}", "-", given=objects)
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout)
    return texts[0], json.loads(texts[1])


def is_made_again(workloads, pod, before):
    return workloads.uid("Pod", pod) not in (None, before)


def test_a_replica_is_rebuilt_when_its_node_is_gone(cluster, workloads, installation, undeclared):
    installation.wait_until_linked()
    replicas(workloads, "ext4")
    node = cluster.nodes[installation.node_without_controller()]
    pod = on(workloads, node.name)
    volume = workloads.volume_of(f"data-{pod}")["metadata"]["name"]
    identity, before = identity_of(cluster, node.name, "default"), workloads.uid("Pod", pod)
    node.crash()
    until(lambda: {"name": node.name, "state": "missing"}.items() <= next(
        found for found in administration.listed(cluster, "nodes")
        if found["name"] == node.name).items(), "the node is not missed")
    script, lost = plan(cluster, node.name)
    assert [found["persistent_volume"] for found in lost["volumes"]] == [volume]
    assert lost["pods"] == [f"default/{pod}"]
    declare(installation, node.name, "default", identity)
    administration.run_script(cluster, script)
    workloads.gone("PersistentVolume", volume, seconds=ELSEWHERE_SECONDS)
    until(lambda: is_made_again(workloads, pod, before), "the pod is not made again")
    workloads.running(pod, seconds=ELSEWHERE_SECONDS)
    assert workloads.node_of(pod) != node.name
    assert workloads.sh(pod, f"cat {DATA}/file") == pod
    # The machine comes back, with its disk: it is refused as long as its pool is declared lost.
    node.boot()
    node.wait_until_ready()
    until(lambda: LOST in installation.controller_log(), "the node is not refused", 120)
    node.crash()
    node.replace()
    node.boot()
    node.wait_until_ready()
    installation.install()
    installation.delete_controller()
    installation.wait_until_ready()
    claim = workloads.claim("xfs")
    workloads.running(workloads.pod(claim, node=node.name))


@pytest.mark.slice
def test_a_replica_is_rebuilt_when_its_disk_is_gone(cluster, workloads, installation, undeclared):
    replicas(workloads, "copying")
    name = installation.node_without_controller()
    node, pod = cluster.nodes[name], on(workloads, name)
    volume = workloads.volume_of(f"data-{pod}")["metadata"]["name"]
    identity, before = identity_of(cluster, name, "copying"), workloads.uid("Pod", pod)
    node.run("xfs_io", "-x", "-c", "shutdown", COPYING_DISK)  # ext4, too: every access fails
    script, lost = plan(cluster, name, "--pool=copying")
    assert [found["persistent_volume"] for found in lost["volumes"]] == [volume]
    assert "delete node" not in script
    declare(installation, name, "copying", identity)
    administration.run_script(cluster, script)
    workloads.gone("PersistentVolume", volume, seconds=ELSEWHERE_SECONDS)
    until(lambda: is_made_again(workloads, pod, before), "the pod is not made again")
    workloads.running(pod, seconds=ELSEWHERE_SECONDS)
    assert workloads.node_of(pod) != name
    assert workloads.sh(pod, f"cat {DATA}/file") == pod
    replace_disk(node)
    installation.delete_node_pod(name)
    installation.wait_until_ready()
    workloads.running(workloads.pod(workloads.claim("copying", "64Mi"), node=name))


def replace_disk(node):
    """As docs/lost-nodes.md has it."""
    node.run("umount", "--lazy", COPYING_DISK)
    disk = node.disks[COPYING_DISK]
    disk.remove()
    disk.image.unlink()
    disk.make()
    node.run("mount", disk.device, COPYING_DISK)
    node.namespace.path(f"{STATE}/pools/copying.json").unlink()
