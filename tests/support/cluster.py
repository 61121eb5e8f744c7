# SPDX-License-Identifier: Apache-2.0
"""A controller and nodes that are linked, and the certificates that identify them."""

import dataclasses
import pathlib
import time

import csi_client
import csi_pb2
import driver
import serve
from link_files import Authority, free_port

TOPOLOGY_KEY = "topology.csi.holdfast.dev/node"
LINK_SECONDS = 20


class Controller:
    """The process without pools that nodes dial."""

    def __init__(self, binary, directory, tls, flags=()):
        directory.mkdir()
        self.port = free_port()
        self.directory = directory
        self.server = serve.Server(binary, directory, [], None, "controller",
                                   [f"--link-listen=127.0.0.1:{self.port}", f"--link-tls={tls}",
                                    *flags])
        self.client = csi_client.Client(self.server.socket)

    def start(self):
        assert self.server.start() is None, self.log()
        until(lambda: self.call("Probe").ready.value, "the controller does not become ready")
        return self

    def call(self, method, **fields):
        return self.client.call(method, **fields)

    def log(self):
        return (self.directory / serve.LOG).read_text(errors="replace")


class Node(driver.Driver):
    """A process with a pool and the Node service, which dials the controller."""

    def __init__(self, binary, directory, name, port, tls, pool_options="", flags=()):
        super().__init__(binary, directory, pool_options)
        self.name = name
        self.server = serve.Server(
            binary, directory, [f"default=file:{self.pool}{pool_options}"], name, "node",
            [f"--link-controller=localhost:{port}", f"--link-tls={tls}", *flags])


@dataclasses.dataclass
class Cluster:
    directory: pathlib.Path
    authority: Authority
    controller: Controller
    nodes: dict

    def call(self, method, **fields):
        return self.controller.call(method, **fields)

    def create(self, name, nodes=(), size=driver.SIZES["ext4"], access="mount", filesystem="ext4",
               provisioning="thin", preferred=(), source=None, timeout=csi_client.CALL_SECONDS,
               **parameters):
        capability = csi_client.capability(access, "" if access == "block" else filesystem)
        fields = {}
        if nodes or preferred:
            fields["accessibility_requirements"] = csi_pb2.TopologyRequirement(
                requisite=[segment(node) for node in nodes],
                preferred=[segment(node) for node in preferred])
        return self.call("CreateVolume", name=name, capacity_range=csi_client.at_least(size),
                         volume_capabilities=[capability],
                         parameters={"provisioning": provisioning, **parameters}, timeout=timeout,
                         volume_content_source=csi_client.content_source(source), **fields).volume

    def snapshot(self, volume_id, name):
        return self.call("CreateSnapshot", source_volume_id=volume_id, name=name).snapshot

    def create_again(self, *arguments, **named):
        """As a CO repeats it: the call before, which was given up, may still be under way."""
        volumes = []

        def made():
            try:
                volumes.append(self.create(*arguments, **named))
            except csi_client.grpc.RpcError as error:
                assert csi_client.code_of(error) == "ABORTED", error
            return volumes

        until(made, "a call for the same name does not end")
        return volumes[0]

    def capacity(self, node=None, provisioning="thin"):
        where = {"accessible_topology": segment(node)} if node else {}
        return self.call("GetCapacity", parameters={"provisioning": provisioning}, **where)

    def wait_for(self, *nodes, seconds=LINK_SECONDS):
        """Waits until the controller answers for each of the nodes."""
        for node in nodes:
            until(lambda: self.is_linked(node), f"node {node} is not linked", seconds)

    def is_linked(self, node):
        try:
            return self.capacity(node) is not None
        except csi_client.grpc.RpcError as error:
            assert csi_client.code_of(error) == "UNAVAILABLE", error
            return False


def segment(node):
    return csi_pb2.Topology(segments={TOPOLOGY_KEY: node})


def node_of(volume):
    return volume.accessible_topology[0].segments[TOPOLOGY_KEY]


def until(condition, problem, seconds=LINK_SECONDS):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, problem
        time.sleep(0.01)
