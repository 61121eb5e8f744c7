# SPDX-License-Identifier: Apache-2.0
"""etcd, a real apiserver and the stock external-provisioner on loopback, and nodes that are objects
only: no kubelet, no scheduler."""
import json
import os
import pathlib
import re
import shutil
import tempfile

from cluster.api import Api, collection
from cluster.certificates import Authority
from cluster.processes import Process, until
from link_files import free_port

DRIVER = "csi.holdfast.dev"
TOPOLOGY_KEY = f"topology.{DRIVER}/node"
NAMESPACE = "default"
CLASSES = ("thick", "thin")  # the provisioning of each is its name
MANIFEST = pathlib.Path("deploy/kubernetes/controller.yaml")
_UNITS = {"": 1, **{f"{unit}i": 1024**power for power, unit in enumerate("KMGTPE", 1)}}


class ControlPlane:
    """A context."""

    def __init__(self, directory: pathlib.Path, tools: pathlib.Path):
        self._directory = directory
        self._tools = tools
        self._etcd, self._port = free_port(), free_port()
        self._data = None
        self._processes = []
        self.authority = Authority(directory / "kubernetes", f"https://127.0.0.1:{self._port}")
        self.kubeconfig = self.authority.kubeconfig("admin", "/O=system:masters/CN=admin")
        self.api = Api(self.authority.server, self.authority)

    def __enter__(self):
        try:
            self._start_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start_all(self) -> None:
        # In memory, because the disk's fsyncs are not measured here.
        self._data = tempfile.mkdtemp(prefix="holdfast-etcd-", dir="/dev/shm")
        store = f"http://127.0.0.1:{self._etcd}"
        self.start("etcd", "etcd", f"--data-dir={self._data}", f"--listen-client-urls={store}",
                   f"--advertise-client-urls={store}",
                   f"--listen-peer-urls=http://127.0.0.1:{free_port()}", "--log-level=warn")
        certificate, key = self.authority.issue("apiserver", "/CN=kube-apiserver",
                                                ("IP:127.0.0.1",))
        apiserver = self.start(
            "kube-apiserver", self._tools / "kube-apiserver", f"--etcd-servers={store}",
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
            f"--secure-port={self._port}", "--endpoint-reconciler-type=none",
            "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.authority.account_key}",
            f"--service-account-signing-key-file={self.authority.account_key}",
            f"--client-ca-file={self.authority.certificate}", f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}")

        def is_ready():
            apiserver.check()
            return self.api.is_ready() and self.api.find("Namespace", NAMESPACE)
        until(is_ready, lambda: f"the apiserver is not ready:\n{apiserver.tail()}", 120)

    def __exit__(self, *_):
        for process in reversed(self._processes):
            process.kill()
        shutil.rmtree(self._data)

    def start(self, name: str, *command, **environment) -> Process:
        process = Process(command, self._directory / f"{name}.log",
                          environment={**os.environ, **environment})
        self._processes.append(process)
        return process.start()

    def start_provisioner(self, socket: pathlib.Path, root: pathlib.Path) -> Process:
        """With the flags of the manifests that are shipped. No pod owns the objects here."""
        manifest = (root / MANIFEST).read_text(encoding="utf-8")
        container = manifest.split("- name: provisioner", 1)[1].split("env:", 1)[0]
        flags = re.findall(r"^\s+- (--\S+)", container, re.MULTILINE)
        return self.start("csi-provisioner", self._tools / "csi-provisioner", *flags,
                          f"--csi-address={socket}", f"--kubeconfig={self.kubeconfig}",
                          "--capacity-ownerref-level=-1", NAMESPACE=NAMESPACE, POD_NAME="bench")

    def install(self) -> None:
        """The objects that the driver needs besides nodes."""
        self.api.create({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
                         "metadata": {"name": DRIVER},
                         "spec": {"attachRequired": False, "storageCapacity": True}})
        for name in CLASSES:
            self.api.create({
                "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                "metadata": {"name": name}, "provisioner": DRIVER,
                "parameters": {"provisioning": name, "csi.storage.k8s.io/fstype": "ext4"},
                "volumeBindingMode": "WaitForFirstConsumer", "allowVolumeExpansion": True})

    def add_node(self, name: str) -> None:
        """As a kubelet leaves them when the driver has registered."""
        self.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": name, "labels": {"kubernetes.io/hostname": name, TOPOLOGY_KEY: name}}})
        self.api.create({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name},
            "spec": {"drivers": [
                {"name": DRIVER, "nodeID": name, "topologyKeys": [TOPOLOGY_KEY]}]}})

    def remove_node(self, name: str) -> None:
        self.api.delete("CSINode", name)
        self.api.delete("Node", name)

    def claim(self, name: str, node: str) -> None:
        """As the scheduler and the volume controller leave it: a node is chosen."""
        self.api.create({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "annotations": {
                "volume.kubernetes.io/selected-node": node,
                "volume.kubernetes.io/storage-provisioner": DRIVER}},
            "spec": {"storageClassName": CLASSES[0], "accessModes": ["ReadWriteOnce"],
                     "resources": {"requests": {"storage": "1Gi"}}}})

    def count(self, kind: str) -> int:
        """Without fetching them all."""
        page = json.loads(self.api.request("GET", f"{collection(kind, NAMESPACE)}?limit=1"))
        return len(page["items"]) + page["metadata"].get("remainingItemCount", 0)

    def capacities(self) -> dict[tuple[str, str], tuple[int, int]]:
        """By node and class: capacity and maximum volume size in bytes."""
        return {(item["nodeTopology"]["matchLabels"][TOPOLOGY_KEY], item["storageClassName"]):
                (_bytes(item["capacity"]), _bytes(item["maximumVolumeSize"]))
                for item in self.api.list("CSIStorageCapacity", NAMESPACE)
                if "capacity" in item and "maximumVolumeSize" in item}


def _bytes(quantity: str) -> int:
    number, unit = re.fullmatch(r"(\d+)(\w*)", quantity).groups()
    return int(number) * _UNITS[unit]
