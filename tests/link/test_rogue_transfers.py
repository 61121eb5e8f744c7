# SPDX-License-Identifier: Apache-2.0
"""An authenticated node that lies about a snapshot of its own that another node is to copy: nothing
false is written, and no call succeeds."""

import csi_client
import grpc
import link_pb2
import pytest
import xxhash
from cluster import segment, until
from csi_client import code_of
from driver import MIB
from falsehoods import LONG, falsify
from link_files import free_port
from link_messages import result_with
from link_peer import peer_channel, register, volume_id
from observed import metric
from rogue_node import rogue_node

SIZE = 64 * MIB
SNAPSHOT = "s:" + volume_id("n1", "snap")
ORIGIN = volume_id("n1", "origin")
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


def restore(cluster, name, source=SNAPSHOT):
    """The volume, or None."""
    try:
        return cluster.call(
            "CreateVolume", name=name, capacity_range=csi_client.at_least(SIZE),
            volume_capabilities=[csi_client.capability("block")],
            volume_content_source=csi_client.content_source(source), parameters={},
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


def held(**fields):
    return link_pb2.HeldContent(**{"snapshot": SNAPSHOT, "content": description(), **fields})


def test_false_sources_of_clones(source):
    """What the node holds is a snapshot of its own, in the pool of the volume."""
    cluster, rogue = source
    rogue.answers["ReleaseContent"] = lambda command: link_pb2.Result()
    others = ("s:" + volume_id("n2", "snap"), "s:" + volume_id("n1", "snap", "other"), ORIGIN)
    for number, (what, _) in enumerate(falsify(held(), others)):
        rogue.answers["HoldContent"] = lambda command, number=number: result_with(
            [lie for _, lie in falsify(held(), others)][number])
        assert restore(cluster, f"pvc-{number}", ORIGIN) is None, what
        delete_all(cluster)
    sent = {link_pb2.SendContent.FromString(command.request).snapshot
            for command in rogue.commands if command.method == "SendContent"}
    assert sent == {SNAPSHOT}
    for code in (5, 6, 7, 12, 99):
        rogue.answers["HoldContent"] = lambda command, code=code: link_pb2.Result(code=code)
        with pytest.raises(grpc.RpcError) as error:
            cluster.create("copy", ["n2"], SIZE, access="block", source=ORIGIN)
        assert code_of(error.value) in ("NOT_FOUND", "ALREADY_EXISTS", "INTERNAL")
    assert not rogue.asked("CreateVolume")


class Sender:
    """The source's end of a transfer, that sends what the test says."""

    def __init__(self, cluster, directory):
        self.cluster, self.directory, self.parts = cluster, directory, []
        self.streams, self.tickets = [], []

    def send(self, command):
        self.tickets.append(link_pb2.SendContent.FromString(command.request).ticket)
        self.open(self.tickets[-1])
        return link_pb2.Result()

    def open(self, ticket):
        opening = link_pb2.Part(opening={"node": register("n1"), "ticket": ticket})
        channel = peer_channel(self.cluster, self.directory, "n1")
        call = channel.stream_stream("/holdfast.link.v1.Transfer/Join",
                                     request_serializer=lambda data: data,
                                     response_deserializer=link_pb2.Part.FromString)
        parts = [opening.SerializeToString(), *self.parts]
        self.streams.append((channel, call(sent(parts), timeout=60)))

    def close(self):
        for channel, stream in self.streams:
            stream.cancel()
            channel.close()


CUT = object()


def sent(parts):
    """Yields them; a stream whose parts end with CUT breaks there."""
    for part in parts:
        if part is CUT:
            raise ConnectionError("the test cuts the stream")
        yield part


def data(offset, content, digest=None):
    digest = xxhash.xxh3_128_digest(content) if digest is None else digest
    return link_pb2.Part(data={"offset": offset, "bytes": content, "xxh3": digest}
                         ).SerializeToString()


def end(**fields):
    return link_pb2.Part(end={"size": SIZE, **fields}).SerializeToString()


LIES = {
    "another digest": [data(0, DATA, bytes(16)), end()],
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


def test_altered_bytes_are_counted(source, directory):
    cluster, rogue = source
    node, port = cluster.nodes["n2"], free_port()
    node.server.command.append(f"--metrics-address=127.0.0.1:{port}")
    node.restart()
    cluster.wait_for("n2")
    sender = Sender(cluster, directory)
    sender.parts = LIES["another digest"]
    rogue.answers["SendContent"] = sender.send

    def is_counted():
        assert restore(cluster, "pvc") is None
        return metric(port, "holdfast_transfers_ended_total", direction="received",
                      code="DATA_LOSS")
    until(is_counted, "it is not counted", 60)
    assert metric(port, "holdfast_transfer_bytes_total", direction="received") == 0
    delete_all(cluster)
    for channel, stream in sender.streams:
        stream.cancel()
        channel.close()


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
    sender.close()


def test_streams_that_are_cut(source, directory):
    """After each piece; and no ticket serves twice."""
    cluster, rogue = source
    sender = Sender(cluster, directory)
    rogue.answers["SendContent"] = sender.send
    pieces = [bytes([1 + number]) * (64 << 10) for number in range(16)]
    parts = [data(number * len(piece), piece) for number, piece in enumerate(pieces)]
    for count in range(len(parts) + 1):
        sender.parts = [*parts[:count], CUT]

        def is_sent(before=len(sender.tickets)):
            assert restore(cluster, "copy") is None
            return len(sender.tickets) > before
        until(is_sent, "no transfer begins", 60)
    sender.parts = [*parts, end()]
    made = []
    until(lambda: made.append(restore(cluster, "copy")) or made[-1], "the truth is not taken", 60)
    image = cluster.nodes["n2"].image(made[-1].volume_id).read_bytes()
    assert image[:MIB] == b"".join(pieces) and not any(image[MIB:])
    assert len(set(sender.tickets)) == len(sender.tickets)
    for ticket in (sender.tickets[0], sender.tickets[-1], "", "nonsense"):
        sender.open(ticket)
        with pytest.raises(grpc.RpcError) as error:
            list(sender.streams[-1][1])
        assert code_of(error.value) == "PERMISSION_DENIED", error.value
    delete_all(cluster)
    sender.close()
