# SPDX-License-Identifier: Apache-2.0
"""A peer of the link with a good certificate that says what the test wants."""

import contextlib
import queue

import grpc
import link_pb2
from csi_client import code_of

ENDED_SECONDS = 60


class Peer:
    """One stream, written to as the test likes."""

    def __init__(self, channel):
        self.outgoing = queue.Queue()
        call = channel.stream_stream("/holdfast.link.v1.Link/Connect",
                                     request_serializer=lambda message: message,
                                     response_deserializer=link_pb2.ToNode.FromString)
        self.stream = call(iter(self.outgoing.get, None), timeout=ENDED_SECONDS)

    def send(self, **message):
        self.send_bytes(link_pb2.FromNode(**message).SerializeToString())

    def send_bytes(self, data):
        self.outgoing.put(data)

    def receive(self):
        return next(self.stream)

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


@contextlib.contextmanager
def peer_as(cluster, directory, name="n2"):
    tls = cluster.authority.issue(name, directory / f"{name}-peer-tls")
    credentials = grpc.ssl_channel_credentials(*((tls / file).read_bytes()
                                                 for file in ("ca.crt", "tls.key", "tls.crt")))
    with grpc.secure_channel(f"localhost:{cluster.controller.port}", credentials) as channel:
        yield Peer(channel)


def register(name="n2", **fields):
    return link_pb2.Register(protocol=1, driver="csi.holdfast.dev", node=name, **fields)
