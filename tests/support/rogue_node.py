# SPDX-License-Identifier: Apache-2.0
"""A node whose certificate is good and whose answers are what the test wants: what root of one
machine of the cluster can do on the link."""

import contextlib
import threading

import csi_pb2
import grpc
import link_pb2
from cluster import segment
from link_peer import peer_as, pools_of, register, volume_id

SECONDS = 600
KINDS = {"create_volume": "create_volume", "expand_volume": "expand_volume",
         "get_volume": "get_volume", "list_volumes": "list_volumes",
         "validate_volume_capabilities": "validate_volume_capabilities"}


class Rogue:
    """Answers commands on a thread of its own: as a node should, after `lie` has had its way."""

    def __init__(self, peer, name):
        self.peer, self.name = peer, name
        self.commands = []
        self.lie = lambda command, result: result
        self.sizes = {}  # of its volumes, by id
        self.thread = threading.Thread(target=self.answer_all)

    def answer_all(self):
        with contextlib.suppress(grpc.RpcError, StopIteration):
            while True:
                command = self.peer.receive().command
                self.commands.append(command)
                result = self.lie(command, self.honest(command))
                if result is not None:
                    result.id = command.id
                    self.peer.send(result=result)

    def asked(self, kind):
        return [getattr(command, kind) for command in list(self.commands)
                if command.WhichOneof("request") == kind]

    def honest(self, command):
        kind = command.WhichOneof("request")
        request = getattr(command, kind)
        result = link_pb2.Result()
        if kind == "create_volume":
            result.create_volume.volume.CopyFrom(self.describe(
                volume_id(self.name, request.name, request.parameters.get("pool") or "default"),
                request.capacity_range.required_bytes))
        elif kind == "expand_volume":
            size = request.capacity_range.required_bytes
            self.sizes[request.volume_id] = size
            result.expand_volume.capacity_bytes = size
            result.expand_volume.node_expansion_required = True
        elif kind == "get_volume":
            result.get_volume.volume.CopyFrom(self.describe(request.volume_id))
            result.get_volume.status.volume_condition.message = "storage is as promised"
        elif kind == "validate_volume_capabilities":
            result.validate_volume_capabilities.confirmed.volume_capabilities.extend(
                request.volume_capabilities)
        elif kind == "list_volumes":
            result.list_volumes.SetInParent()
            for volume in sorted(self.sizes):
                entry = result.list_volumes.entries.add()
                entry.volume.CopyFrom(self.describe(volume))
                entry.status.volume_condition.message = "storage is as promised"
        return result

    def describe(self, volume, size=None):
        size = self.sizes.setdefault(volume, size or 1 << 30)
        return csi_pb2.Volume(volume_id=volume, capacity_bytes=size,
                              accessible_topology=[segment(self.name)])


@contextlib.contextmanager
def rogue_node(cluster, directory, name="n1", pools=("default",), volumes=(), **fields):
    with peer_as(cluster, directory, name, SECONDS) as peer:
        rogue = Rogue(peer, name)
        peer.send(register=register(name, pools=pools_of(name, *pools), **fields))
        peer.prove(volumes)
        rogue.thread.start()
        cluster.wait_for(name)
        yield rogue
        peer.outgoing.put(None)
        peer.stream.cancel()
    rogue.thread.join()
