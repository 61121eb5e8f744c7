# SPDX-License-Identifier: Apache-2.0
"""Volumes that the stock external-attacher attaches before a node may use them."""

import pytest

from cluster.processes import until
from conftest import Timed
from guest_pods import SECONDS, devices_of, pod_of, remove, write
from installation import NAMESPACE
from workloads import DRIVER, MIB

SIZE = 512 * MIB
STRANGER = "made-up"


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


def attach_by_hand(workloads, volume, node):
    """Asks for what Kubernetes' own controller would not ask for; returns the error."""
    name = f"by-hand-{node}"
    workloads.create("VolumeAttachment", {
        "attacher": DRIVER, "nodeName": node,
        "source": {"persistentVolumeName": volume["metadata"]["name"]}}, name,
        version="storage.k8s.io/v1")
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
    refusal = attach_by_hand(workloads, volume, other)
    assert "FailedPrecondition" in refusal and f"published to node '{guest.name}'" in refusal
    refusal = attach_by_hand(workloads, volume, stranger)
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
