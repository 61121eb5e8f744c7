# SPDX-License-Identifier: Apache-2.0
"""Volumes that the stock external-attacher attaches before a node may use them."""

import pytest

from cluster.processes import until
from conftest import Timed
from guest_pods import DEVICES, SECONDS, devices_of, pod_of, remove, write
from installation import NAMESPACE
from workloads import DRIVER, MIB

SIZE = 512 * MIB
STRANGER = "made-up"
OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown",
                  "effect": "NoExecute"}


@pytest.fixture(scope="module")
def attaching(installation):
    with Timed("attaching is switched on"):
        installation.set_attaching(True)
    yield
    installation.set_attaching(False)


@pytest.fixture
def stranger(workloads):
    """A node that Kubernetes knows to have the driver, and the driver does not know."""
    workloads.api.create({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": STRANGER},
        "spec": {"drivers": [{"name": DRIVER, "nodeID": STRANGER, "topologyKeys": []}]}})
    yield STRANGER
    workloads.api.delete("CSINode", STRANGER)


def attachments(workloads, volume):
    """Returns the volume's attachments by the name of their node."""
    name = volume["metadata"]["name"]
    return {found["spec"]["nodeName"]: found for found in workloads.api.list("VolumeAttachment")
            if found["spec"]["source"].get("persistentVolumeName") == name}


def by_hand(node):
    return f"by-hand-{node}"


def attach(workloads, volume, node):
    """Requests an attachment that Kubernetes' own controller would not request; it has no such
    pod."""
    workloads.create("VolumeAttachment", {
        "attacher": DRIVER, "nodeName": node,
        "source": {"persistentVolumeName": volume["metadata"]["name"]}}, by_hand(node),
        version="storage.k8s.io/v1")


def refusal_of(workloads, volume, node):
    name = by_hand(node)
    attach(workloads, volume, node)
    error = until(lambda: workloads.api.get("VolumeAttachment", name).get("status", {}).get(
        "attachError"), f"no error of the attachment to {node}", SECONDS)
    assert workloads.api.get("VolumeAttachment", name)["status"]["attached"] is False
    remove(workloads, "VolumeAttachment", name)
    return error["message"]


def check_attacher_log(api, installation):
    log = api.logs(installation.controller_pod()["metadata"]["name"], "attacher", NAMESPACE)
    assert "forbidden" not in log, log[-4000:]


@pytest.mark.parametrize("storage_class", ["ceph", "ceph-team"])
def test_a_volume_is_attached_to_one_node(workloads, guest, installation, attaching, stranger,
                                          storage_class):
    claim = workloads.claim(storage_class, str(SIZE))
    volume = workloads.bound(claim)
    assert attachments(workloads, volume) == {}
    with Timed(f"{storage_class}: its pod runs, attached"):
        pod = pod_of(workloads, guest, claim)
    [attachment] = attachments(workloads, volume).values()
    assert attachment["spec"]["nodeName"] == guest.name
    assert attachment["status"]["attached"] is True
    checksum, written = write(workloads, pod)
    [other] = installation.cluster.nodes
    refusal = refusal_of(workloads, volume, other)
    assert "FailedPrecondition" in refusal and f"published to node '{guest.name}'" in refusal
    refusal = refusal_of(workloads, volume, stranger)
    assert "NotFound" in refusal and f"no node '{stranger}'" in refusal
    assert list(attachments(workloads, volume)) == [guest.name]
    assert workloads.sh(pod, checksum) == written
    write(workloads, pod)
    with Timed(f"{storage_class}: the pod goes and the volume is detached"):
        remove(workloads, "Pod", pod)
        until(lambda: not attachments(workloads, volume), "the attachment does not go", SECONDS)
    assert devices_of(workloads, guest) == []
    remove(workloads, "PersistentVolumeClaim", claim)
    workloads.gone("PersistentVolume", volume["metadata"]["name"], seconds=SECONDS)
    check_attacher_log(workloads.api, installation)


def taints(workloads, node):
    return [taint for taint in workloads.api.get("Node", node)["spec"].get("taints", [])
            if taint["key"] != OUT_OF_SERVICE["key"]]


@pytest.fixture
def hanging(workloads, guest):
    """Suspends the node so that the cluster gives it up; afterwards the node always resumes."""
    def hang():
        guest.machine.pause()
        until(lambda: not guest.is_ready(), "the node is not missed", SECONDS)
        workloads.api.patch("Node", guest.name, {"spec": {"taints": [
            *taints(workloads, guest.name), OUT_OF_SERVICE]}})

    def come_back():
        guest.machine.resume()
        guest.wait_until_ready()
        workloads.api.patch("Node", guest.name, {"spec": {"taints": taints(
            workloads, guest.name)}})
    yield hang, come_back
    come_back()


def test_a_node_that_hangs_is_given_up(workloads, guest, ceph, installation, attaching, hanging):
    """The next node that has the volume has it alone: the client of the lost node was fenced
    first."""
    hang, come_back = hanging
    claim = workloads.claim("ceph", str(SIZE))
    volume = workloads.bound(claim)
    pod = pod_of(workloads, guest, claim)
    write(workloads, pod)
    [image] = ceph.images()
    [client] = ceph.watchers(image)
    with Timed("a node hangs, is out of service, and its volume is detached"):
        hang()
        workloads.gone("Pod", pod, seconds=SECONDS)
        until(lambda: not attachments(workloads, volume), "the attachment does not go", SECONDS)
    assert client in ceph.ceph("osd", "blocklist", "ls")
    [other] = installation.cluster.nodes
    attach(workloads, volume, other)
    until(lambda: attachments(workloads, volume)[other].get("status", {}).get("attached"),
          "the next node does not get it", SECONDS)
    come_back()
    with Timed("the node that is back gives up its device"):
        # Its kubelet may still believe in the taint.
        pod = workloads.running(workloads.pod(node=guest.name, tolerations=[
            {"operator": "Exists"}]), seconds=SECONDS)
        until(lambda: not workloads.sh(pod, f"ls {DEVICES}"), "it is not unmapped", SECONDS, 1)
    remove(workloads, "Pod", pod)
    assert list(attachments(workloads, volume)) == [other]
    remove(workloads, "VolumeAttachment", by_hand(other))
    installation.wait_until_ready()
