# SPDX-License-Identifier: Apache-2.0
"""The whole cluster: a control plane and nodes, started concurrently."""

import concurrent.futures
import os

from cluster import images, network
from cluster.certificates import Authority
from cluster.control_plane import SERVER, ControlPlane
from cluster.node import Node
from cluster.processes import run
from cluster.sidecars import Sidecars


class Cluster:
    """Must be created in private namespaces (network, processes, mounts), which end with it."""

    def __init__(self, directory, tools, disk_size, nodes=2, sidecars=None):
        self.directory = directory
        self.tools = tools
        self.sidecars = sidecars or Sidecars(tools)
        authority = Authority(directory / "certificates", SERVER)
        self.control_plane = ControlPlane(directory / "control-plane", tools, self.sidecars,
                                          authority)
        self.api = self.control_plane.api
        self.nodes = {}
        for number in range(1, nodes + 1):
            node = Node(number, directory / f"n{number}", tools, self.control_plane, disk_size)
            self.nodes[node.name] = node

    def start(self, archives=()):
        network.make_bridge()
        archives = [*images.write_all(self.directory / "images", self.tools, self.sidecars),
                    *archives]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            work = [pool.submit(self.control_plane.start)]
            work += [pool.submit(node.start_runtime, archives) for node in self.nodes.values()]
            for done in work:
                done.result()
        for node in self.nodes.values():
            node.kubelet.start()
        for node in self.nodes.values():
            node.wait_until_ready()
        return self

    def kubectl(self, *words):
        return run(self.tools / "kubectl", "--kubeconfig", self.control_plane.admin, *words)

    def helm(self, *words):
        environment = {**os.environ, "KUBECONFIG": str(self.control_plane.admin),
                       "HOME": str(self.directory)}
        return run(self.tools / "helm", *words, env=environment)

    def stop(self):
        for node in self.nodes.values():
            node.crash()
            for disk in node.disks.values():
                disk.remove()
        self.control_plane.stop()
