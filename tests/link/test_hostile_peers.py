# SPDX-License-Identifier: Apache-2.0
"""Peers with a valid certificate that break the protocol: each loses its stream, and the others are
not affected."""

import contextlib
import os
import socket

import pytest
from cluster import until
from csi_client import refused
from link_files import free_port
from link_peer import ENDED_SECONDS, peer_as, pools_of, register
from observed import metric


@pytest.fixture
def metrics_port():
    return free_port()


@pytest.fixture
def victim(new_cluster, metrics_port):
    """A cluster of one node, which must have a link and serve at the end as well."""
    cluster = new_cluster("n1", controller_flags=[f"--metrics-address=127.0.0.1:{metrics_port}"])
    yield cluster
    assert cluster.is_linked("n1")
    volume = cluster.create("pvc", ["n1"])
    cluster.call("DeleteVolume", volume_id=volume.volume_id)


def until_refused(port, code):
    until(lambda: metric(port, "holdfast_link_refused_total", code=code), "not counted")


def test_noise_instead_of_messages(victim, directory):
    with peer_as(victim, directory) as peer:
        peer.send_bytes(os.urandom(1000))
        assert peer.code_at_end() != "OK"


def test_more_than_a_message_may_have(victim, directory, metrics_port):
    with peer_as(victim, directory) as peer:
        peer.send(register=register(version="x" * (5 << 20)))
        assert peer.code_at_end() in ("RESOURCE_EXHAUSTED", "UNAVAILABLE")
    until_refused(metrics_port, "UNAVAILABLE")


@pytest.mark.parametrize("message", [
    {}, {"proof": {"nonce": b"x"}}, {"pools": {}}, {"result": {"id": 1}}], ids=str)
def test_no_name_first(victim, directory, message, metrics_port):
    with peer_as(victim, directory) as peer:
        peer.send(**message)
        assert peer.code_at_end() == "INVALID_ARGUMENT"
    until_refused(metrics_port, "INVALID_ARGUMENT")


def test_a_name_twice(victim, directory):
    with peer_as(victim, directory) as peer:
        peer.send(register=register())
        peer.receive()
        peer.send(register=register())
        assert peer.code_at_end() == "INVALID_ARGUMENT"


def test_a_name_that_is_none(victim, directory):
    with peer_as(victim, directory) as peer:
        peer.send(register=register("../n1"))
        assert peer.code_at_end() == "INVALID_ARGUMENT"


@pytest.mark.parametrize("protocol, older", [(0, "node"), (1, "node"), (99, "controller")])
def test_another_version_of_the_protocol(victim, directory, protocol, older):
    with peer_as(victim, directory) as peer:
        message = register(pools=pools_of("n2"))
        message.protocol = protocol
        peer.send(register=message)
        with refused("FAILED_PRECONDITION", f"protocol {protocol} is not spoken here, 3 is: upgrade "
                                            f"the {older}, whose software is older"):
            peer.receive()
        peer.outgoing.put(None)


def test_a_node_of_the_first_protocol_is_told_what_to_do(victim, directory):
    """The bytes are in other fields, which are skipped."""
    field = lambda number, data: bytes([number << 3 | 2, len(data)]) + data  # noqa: E731
    room = b"\x08\x01\x10\x02\x18\x03"  # three numbers
    pool = field(1, b"default") + field(2, b"ext4") + field(3, room) + field(4, room)
    said = (b"\x08\x01" + field(2, b"csi.holdfast.dev") + field(3, b"n2") + field(4, b"1")
            + field(5, field(1, pool)))
    with peer_as(victim, directory) as peer:
        peer.send_bytes(field(1, said))
        with refused("FAILED_PRECONDITION", "protocol 1 is not spoken here, 3 is: upgrade the node"):
            peer.receive()
        peer.outgoing.put(None)


def test_a_challenge_that_is_not_answered(victim, directory):
    with peer_as(victim, directory) as peer:
        peer.send(register=register())
        peer.receive()
        peer.send(proof={"nonce": b"guessed"})
        assert peer.code_at_end() == "UNAUTHENTICATED"


def test_the_proof_of_an_earlier_stream_replayed(victim, directory):
    with peer_as(victim, directory) as first:
        first.send(register=register())
        nonce = first.receive().challenge.nonce
        first.send(proof={"nonce": nonce})
    with peer_as(victim, directory) as second:
        second.send(register=register())
        assert second.receive().challenge.nonce != nonce
        second.send(proof={"nonce": nonce})
        assert second.code_at_end() == "UNAUTHENTICATED"


def test_a_peer_that_never_says_its_name(victim, directory, metrics_port):
    with peer_as(victim, directory) as peer:
        assert peer.code_at_end() == "DEADLINE_EXCEEDED"
    until_refused(metrics_port, "DEADLINE_EXCEEDED")


def test_a_peer_that_never_finishes_the_handshake(victim):
    with socket.create_connection(("127.0.0.1", victim.controller.port)) as silent:
        silent.settimeout(ENDED_SECONDS)
        silent.sendall(b"\x16\x03\x01\x02")  # only the start of a TLS record
        with contextlib.suppress(ConnectionResetError):
            assert silent.recv(1) == b""


def test_results_that_nobody_asked_for(victim, directory):
    with peer_as(victim, directory) as peer:
        peer.send(register=register(pools=pools_of("n2")))
        peer.prove()
        for number in range(1000):
            peer.send(result={"id": number, "code": 0})
        peer.send(pools=pools_of("n2", room=-1))
        peer.send(proof={"nonce": b"again"})
        assert peer.code_at_end() == "INVALID_ARGUMENT"
