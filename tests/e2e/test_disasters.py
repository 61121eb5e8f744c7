# SPDX-License-Identifier: Apache-2.0
"""The four cases of docs/disaster.md: a cluster that was built anew, an etcd that was restored, a node
that is installed again with its disk, and a disk in another machine."""

import pytest

import session
from cluster.node import COPYING_DISK
from cluster.processes import until
from taken_back import (WRITE, adopt, claim_again, make_old, set_reclaim_policy,
                        wait_for_audit)
from workloads import DATA, MIB, number_of_bytes

MOVED = "/var/lib/disks/moved"


def handle_of(workloads, claim):
    return workloads.volume_of(claim)["spec"]["csi"]["volumeHandle"]


@pytest.mark.slice
def test_a_cluster_that_was_built_anew(cluster, workloads, installation):
    """New control plane, new systems on the nodes; the disks, and what is on them, are the old ones."""
    claim = workloads.claim("ext4")
    pod = workloads.running(workloads.pod(claim, node="n2", script=WRITE))
    volume = workloads.volume_of(claim)
    handle = volume["spec"]["csi"]["volumeHandle"]
    for node in cluster.nodes.values():
        node.crash()
    cluster.control_plane.restart_with(None)
    for node in cluster.nodes.values():
        node.reinstall()
    for node in cluster.nodes.values():
        node.wait_until_ready()
    session.install(cluster)
    make_old(installation, cluster.nodes["n2"], handle)
    wait_for_audit(cluster, [("volume-without-pv", handle)])
    [adopted] = adopt(cluster, "ext4")
    assert adopted["metadata"]["name"] == volume["metadata"]["name"]
    assert claim_again(workloads, claim, "ext4") == pod
    wait_for_audit(cluster)
    set_reclaim_policy(workloads, adopted["metadata"]["name"], "Delete")


def test_an_etcd_that_was_restored(cluster, workloads, installation):
    """Since the backup a volume was made, one deleted, and one expanded."""
    claims = {name: workloads.claim("xfs", name=name) for name in ("kept", "deleted", "grown")}
    pods = {name: workloads.pod(claim, node="n2", script=WRITE) for name, claim in claims.items()}
    workloads.running(*pods.values())
    volumes = {name: workloads.volume_of(claim)["metadata"]["name"] for name, claim in claims.items()}
    backup = cluster.control_plane.backup()
    workloads.remove("Pod", pods["deleted"])
    workloads.remove("PersistentVolumeClaim", "deleted")
    workloads.gone("PersistentVolume", volumes["deleted"])
    expand(workloads, "grown")
    workloads.claim("xfs", name="new")
    new = workloads.running(workloads.pod("new", node="n2", script=WRITE))
    handle = handle_of(workloads, "new")
    cluster.control_plane.restart_with(backup)
    for node in cluster.nodes.values():  # and everything else that knows a later time
        node.kubelet.stop()
        node.kubelet.start()
        node.wait_until_ready()
    installation.delete_controller()
    installation.wait_until_ready()
    make_old(installation, cluster.nodes["n2"], handle)
    wait_for_audit(cluster, [("pv-without-data", volumes["deleted"]),
                             ("size-differs", volumes["grown"]), ("volume-without-pv", handle)])
    [adopted] = adopt(cluster, "xfs")
    assert claim_again(workloads, "new", "xfs") == new
    workloads.remove("Pod", pods["deleted"])
    workloads.remove("PersistentVolumeClaim", "deleted")
    expand(workloads, "grown")
    wait_for_audit(cluster)
    for name in ("kept", "grown"):
        assert workloads.sh(workloads.running(pods[name]), f"cat {DATA}/file") == pods[name]
    set_reclaim_policy(workloads, adopted["metadata"]["name"], "Delete")


def expand(workloads, claim):
    workloads.api.patch("PersistentVolumeClaim", claim,
                        {"spec": {"resources": {"requests": {"storage": "400Mi"}}}})
    until(lambda: number_of_bytes(workloads.api.get("PersistentVolumeClaim", claim)["status"][
        "capacity"]["storage"]) == 400 * MIB, f"claim {claim} does not grow", 120)


@pytest.mark.slice
def test_a_node_that_is_installed_again_with_its_disk(cluster, workloads, installation):
    node = cluster.nodes[installation.node_without_controller()]
    claim = workloads.claim("ext4")
    pod = workloads.running(workloads.pod(claim, node=node.name, script=WRITE))
    node.crash()
    node.reinstall()
    node.wait_until_ready()
    installation.wait_until_ready()
    wait_for_audit(cluster)
    workloads.remove("Pod", pod)
    again = workloads.running(workloads.pod(claim))
    assert workloads.sh(again, f"cat {DATA}/file") == pod


@pytest.fixture
def move_disk(cluster, workloads, installation):
    """A function that takes the disk of pool `copying` from n1 to n2, where its pool is `moved`."""
    n1, n2 = cluster.nodes["n1"], cluster.nodes["n2"]
    disk = n1.disks[COPYING_DISK]

    def restart_n1():
        n1.crash()
        n1.boot()
        n1.wait_until_ready()

    def move():
        del n1.disks[COPYING_DISK]
        restart_n1()
        n2.run("mkdir", MOVED)
        n2.run("mount", disk.device, MOVED)
        n2.label("disks", "3")
        installation.install(nodeGroups=[{
            "name": "three", "nodeSelector": {"disks": "3"},
            "pools": [*installation.pools(), {"name": "moved", "path": MOVED}]}])

    yield move
    assert not workloads.clean()
    installation.install()
    n2.label("disks", None)
    n2.run("umount", MOVED)
    n1.disks[COPYING_DISK] = disk
    restart_n1()
    installation.wait_until_ready()


def test_a_disk_in_another_machine(cluster, workloads, installation, move_disk):
    claim = workloads.claim("copying", "64Mi")
    pod = workloads.running(workloads.pod(claim, node="n1", script=WRITE))
    volume, handle = workloads.volume_of(claim)["metadata"]["name"], handle_of(workloads, claim)
    set_reclaim_policy(workloads, volume, "Retain")
    workloads.remove("Pod", pod)
    workloads.remove("PersistentVolumeClaim", claim)
    workloads.remove("PersistentVolume", volume)
    make_old(installation, cluster.nodes["n1"], handle, COPYING_DISK)
    move_disk()
    there = f"moved:n2:{handle[-36:]}"
    absent, unknown = ("leftover", "copying"), [("pool", "copying")]  # on n1
    wait_for_audit(cluster, [absent, ("volume-without-pv", there)], unknown)
    [adopted] = adopt(cluster, "copying")
    assert claim_again(workloads, claim, "copying") == pod
    wait_for_audit(cluster, [absent], unknown)
    set_reclaim_policy(workloads, adopted["metadata"]["name"], "Delete")
