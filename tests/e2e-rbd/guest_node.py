# SPDX-License-Identifier: Apache-2.0
"""A node of the cluster that is a virtual machine: its kernel has the rbd module."""

import json
import os
import pathlib
import threading

import boot_files
import ceph_cluster
import initramfs
import machine
from cluster import network
from cluster.kubelet import Kubelet
from cluster.processes import until
from cluster.runtime import SOCKET, Runtime

TESTS = pathlib.Path(__file__).resolve().parents[1]
TOKEN = "kubernetes-node"
MEMORY = "3G"
DISK_BYTES = 8 << 30
DEADLINE_S = 3600
READY_S = 600


def kernel():
    return boot_files.kernel("drivers/block/rbd.ko*")


def what_is_missing():
    """Returns why there can be no such node here, with the remedy; or None."""
    if missing := boot_files.missing_on_host() or ceph_cluster.what_is_missing():
        return missing
    if not os.path.exists("/dev/net/tun"):
        return "/dev/net/tun is missing: modprobe tun"
    return None if kernel() else "no kernel with an rbd module: install linux-image-amd64"


class Home:
    """The node's files and name; unlike other nodes it uses no namespace here."""

    def __init__(self, name, directory):
        self.name = name
        self.directory = directory
        self.enter = ()


class GuestNode:
    def __init__(self, number, cluster, kernel):
        directory, control_plane = cluster.directory / f"n{number}", cluster.control_plane
        self.name = f"n{number}"
        self.number = number
        self.api = control_plane.api
        self.kernel = kernel
        self.directory = directory
        self.logs = directory.with_name(f"{self.name}-logs")
        for sub in (directory, self.logs):
            sub.mkdir()
        home = Home(self.name, directory)
        self.runtime = Runtime(number, home)
        self.kubelet = Kubelet(number, home, cluster.tools, control_plane.authority)
        self.machine = None
        self.lines = []

    def start(self, archives):
        network.connect_guest(self.number, self.name)
        (self.directory / "node.json").write_text(json.dumps({
            "name": self.name, "address": f"{network.node_address(self.number)}/24",
            "gateway": network.CONTROL_PLANE, "archives": [str(path) for path in archives],
            "runtime": [str(word) for word in self.runtime.command],
            "kubelet": [str(word) for word in self.kubelet.command],
            "control_runtime": ["ctr", "--address", SOCKET, "--namespace", "k8s.io"]}))
        disk = self.directory / "disk"
        with disk.open("wb") as file:
            file.truncate(DISK_BYTES)
        archive = initramfs.build(boot_files.modules(self.kernel).name, self.directory)
        parameters = {"run_dir": self.directory, "disk_fs": "ext4", "token": TOKEN,
                      "scenario": "kubernetes-node", "phases": "run"}
        log = (self.directory / "console.log").open("ab")
        self.machine = machine.Machine(self.kernel, archive, disk, TESTS / "vm/guest/boot.sh",
                                       parameters, log, DEADLINE_S, MEMORY, self.devices())
        threading.Thread(target=self.read, daemon=True).start()
        return self

    def devices(self):
        address = network.hardware_address(self.number)
        return ["-netdev", f"tap,id=net,ifname={self.name},script=no,downscript=no",
                "-device", f"virtio-net-pci,netdev=net,mac={address},romfile=",
                "-virtfs", f"local,path={self.logs},mount_tag=logs,security_model=none"]

    def read(self):
        for line in self.machine.lines():
            self.lines.append(line)

    def check(self):
        failed = [line for line in self.lines if line.startswith(("FAILED", "EXIT"))]
        assert not failed, f"{failed[0]}\n{self.tail()}"

    def tail(self):
        logs = [self.directory / "console.log", *self.logs.glob("*.log")]
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}"
                         for log in logs if log.exists())

    def is_ready(self):
        self.check()
        node = self.api.find("Node", self.name)
        conditions = node["status"].get("conditions", []) if node else []
        return any(condition["type"] == "Ready" and condition["status"] == "True"
                   for condition in conditions)

    def wait_until_ready(self):
        until(self.is_ready, lambda: f"{self.name} is not ready:\n{self.tail()}", READY_S, 0.5)

    def cut_power(self):
        if self.machine:
            self.machine.cut_power()
