# SPDX-License-Identifier: Apache-2.0
"""Claims, pods and classes of the tests, and the conditions that tests wait for."""

import itertools
import json

from cluster import images
from cluster.api import ApiError
from cluster.processes import until

DRIVER = "csi.holdfast.dev"
TOPOLOGY_KEY = "topology.csi.holdfast.dev/node"
FACTORS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
           "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
MIB = 1 << 20
SIZES = {"ext4": "64Mi", "ext3": "64Mi", "xfs": "320Mi", "btrfs": "272Mi", "block": "64Mi"}
DATA, DEVICE = "/data", "/dev/volume"
RUNNING_SECONDS = 90
GONE_SECONDS = 90
# Deleted in this order: owners before the objects that they own, pods before their claims.
CLEANED = ("StatefulSet", "Pod", "PersistentVolumeClaim", "VolumeGroupSnapshot",
           "VolumeGroupSnapshotContent", "VolumeSnapshot", "VolumeSnapshotContent")
SNAPSHOT_API = "snapshot.storage.k8s.io/v1"
GROUP_API = "groupsnapshot.storage.k8s.io/v1"


def storage_class(name, filesystem="ext4", binding="WaitForFirstConsumer", reclaim="Delete",
                  expansion=True, mount_options=(), **parameters):
    if filesystem != "block":
        parameters["csi.storage.k8s.io/fstype"] = filesystem
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": DRIVER, "volumeBindingMode": binding, "reclaimPolicy": reclaim,
            "allowVolumeExpansion": expansion, "mountOptions": list(mount_options),
            "parameters": parameters}


def snapshot_class(name, policy="Delete", **parameters):
    return {"apiVersion": SNAPSHOT_API, "kind": "VolumeSnapshotClass", "metadata": {"name": name},
            "driver": DRIVER, "deletionPolicy": policy, "parameters": parameters}


def claim_spec(class_name, size, block=False, access="ReadWriteOnce"):
    return {"storageClassName": class_name, "accessModes": [access],
            "volumeMode": "Block" if block else "Filesystem",
            "resources": {"requests": {"storage": size}}}


def pod_spec(claims=(), block_claims=(), node=None, script="", read_only=False, volumes=(),
             sub_path="", **more):
    """A pod that runs a script and then waits. The first claim is at DATA or DEVICE, further claims
    at the same path with their number."""
    container = {"name": "main", "image": images.BUSYBOX, "imagePullPolicy": "Never",
                 "command": ["sh", "-c", f"{script}\nexec sleep 1000000"]}
    mounts = [{"name": f"v{number}", "mountPath": numbered(DATA, number), "readOnly": read_only,
               **({"subPath": sub_path} if sub_path else {})}
              for number in range(len(claims) + len(volumes))]
    devices = [{"name": f"d{number}", "devicePath": numbered(DEVICE, number)}
               for number in range(len(block_claims))]
    sources = [{"persistentVolumeClaim": {"claimName": name}} for name in claims] + list(volumes)
    spec = {"terminationGracePeriodSeconds": 1, "containers": [container],
            "automountServiceAccountToken": False, "volumes": [
                *({"name": f"v{number}", **source} for number, source in enumerate(sources)),
                *({"name": f"d{number}", "persistentVolumeClaim": {"claimName": name}}
                  for number, name in enumerate(block_claims))], **more}
    container.update({key: value for key, value in (("volumeMounts", mounts),
                                                    ("volumeDevices", devices)) if value})
    if node:
        spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    return spec


def numbered(path, number):
    return f"{path}{number}" if number else path


def number_of_bytes(quantity):
    """Returns the value of a Kubernetes quantity such as 64Mi, 100M or 4096."""
    for suffix, factor in FACTORS.items():
        if quantity.endswith(suffix):
            return int(quantity.removesuffix(suffix)) * factor
    return int(quantity)


class Workloads:
    """The objects of one test; clean() removes those that remain."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.api = cluster.api
        self.numbers = itertools.count(1)

    def create(self, kind, spec, name=None, version="v1", **metadata):
        name = name or f"{kind.lower()[:12]}-{next(self.numbers)}"
        return self.api.create({"apiVersion": version, "kind": kind, "spec": spec,
                                "metadata": {"name": name, **metadata}})["metadata"]["name"]

    def claim(self, class_name, size=None, block=None, access="ReadWriteOnce", name=None,
              **metadata):
        block = class_name == "block" if block is None else block
        return self.create("PersistentVolumeClaim", claim_spec(
            class_name, size or SIZES[class_name], block, access), name, **metadata)

    def snapshot(self, claim, class_name=None):
        """The name of a VolumeSnapshot, of the class for the driver's volumes if none is named."""
        spec = {"source": {"persistentVolumeClaimName": claim}}
        if class_name:
            spec["volumeSnapshotClassName"] = class_name
        return self.create("VolumeSnapshot", spec, version=SNAPSHOT_API)

    def ready_snapshot(self, claim, class_name=None):
        return self.ready(self.snapshot(claim, class_name))

    def ready(self, snapshot):
        until(lambda: self.snapshot_status(snapshot).get("readyToUse"),
              lambda: f"snapshot {snapshot} is not ready: {self.snapshot_status(snapshot)}")
        return snapshot

    def snapshot_status(self, name):
        return self.api.get("VolumeSnapshot", name).get("status", {})

    def ready_group(self, **labels):
        """The name of a VolumeGroupSnapshot of the claims with these labels."""
        group = self.create("VolumeGroupSnapshot", {"source": {"selector": {
            "matchLabels": labels}}}, version=GROUP_API)
        until(lambda: self.group_status(group).get("readyToUse"),
              lambda: f"group snapshot {group} is not ready: {self.group_status(group)}")
        return group

    def group_status(self, name):
        return self.api.get("VolumeGroupSnapshot", name).get("status", {})

    def members_of(self, group):
        """The names of the group's VolumeSnapshots that are ready, by the handles of their volumes."""
        content = self.api.get("VolumeGroupSnapshotContent", self.group_status(group)[
            "boundVolumeGroupSnapshotContentName"])
        volumes = {info["snapshotHandle"]: info["volumeHandle"]
                   for info in content["status"].get("volumeSnapshotInfoList", [])}
        ready = [one for one in self.api.list("VolumeSnapshotContent")
                 if one.get("status", {}).get("readyToUse")]
        return {volumes[one["status"]["snapshotHandle"]]: one["spec"]["volumeSnapshotRef"]["name"]
                for one in ready if one["status"]["snapshotHandle"] in volumes}

    def content_of(self, snapshot):
        """Returns the name of the VolumeSnapshotContent."""
        return self.snapshot_status(snapshot)["boundVolumeSnapshotContentName"]

    def claim_from(self, class_name, kind, source, size=None, access="ReadWriteOnce"):
        """A claim for a copy of a VolumeSnapshot or PersistentVolumeClaim."""
        group = SNAPSHOT_API.split("/")[0] if kind == "VolumeSnapshot" else ""
        spec = claim_spec(class_name, size or SIZES[class_name], class_name == "block", access)
        return self.create("PersistentVolumeClaim", {
            **spec, "dataSource": {"apiGroup": group, "kind": kind, "name": source}})

    def pod(self, claim=None, name=None, labels=None, **spec):
        claims = [claim] if claim else []
        return self.create("Pod", pod_spec(claims, **spec), name, labels=labels or {})

    def pod_for(self, class_name, claim, **spec):
        """A pod with the claim in the class's form, a filesystem or a device."""
        if class_name == "block":
            return self.pod(block_claims=[claim], **spec)
        return self.pod(claim, **spec)

    def several(self, claims, block_claims):
        return self.create("Pod", pod_spec(claims, block_claims))

    def running(self, *pods, seconds=RUNNING_SECONDS):
        for pod in pods:
            until(lambda: self.phase(pod) == "Running",
                  lambda: f"pod {pod} does not run: {self.explain(pod)}", seconds)
        return pods[0]

    def phase(self, pod):
        found = self.api.find("Pod", pod)
        ready = found and all(status["ready"]
                              for status in found["status"].get("containerStatuses", []))
        phase = found["status"]["phase"] if found else None
        return phase if phase != "Running" or ready else "NotReady"

    def restarts(self, pod):
        return self.api.get("Pod", pod)["status"]["containerStatuses"][0]["restartCount"]

    def node_of(self, pod):
        return self.api.get("Pod", pod)["spec"]["nodeName"]

    def uid(self, kind, name):
        """Returns the identity of the object under this name, or None."""
        found = self.api.find(kind, name)
        return found["metadata"]["uid"] if found else None

    def explain(self, pod):
        """Returns the pod's last events as one text."""
        return "; ".join(event["message"] for event in self.events("Pod", pod)[-4:])

    def eventually(self, pod, text):
        """Waits until an event of the pod says the text."""
        until(lambda: any(text in event["message"] for event in self.events("Pod", pod)),
              lambda: f"no event of pod {pod} says '{text}': {self.explain(pod)}", RUNNING_SECONDS)

    def events(self, kind, name):
        selector = f"involvedObject.kind={kind},involvedObject.name={name}"
        return self.api.list("Event", fieldSelector=selector)

    def bound(self, claim, seconds=RUNNING_SECONDS):
        """Waits until the claim is bound and returns its PersistentVolume."""
        until(lambda: self.claim_phase(claim) == "Bound",
              lambda: "; ".join([f"claim {claim} is not bound", *(
                  event["message"]
                  for event in self.events("PersistentVolumeClaim", claim)[-4:])]), seconds)
        return self.volume_of(claim)

    def claim_phase(self, claim):
        return self.api.get("PersistentVolumeClaim", claim)["status"].get("phase")

    def volume_of(self, claim):
        found = self.api.get("PersistentVolumeClaim", claim)
        return self.api.get("PersistentVolume", found["spec"]["volumeName"])

    def sh(self, pod, script, container="main"):
        return self.cluster.kubectl("exec", pod, "-c", container, "--", "sh", "-c", script)

    def statistics(self, pod):
        """Returns kubelet's report about the pod's first claim, {} while it has none."""
        path = f"api/v1/nodes/{self.node_of(pod)}/proxy/stats/summary"
        pods = json.loads(self.api.request("GET", path))["pods"]
        volumes = [volume for found in pods if found["podRef"]["name"] == pod
                   for volume in found.get("volume", []) if "pvcRef" in volume]
        return volumes[0] if volumes else {}

    def delete(self, kind, *names):
        for name in names:
            self.api.delete(kind, name, propagationPolicy="Foreground")

    def gone(self, kind, *names, seconds=GONE_SECONDS):
        for name in names:
            until(lambda: self.api.find(kind, name) is None, lambda: (
                f"{kind} {name} does not go: {json.dumps(self.api.find(kind, name))[:3000]}"),
                  seconds)

    def remove(self, kind, *names):
        self.delete(kind, *names)
        self.gone(kind, *names)

    def clean(self):
        """Returns a sentence for each object that is not deleted."""
        problems = []
        for content in self.api.list("VolumeSnapshotContent"):
            self.api.patch("VolumeSnapshotContent", content["metadata"]["name"],
                           {"spec": {"deletionPolicy": "Delete"}})
        for kind in CLEANED:
            names = [found["metadata"]["name"] for found in self.api.list(kind)]
            try:
                self.remove(kind, *names)
            except (AssertionError, ApiError) as problem:
                problems.append(str(problem))
        return problems
