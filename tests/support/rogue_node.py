# SPDX-License-Identifier: Apache-2.0
"""A node with a valid certificate whose answers are chosen by the test: what root on one machine of
the cluster can do on the link."""

import contextlib
import threading

import csi_pb2
import grpc
from cluster import segment
from link_messages import request_in, response_type, result_with
from link_peer import peer_as, pools_of, register, volume_id

SECONDS = 600


class Rogue:
    """Answers commands on its own thread: as a node should, after `lie` has modified the answer."""

    def __init__(self, peer, name):
        self.peer, self.name = peer, name
        self.commands = []
        self.lie = lambda command, result: result
        self.sizes = {}  # of its volumes, by id
        self.answers = {}  # to methods that only the link has: functions of the command
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

    def asked(self, method):
        return [request_in(command) for command in list(self.commands) if command.method == method]

    def honest(self, command):
        if command.method in self.answers:
            return self.answers[command.method](command)
        return result_with(self.respond(command.method, request_in(command)))

    def respond(self, method, request):
        response = response_type(method)()
        if method == "CreateVolume":
            response.volume.CopyFrom(self.describe(
                volume_id(self.name, request.name, request.parameters.get("pool") or "default"),
                request.capacity_range.required_bytes))
        elif method == "ControllerExpandVolume":
            size = request.capacity_range.required_bytes
            self.sizes[request.volume_id] = size
            response.capacity_bytes = size
            response.node_expansion_required = True
        elif method == "ControllerGetVolume":
            response.volume.CopyFrom(self.describe(request.volume_id))
            response.status.volume_condition.message = "the storage is intact"
        elif method == "ValidateVolumeCapabilities":
            response.confirmed.volume_capabilities.extend(request.volume_capabilities)
        elif method == "ListVolumes":
            for volume in sorted(self.sizes):
                entry = response.entries.add()
                entry.volume.CopyFrom(self.describe(volume))
                entry.status.volume_condition.message = "the storage is intact"
        return response

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
