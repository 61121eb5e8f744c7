# SPDX-License-Identifier: Apache-2.0
"""An authenticated node that lies about a snapshot of its own that another node is to copy: nothing
false is written, and no call succeeds."""

import hashlib

import csi_client
import grpc
import link_pb2
import pytest
from cluster import segment, until
from csi_client import code_of
from driver import MIB
from falsehoods import LONG, falsify
from link_messages import result_with
from link_peer import peer_channel, register, volume_id
from rogue_node import rogue_node

SIZE = 64 * MIB
SNAPSHOT = "s:" + volume_id("n1", "snap")
REFUSALS = {"ABORTED", "UNAVAILABLE", "INTERNAL", "INVALID_ARGUMENT", "OUT_OF_RANGE",
            "RESOURCE_EXHAUSTED"}
DATA = b"real" * 1024


def description(**fields):
    return link_pb2.Content(**{"capacity_bytes": SIZE, "data_bytes": MIB, "sector_size": 4096,
                               "access_type": "block", "version": "1", **fields})


@pytest.fixture
def source(new_cluster, directory):
    """The cluster with the honest n2, and the rogue n1 that has the snapshot."""
    cluster = new_cluster("n2")
    with rogue_node(cluster, directory) as rogue:
        rogue.answers["DescribeContent"] = lambda command: result_with(description())
        rogue.answers["SendContent"] = lambda command: link_pb2.Result(code=13, message="no")
        yield cluster, rogue


def restore(cluster, name):
    """The volume, or None."""
    try:
        return cluster.call(
            "CreateVolume", name=name, capacity_range=csi_client.at_least(SIZE),
            volume_capabilities=[csi_client.capability("block")],
            volume_content_source=csi_client.content_source(SNAPSHOT), parameters={},
            accessibility_requirements={"requisite": [segment("n2")]}).volume
    except grpc.RpcError as error:
        assert code_of(error) in REFUSALS, error
        return None


def delete_all(cluster):
    node = cluster.nodes["n2"]
    for path in (node.pool / "volumes").iterdir():
        cluster.call("DeleteVolume", volume_id=f"default:n2:{path.name}")
    assert not list((node.pool / "volumes").iterdir())


def test_false_descriptions(source):
    cluster, rogue = source
    lies = [what for what, _ in falsify(description(), (SNAPSHOT,))]
    for number, what in enumerate(lies):
        rogue.answers["DescribeContent"] = lambda command, number=number: result_with(
            [lie for _, lie in falsify(description(), (SNAPSHOT,))][number])
        assert restore(cluster, f"pvc-{number}") is None, what
        delete_all(cluster)
    for odd in (b"\x0b" * 100, b"\xf8\x07\x01" * 20_000, LONG.encode()):
        rogue.answers["DescribeContent"] = lambda command, odd=odd: link_pb2.Result(response=odd)
        assert restore(cluster, "odd") is None
    delete_all(cluster)


class Sender:
    """The source's end of a transfer, that sends what the test says."""

    def __init__(self, cluster, directory):
        self.cluster, self.directory, self.parts = cluster, directory, []
        self.streams = []

    def send(self, command):
        request = link_pb2.SendContent.FromString(command.request)
        opening = link_pb2.Part(opening={"node": register("n1"), "ticket": request.ticket})
        channel = peer_channel(self.cluster, self.directory, "n1")
        call = channel.stream_stream("/holdfast.link.v1.Transfer/Join",
                                     request_serializer=lambda data: data,
                                     response_deserializer=link_pb2.Part.FromString)
        parts = [opening.SerializeToString(), *self.parts]
        self.streams.append((channel, call(iter(parts), timeout=60)))
        return link_pb2.Result()


def data(offset, content, digest=None):
    digest = hashlib.sha256(content).digest() if digest is None else digest
    return link_pb2.Part(data={"offset": offset, "bytes": content, "sha256": digest}
                         ).SerializeToString()


def end(**fields):
    return link_pb2.Part(end={"size": SIZE, **fields}).SerializeToString()


LIES = {
    "another digest": [data(0, DATA, bytes(32)), end()],
    "no digest": [data(0, DATA, b""), end()],
    "backwards": [data(MIB, DATA), data(0, DATA), end()],
    "twice": [data(0, DATA), data(0, DATA), end()],
    "behind the end": [data(SIZE, DATA), end()],
    "over the end": [data(SIZE - 1, DATA), end()],
    "far away": [data((1 << 63) - 1, DATA), end()],
    "before the start": [data(-4096, DATA), end()],
    "nothing": [data(0, b""), end()],
    "more than a piece": [data(0, bytes(MIB + 1)), end()],
    "another size": [data(0, DATA), end(size=SIZE // 2)],
    "an error": [data(0, DATA), end(code=5, message=LONG[:1000])],
    "no end": [data(0, DATA)],
    "not a message": [b"\xff" * 100],
    "an opening": [link_pb2.Part(opening={"ticket": "x"}).SerializeToString()],
    "a start": [link_pb2.Part(start={"offset": SIZE}).SerializeToString()],
}


def test_false_contents(source, directory):
    cluster, rogue = source
    sender = Sender(cluster, directory)
    rogue.answers["SendContent"] = sender.send
    for number, (what, parts) in enumerate(LIES.items()):
        sender.parts = parts
        assert restore(cluster, f"pvc-{number}") is None, what
        delete_all(cluster)
    sender.parts = [data(0, DATA), data(MIB, DATA), end()]
    made = []
    until(lambda: made.append(restore(cluster, "honest")) or made[-1], "the truth is not taken", 60)
    image = cluster.nodes["n2"].image(made[-1].volume_id).read_bytes()
    assert (image[:len(DATA)], image[MIB:MIB + len(DATA)]) == (DATA, DATA)
    assert not any(image[len(DATA):MIB]) and not any(image[MIB + len(DATA):])
    delete_all(cluster)
    for channel, stream in sender.streams:
        stream.cancel()
        channel.close()
