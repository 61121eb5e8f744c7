# SPDX-License-Identifier: Apache-2.0
"""A node: namespaces, disk, containerd and kubelet."""

import shutil

from cluster import network
from cluster.api import ApiError
from cluster.cgroups import Cgroups
from cluster.disk import Disk
from cluster.kubelet import Kubelet
from cluster.namespace import Namespace
from cluster.processes import until
from cluster.runtime import Runtime


DISK, COPYING_DISK = "/var/lib/holdfast", "/var/lib/disks/copying"
COPYING_BYTES = 2 << 30
STATE = f"{DISK}/state"  # of the driver


class Node:
    def __init__(self, number, directory, tools, control_plane, disk_size):
        self.name = f"n{number}"
        self.number = number
        self.api = control_plane.api
        directory.mkdir()
        self.disk = Disk(directory / "disk.img", disk_size)
        # ext4 cannot share blocks between files.
        self.disks = {DISK: self.disk,
                      COPYING_DISK: Disk(directory / "copying.img", COPYING_BYTES, "ext4")}
        self.namespace = Namespace(self.name, directory, tools, self.disks,
                                   Cgroups(f"{directory.parent.name}/{self.name}"))
        self.runtime = Runtime(number, self.namespace)
        self.kubelet = Kubelet(number, self.namespace, tools, control_plane.authority)

    def start_runtime(self, archives=()):
        self.namespace.start()
        network.connect(self.number, self.name, self.namespace.pid)
        self.runtime.start()
        for archive in archives:
            self.runtime.import_image(archive)

    def boot(self):
        self.start_runtime()
        self.kubelet.start()

    def crash(self):
        self.namespace.crash()

    def replace(self):
        """A new machine with the same name replaces the crashed node."""
        for disk in self.disks.values():
            disk.remove()
            disk.image.unlink()
            disk.make()
        self.forget_kubelet()

    def reinstall(self):
        """The crashed node boots from a new system: it has its name and the pools on its disks."""
        self.forget_kubelet()
        self.start_runtime()
        shutil.rmtree(self.namespace.path(STATE))
        self.kubelet.start()

    def forget_kubelet(self):
        directory = self.namespace.directory / "kubelet"
        shutil.rmtree(directory)
        directory.mkdir()

    def label(self, key, value):
        """Sets the label, or removes it (None)."""
        self.api.patch("Node", self.name, {"metadata": {"labels": {key: value}}})

    def is_ready(self):
        """Both the cluster and the kubelet must say so: the cluster believes the last word of a
        kubelet that has ended."""
        node = self.api.find("Node", self.name)
        conditions = node["status"].get("conditions", []) if node else []
        return self.kubelet_answers() and any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in conditions)

    def kubelet_answers(self):
        try:
            return self.api.request("GET", f"api/v1/nodes/{self.name}/proxy/healthz") == "ok"
        except ApiError:
            return False

    def wait_until_ready(self):
        def ready():
            self.kubelet.process.check()
            return self.is_ready()
        until(ready, lambda: f"{self.name} is not ready:\n{self.kubelet.process.tail()}")

    def run(self, *command):
        return self.namespace.run(*command)
