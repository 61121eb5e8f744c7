# SPDX-License-Identifier: Apache-2.0
"""The real provisioner, resizer, attacher and snapshotter, with the chart's flags and only the
chart's rights.

The API server is real; the test writes what schedulers and kubelets would write.
"""

import contextlib
import copy
import json
import os
import subprocess

import pytest

import api_server
import mount_namespace
import serve
from cluster import TOPOLOGY_KEY, until
from pool_disk import PoolDisk
from rendering import NAMESPACE, render

NODE = "n1"
DRIVER = "csi.holdfast.dev"
SECONDS = 120
WORKLOADS = {"controller": ("deployment", "holdfast-controller"),
             "node": ("daemonset", "holdfast-node")}
ZONE = "topology.kubernetes.io/zone"
LABELS = {TOPOLOGY_KEY: NODE}
IN_A_ZONE = {**LABELS, ZONE: "a"}
CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
         "metadata": {"name": "data", "namespace": "default", "annotations": {
             "volume.kubernetes.io/selected-node": NODE,
             "volume.kubernetes.io/storage-provisioner": DRIVER}},
         "spec": {"storageClassName": "holdfast", "accessModes": ["ReadWriteOnce"],
                  "resources": {"requests": {"storage": "64Mi"}}}}


class Objects:
    """Kubernetes objects by kubectl."""

    def __init__(self, server):
        self.server = server

    def list(self, kind, namespace="default"):
        return json.loads(self.server.kubectl("get", kind, "-n", namespace, "-o", "json").stdout)[
            "items"]

    def apply(self, thing):
        self.server.kubectl("apply", "-f", "-", text=json.dumps(thing))

    def patch(self, kind, name, change, *words):
        self.server.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(change), *words)

    def delete(self, kind, name, namespace="default"):
        self.server.kubectl("delete", kind, name, "-n", namespace, "--wait=false",
                            "--ignore-not-found")


def node_objects(name, labels):
    """As kubelet writes them for a driver that reports these segments on the node."""
    return [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}},
            {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name},
             "spec": {"drivers": [{"name": DRIVER, "nodeID": name,
                                   "topologyKeys": list(labels)}]}}]


@pytest.fixture
def objects(release, request):
    """With a node that has the labels in the test's parameter."""
    objects, made = Objects(release.server), node_objects(NODE, getattr(request, "param", LABELS))
    for thing in made:
        objects.apply(thing)
    yield objects
    for told in objects.list("csistoragecapacities", NAMESPACE):
        objects.delete("csistoragecapacity", told["metadata"]["name"], NAMESPACE)
    for thing in made:
        objects.delete(thing["kind"], thing["metadata"]["name"])


@pytest.fixture
def driver(tmp_path, request):
    """With the flags in the test's parameter."""
    (tmp_path / "pool").mkdir(exist_ok=True)
    server = serve.Server(os.environ["HOLDFAST_BINARY"], tmp_path,
                          [f"default=file:{tmp_path}/pool"], NODE,
                          flags=getattr(request, "param", ()))
    assert server.start() is None
    yield server
    assert server.stop() is None


def owned_by(objects, kind, name):
    """The metadata of an object that this one owns, and its specification."""
    [owner] = [found for found in objects.list(kind, NAMESPACE)
               if found["metadata"]["name"] == name]
    reference = {"apiVersion": "apps/v1", "kind": owner["kind"], "name": name, "controller": True,
                 "uid": owner["metadata"]["uid"]}
    return {"name": f"{name}-0", "namespace": NAMESPACE, "ownerReferences": [reference]}, owner["spec"]


def make_pod(objects, component):
    """Makes the pod that the workload's controller would make; returns its name."""
    kind, name = WORKLOADS[component]
    metadata, spec = owned_by(objects, kind, name)
    if kind == "deployment":
        template = {"metadata": spec["template"]["metadata"], "spec": spec["template"]["spec"]}
        objects.apply({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata,
                       "spec": {"selector": spec["selector"], "template": template}})
        metadata, spec = owned_by(objects, "replicaset", metadata["name"])
    objects.apply({"apiVersion": "v1", "kind": "Pod", "spec": spec["template"]["spec"],
                   "metadata": metadata})
    return metadata["name"]


@contextlib.contextmanager
def sidecar(server, driver, rendered, component, name, pod, directory):
    """Runs a sidecar's program with its rendered flags, as the ServiceAccount of its pod."""
    account = rendered.pod(component)["serviceAccountName"]
    token = server.kubectl("create", "token", account, "-n", NAMESPACE).stdout
    kubeconfig = directory / f"{name}.kubeconfig"
    kubeconfig.write_text(server.kubeconfig.read_text().replace("token: admin", f"token: {token}"))
    flags = [flag for flag in rendered.flags(component, name) if "--csi-address" not in flag]
    log = directory / f"{name}.log"
    with open(log, "wb") as output:
        process = subprocess.Popen(
            # Only a detailed log mentions a missing right that a sidecar can do without.
            [api_server.programs() / f"csi-{name}", *flags, f"--csi-address={driver.socket}",
             f"--kubeconfig={kubeconfig}", "--v=3"], stdout=output, stderr=output,
            env={"NAMESPACE": NAMESPACE, "POD_NAMESPACE": NAMESPACE, "POD_NAME": pod,
                 "NODE_NAME": NODE})
    try:
        yield process
        assert process.poll() is None, log.read_text()
        assert "forbidden" not in log.read_text(), log.read_text()
    finally:
        process.kill()
        process.wait()


def expect_volume(objects):
    until(lambda: objects.list("pv"), "no PersistentVolume is made", SECONDS)
    [volume] = objects.list("pv")
    [term] = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": TOPOLOGY_KEY, "operator": "In", "values": [NODE]}]
    return volume["metadata"]["name"]


def expect_capacity(objects, owner, labels):
    """Each class has free space on the node, and the objects are deleted with the installation."""
    until(lambda: len(objects.list("csistoragecapacities", NAMESPACE)) == 2,
          "the capacity of two classes is not told", SECONDS)
    for told in objects.list("csistoragecapacities", NAMESPACE):
        assert told["nodeTopology"]["matchLabels"] == labels
        assert told["maximumVolumeSize"] != "0"
        assert [found["kind"] for found in told["metadata"]["ownerReferences"]] == [owner]


def release_volume(objects, volume, claim="data"):
    """Does what the PersistentVolume controller does when its claim has been deleted."""
    objects.patch("pvc", claim, {"metadata": {"finalizers": None}})
    objects.delete("pvc", claim)
    objects.patch("pv", volume, {"status": {"phase": "Released"}}, "--subresource=status")


def expect_deletion(objects):
    def are_gone():
        left = objects.list("pv")
        for found in left:
            if "deletionTimestamp" in found["metadata"]:
                objects.patch("pv", found["metadata"]["name"], {"metadata": {"finalizers": None}})
        return not left
    until(are_gone, "a PersistentVolume is not deleted", SECONDS)


@pytest.mark.parametrize("component, values, owner", [
    ("controller", [], "Deployment"), ("node", ["provisioning=nodes"], "DaemonSet")])
@pytest.mark.parametrize("objects, driver, labels", [
    (LABELS, [], LABELS), (IN_A_ZONE, [f"--topology={ZONE}=a"], IN_A_ZONE)],
    indirect=["objects", "driver"], ids=["a node", "a node in a zone"])
def test_the_provisioner(release, objects, driver, tmp_path, component, values, owner, labels):
    release.upgrade(values)
    pod = make_pod(objects, component)
    with sidecar(release.server, driver, render(*values), component, "provisioner", pod, tmp_path):
        objects.apply(CLAIM)
        volume = expect_volume(objects)
        expect_capacity(objects, owner, labels)
        release_volume(objects, volume)
        expect_deletion(objects)
    assert not list((tmp_path / "pool" / "volumes").iterdir())
    objects.delete("pod", pod, NAMESPACE)


def bind(objects, volume):
    objects.patch("pvc", "data", {"spec": {"volumeName": volume}})
    objects.patch("pvc", "data", {"status": {
        "phase": "Bound", "capacity": {"storage": "64Mi"}, "accessModes": ["ReadWriteOnce"]}},
        "--subresource=status")


def test_the_resizer(release, objects, driver, tmp_path):
    rendered = render()
    pod = make_pod(objects, "controller")
    with sidecar(release.server, driver, rendered, "controller", "provisioner", pod, tmp_path), \
            sidecar(release.server, driver, rendered, "controller", "resizer", pod, tmp_path):
        objects.apply(CLAIM)
        volume = expect_volume(objects)
        bind(objects, volume)
        objects.patch("pvc", "data", {"spec": {"resources": {"requests": {"storage": "128Mi"}}}})
        # The node has nothing left to do: the volume was never formatted.
        until(lambda: objects.list("pvc")[0]["status"]["capacity"] == {"storage": "128Mi"},
              "the claim does not grow", SECONDS)
        [grown] = objects.list("pv")
        assert grown["spec"]["capacity"] == {"storage": "128Mi"}
        release_volume(objects, volume)
        expect_deletion(objects)
    objects.delete("pod", pod, NAMESPACE)


def attachment_to(objects, volume, node):
    objects.apply({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
                   "metadata": {"name": f"to-{node}"}, "spec": {
                       "attacher": DRIVER, "nodeName": node,
                       "source": {"persistentVolumeName": volume}}})


def status_of(objects, node):
    return next(found for found in objects.list("volumeattachments")
                if found["spec"]["nodeName"] == node).get("status", {})


@pytest.mark.parametrize("driver", [["--attach"]], indirect=True)
def test_the_attacher(release, objects, driver, tmp_path):
    release.server.kubectl("delete", "csidriver", DRIVER)
    values = ["attachRequired=true"]
    release.upgrade(values)
    objects.apply(node_objects("n2", {TOPOLOGY_KEY: "n2"})[1])
    rendered, pod = render(*values), make_pod(objects, "controller")
    with sidecar(release.server, driver, rendered, "controller", "provisioner", pod, tmp_path), \
            sidecar(release.server, driver, rendered, "controller", "attacher", pod, tmp_path):
        objects.apply(CLAIM)
        volume = expect_volume(objects)
        for node in (NODE, "n2"):
            attachment_to(objects, volume, node)
        until(lambda: status_of(objects, NODE).get("attached"), "nothing is attached", SECONDS)
        until(lambda: "attachError" in status_of(objects, "n2"), "no error is told", SECONDS)
        assert "there is no node 'n2'" in status_of(objects, "n2")["attachError"]["message"]
        for node in ("n2", NODE):
            objects.delete("volumeattachment", f"to-{node}")
        until(lambda: not objects.list("volumeattachments"), "the attachments do not go", SECONDS)
        release_volume(objects, volume)
        expect_deletion(objects)
    objects.delete("csinode", "n2")
    objects.delete("pod", pod, NAMESPACE)


SNAPSHOT_API = "snapshot.storage.k8s.io/v1"
PROTECTION = "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection"


@pytest.fixture
def pool_disk(tmp_path):
    """A disk for the driver's pool, on which files can share blocks."""
    if missing := mount_namespace.what_the_host_lacks():
        pytest.skip(missing)
    disk = PoolDisk(tmp_path / "disk", 512 << 20, "xfs", tmp_path / "pool")
    yield disk
    disk.remove()


def take_snapshot(objects, volume):
    """Does what the snapshot-controller does for a VolumeSnapshot; returns its content."""
    objects.apply({"apiVersion": SNAPSHOT_API, "kind": "VolumeSnapshot",
                   "metadata": {"name": "cut", "namespace": "default"},
                   "spec": {"volumeSnapshotClassName": "holdfast",
                            "source": {"persistentVolumeClaimName": "data"}}})
    [snapshot] = objects.list("volumesnapshots")
    [made] = [found for found in objects.list("pv") if found["metadata"]["name"] == volume]
    objects.apply({"apiVersion": SNAPSHOT_API, "kind": "VolumeSnapshotContent",
                   "metadata": {"name": "content", "finalizers": [PROTECTION]},
                   "spec": {"driver": DRIVER, "deletionPolicy": "Delete",
                            "volumeSnapshotClassName": "holdfast",
                            "source": {"volumeHandle": made["spec"]["csi"]["volumeHandle"]},
                            "sourceVolumeMode": "Filesystem",
                            "volumeSnapshotRef": {"name": "cut", "namespace": "default",
                                                  "uid": snapshot["metadata"]["uid"]}}})
    until(lambda: objects.list("volumesnapshotcontents")[0].get("status", {}).get("readyToUse"),
          "the snapshot does not become ready", SECONDS)
    [content] = objects.list("volumesnapshotcontents")
    objects.patch("volumesnapshot", "cut", {"status": {
        "readyToUse": True, "boundVolumeSnapshotContentName": "content",
        "restoreSize": str(content["status"]["restoreSize"])}}, "--subresource=status")
    return content


def restore_snapshot(objects):
    """Makes a claim with the snapshot as its source, and returns its PersistentVolume."""
    restored = copy.deepcopy(CLAIM)
    restored["metadata"]["name"] = "restored"
    restored["spec"]["dataSource"] = {"apiGroup": "snapshot.storage.k8s.io",
                                      "kind": "VolumeSnapshot", "name": "cut"}
    objects.apply(restored)
    until(lambda: len(objects.list("pv")) == 2, "no PersistentVolume is made of the snapshot",
          SECONDS)
    [volume] = [found["metadata"]["name"] for found in objects.list("pv")
                if found["spec"]["claimRef"]["name"] == "restored"]
    return volume


def remove_snapshot(objects):
    """Does what the snapshot-controller does when the VolumeSnapshot has been deleted."""
    objects.patch("volumesnapshotcontent", "content", {"metadata": {"annotations": {
        "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted": "yes"}}})
    objects.delete("volumesnapshotcontent", "content")
    until(lambda: not objects.list("volumesnapshotcontents"), "the snapshot is not deleted",
          SECONDS)
    objects.patch("volumesnapshot", "cut", {"metadata": {"finalizers": None}})
    objects.delete("volumesnapshot", "cut")


# Where the nodes provision, the provisioner's account is not the snapshotter's.
@pytest.mark.parametrize("component, values", [
    ("controller", []), ("node", ["provisioning=nodes"])])
def test_the_snapshotter(release, snapshot_api, objects, pool_disk, driver, tmp_path, component,
                         values):
    release.upgrade(values)
    rendered, pod = render("snapshots.enabled=true", *values), make_pod(objects, component)
    with sidecar(release.server, driver, rendered, component, "provisioner", pod, tmp_path), \
            sidecar(release.server, driver, rendered, "controller", "snapshotter", pod, tmp_path):
        objects.apply(CLAIM)
        volume = expect_volume(objects)
        bind(objects, volume)
        content = take_snapshot(objects, volume)
        assert content["status"]["restoreSize"] == 64 << 20
        restored = restore_snapshot(objects)
        remove_snapshot(objects)
        release_volume(objects, volume)
        release_volume(objects, restored, "restored")
        expect_deletion(objects)
    assert not list((tmp_path / "pool" / "volumes").iterdir())
    objects.delete("pod", pod, NAMESPACE)
