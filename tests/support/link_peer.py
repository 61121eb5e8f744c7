# SPDX-License-Identifier: Apache-2.0
"""A peer of the link with a valid certificate that sends what the test wants."""

import contextlib
import queue
import uuid

import grpc
import link_pb2
from csi_client import code_of

ENDED_SECONDS = 60
PART = 256  # volumes in one message
PETABYTE = 1 << 50
PROTOCOL = 3


class Peer:
    """One stream, written to as the test likes."""

    def __init__(self, channel, seconds=ENDED_SECONDS):
        self.outgoing = queue.Queue()
        call = channel.stream_stream("/holdfast.link.v1.Link/Connect",
                                     request_serializer=lambda message: message,
                                     response_deserializer=link_pb2.ToNode.FromString)
        self.stream = call(iter(self.outgoing.get, None), timeout=seconds)

    def send(self, **message):
        self.send_bytes(link_pb2.FromNode(**message).SerializeToString())

    def send_bytes(self, data):
        self.outgoing.put(data)

    def receive(self):
        return next(self.stream)

    def prove(self, volumes=()):
        """Answers the challenge and names its volumes, as (pool, name)."""
        self.send(proof={"nonce": self.receive().challenge.nonce})
        named = [{"pool": pool, "name": name} for pool, name in volumes]
        for start in range(0, len(named), PART):
            self.send(volumes={"volumes": named[start:start + PART]})
        self.send(volumes={"last": True})

    def code_at_end(self):
        """Reads to the end of the stream; how it ended."""
        try:
            for _ in self.stream:
                pass
        except grpc.RpcError as error:
            return code_of(error)
        finally:
            self.outgoing.put(None)
        return "OK"


def peer_channel(cluster, directory, name):
    """A connection of its own with the node's certificate."""
    tls = directory / f"{name}-peer-tls"
    if not tls.exists():
        cluster.authority.issue(name, tls)
    credentials = grpc.ssl_channel_credentials(*((tls / file).read_bytes()
                                                 for file in ("ca.crt", "tls.key", "tls.crt")))
    return grpc.secure_channel(f"localhost:{cluster.controller.port}", credentials,
                               [("grpc.use_local_subchannel_pool", 1)])


@contextlib.contextmanager
def peer_as(cluster, directory, name="n2", seconds=ENDED_SECONDS):
    with peer_channel(cluster, directory, name) as channel:
        yield Peer(channel, seconds)


def pool_id(node, pool="default"):
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{pool}.{node}"))


def volume_id(node, name, pool="default"):
    """The id that a node's volume of that name has (ADR 0008)."""
    return f"{pool}:{node}:{uuid.uuid5(uuid.UUID(pool_id(node, pool)), name)}"


def pools_of(node, *names, room=PETABYTE):
    sizes = {"available_capacity": room, "maximum_volume_size": {"value": room}}
    return {"pools": [{"name": name, "id": pool_id(node, name), "default_filesystem": "ext4",
                       "thick": sizes, "thin": sizes} for name in names or ("default",)]}


def register(name="n2", **fields):
    return link_pb2.Register(protocol=PROTOCOL, driver="csi.holdfast.dev", node=name, **fields)
