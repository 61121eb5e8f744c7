# SPDX-License-Identifier: Apache-2.0
"""An authenticated node that lies in every field of every answer: only facts about the node's own
volumes reach a caller, and no answer makes a stock sidecar crash or delete something."""

import csi_client
import csi_pb2
import grpc
import link_pb2
import pytest
from cluster import TOPOLOGY_KEY, node_of, segment, until
from csi_client import code_of, refused
from driver import MIB
from falsehoods import LONG, falsify
from link_messages import command_of, request_in, response_in, response_type, result_with
from link_peer import peer_as, pools_of, register, volume_id
from rogue_node import rogue_node

SIZE = 64 * MIB
MAX_TEXT = 2000
ALWAYS = {"INVALID_ARGUMENT", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "INTERNAL",
          "UNAVAILABLE", "DEADLINE_EXCEEDED"}
CODES = {"CreateVolume": ALWAYS | {"ALREADY_EXISTS", "RESOURCE_EXHAUSTED"},
         "ListVolumes": {"UNAVAILABLE"}}
ANSWERED = {"CreateVolume", "ControllerExpandVolume", "ControllerGetVolume", "ListVolumes",
            "ValidateVolumeCapabilities"}
CAPABILITY = csi_client.capability("mount", "ext4")


@pytest.fixture
def victim(new_cluster):
    """A cluster with the victim n2 and one volume there, which must outlive everything."""
    cluster = new_cluster("n2")
    cluster.volume = cluster.create("victim", ["n2"])
    yield cluster
    found = cluster.call("ControllerGetVolume", volume_id=cluster.volume.volume_id)
    assert found.volume.capacity_bytes == cluster.volume.capacity_bytes
    cluster.call("DeleteVolume", volume_id=cluster.volume.volume_id)


def names_at(cluster):
    """Texts with a special meaning to other programs."""
    return (cluster.volume.volume_id, "fast::0911a992-0000-4000-8000-000000000000",
            volume_id("n1", "another"), volume_id("n3", "nobody"), "n2", TOPOLOGY_KEY)


def is_clean(text):
    return len(text.encode()) <= MAX_TEXT and all(
        ord(letter) >= 0x20 and not 0x7f <= ord(letter) <= 0x9f for letter in text)


def ask(cluster, method, **fields):
    """The answer, or None for an error that a caller may get."""
    try:
        return cluster.call(method, **fields)
    except grpc.RpcError as error:
        assert code_of(error) in CODES.get(method, ALWAYS | {"NOT_FOUND"}), error
        assert is_clean(error.details()) and error.details(), error
        return None


def check_volume(volume, wanted, least):
    assert volume == csi_pb2.Volume(volume_id=wanted, capacity_bytes=volume.capacity_bytes,
                                    accessible_topology=[segment("n1")])
    assert volume.capacity_bytes >= least


def falsified(method, honest, strings):
    """Yields (name, result): each field of the result, its response's bytes, each field of the
    response within them, and responses to other methods."""
    yield from falsify(honest, strings)
    for what, response in falsify(response_in(honest, method), strings):
        yield f"response{what}", result_with(response)
    for other in sorted(ANSWERED - {method}):
        for what, response in falsify(response_type(other)(), strings):
            yield f"response of {other}{what}", result_with(response)
    for end in range(1, len(honest.response), 7):
        yield f"response of {end} bytes", link_pb2.Result(response=honest.response[:end])
    for odd in (b"\x0b" * 100, b"\xf8\x07\x01" * 20_000, b"\x0a\x00" * 500_000):
        yield f"response {odd[:3]!r} again and again", link_pb2.Result(response=odd)


def lies_about(rogue, method, honest, strings):
    """Yields the name of a falsehood, and makes the rogue node send it."""
    for what, result in falsified(method, honest, strings):
        rogue.lie = lambda command, truth, result=result: (
            copy_of(result) if command.method == method else truth)
        yield what


def honest_answer(rogue, method, **fields):
    return rogue.honest(command_of(method, **fields))


def test_creation(victim, directory):
    request = {"capacity_range": csi_client.at_least(SIZE), "volume_capabilities": [CAPABILITY],
               "accessibility_requirements": {"requisite": [segment("n1")]}}
    with rogue_node(victim, directory) as rogue:
        for number in range(1, 1 << 20):
            name = f"pvc-{number}"
            answer = honest_answer(rogue, "CreateVolume", name=name, **request)
            lies = falsified("CreateVolume", answer, names_at(victim))
            lie = next((lie for index, lie in enumerate(lies) if index == number - 1), None)
            if lie is None:
                break
            what, result = lie
            rogue.lie = lambda command, truth, result=result, name=name: (
                copy_of(result) if is_creation(command, name) else truth)
            made = ask(victim, "CreateVolume", name=name, **request)
            if made is not None:
                assert made.HasField("volume"), what
                check_volume(made.volume, volume_id("n1", name), SIZE)
        assert number > 100
        assert [entry for entry in victim.call("ListVolumes").entries
                if entry.volume.volume_id == victim.volume.volume_id]


def is_creation(command, name):
    return command.method == "CreateVolume" and request_in(command).name == name


def copy_of(result):
    copy = link_pb2.Result()
    copy.CopyFrom(result)
    return copy


def test_a_size_outside_what_was_asked_for(victim, directory):
    with rogue_node(victim, directory) as rogue:
        for size, limit in ((SIZE - 1, 0), (2 * SIZE + 1, 2 * SIZE), (0, 0), (-5, 0)):
            def lie(command, truth, size=size):
                if command.method not in ("CreateVolume", "ControllerExpandVolume"):
                    return truth
                answer = response_in(truth, command.method)
                (answer.volume if command.method == "CreateVolume" else answer).capacity_bytes = size
                return result_with(answer)
            rogue.lie = lie
            with refused("UNAVAILABLE", "refused"):
                victim.call("CreateVolume", name=f"pvc{size}", volume_capabilities=[CAPABILITY],
                            capacity_range=csi_client.at_least(SIZE, limit),
                            accessibility_requirements={"requisite": [segment("n1")]})
            with refused("UNAVAILABLE", "refused"):
                victim.call("ControllerExpandVolume", volume_id=volume_id("n1", "pvc"),
                            capacity_range=csi_client.at_least(SIZE, limit))


def test_the_volume_of_another_node_is_not_handed_out(victim, directory):
    """If the size is too small, the provisioner deletes the volume that the answer names."""
    with rogue_node(victim, directory) as rogue:
        for answer in ({"volume_id": victim.volume.volume_id, "capacity_bytes": SIZE},
                       {"volume_id": victim.volume.volume_id, "capacity_bytes": 1}, None):
            def lie(command, truth, answer=answer):
                if command.method != "CreateVolume":
                    return truth
                return result_with(csi_pb2.CreateVolumeResponse(volume=answer))
            rogue.lie = lie
            with refused("UNAVAILABLE", "node 'n1' is refused"):
                victim.create("pvc-attacker", ["n1"], SIZE)


@pytest.mark.parametrize("response", [
    b"\x0a\x05", b"\x0b\x0b", b"\xff" * 1000, b"\xf8\x07\x01" * 20_000],
    ids=["cut", "group", "nonsense", "fields"])
def test_bytes_that_are_no_answer(victim, directory, response):
    """They cost the call and not the link, and it says which node spoke."""
    own = volume_id("n1", "own")
    with rogue_node(victim, directory) as rogue:
        rogue.lie = lambda command, truth: link_pb2.Result(response=response)
        for method, fields in {
                "ControllerGetVolume": {}, "DeleteVolume": {},
                "ControllerExpandVolume": {"capacity_range": csi_client.at_least(SIZE)},
                "ValidateVolumeCapabilities": {"volume_capabilities": [CAPABILITY]}}.items():
            with refused("UNAVAILABLE", "the answer of node 'n1' is refused"):
                victim.call(method, volume_id=own, **fields)
        with refused("UNAVAILABLE", "the answer of node 'n1' is refused"):
            victim.create("pvc", ["n1"], SIZE)
        assert rogue.peer.stream.is_active() and victim.is_linked("n1")


def test_what_is_said_of_a_volume(victim, directory):
    own = volume_id("n1", "own")
    by_method = {
        "ControllerGetVolume": {"volume_id": own},
        "ControllerExpandVolume": {"volume_id": own, "capacity_range": csi_client.at_least(SIZE)},
        "ValidateVolumeCapabilities": {"volume_id": own, "volume_capabilities": [CAPABILITY]},
        "DeleteVolume": {"volume_id": own}}
    with rogue_node(victim, directory) as rogue:
        for method, fields in by_method.items():
            honest = honest_answer(rogue, method, **fields)
            for what in lies_about(rogue, method, honest, names_at(victim)):
                answer = ask(victim, method, **fields)
                if answer is not None:
                    check_answer(method, answer, own, what)


def check_answer(method, answer, own, what):
    if method == "ControllerGetVolume":
        check_volume(answer.volume, own, 1)
        assert is_clean(answer.status.volume_condition.message), what
        assert not answer.status.published_node_ids, what
    elif method == "ControllerExpandVolume":
        assert answer.capacity_bytes >= SIZE, what
    elif method == "ValidateVolumeCapabilities":
        assert is_clean(answer.message), what
        if answer.HasField("confirmed"):
            assert list(answer.confirmed.volume_capabilities) == [CAPABILITY], what
            assert not answer.confirmed.volume_context, what


def test_lists(victim, directory):
    volumes = [("default", f"pvc-{number}") for number in range(3)]
    own = [volume_id("n1", name) for _, name in volumes]
    with rogue_node(victim, directory, volumes=volumes) as rogue:
        for volume in own:
            rogue.describe(volume, SIZE)
        honest = honest_answer(rogue, "ListVolumes")
        for what in lies_about(rogue, "ListVolumes", honest, names_at(victim)):
            listed, pages, token = [], 0, ""
            while pages == 0 or token:
                page = ask(victim, "ListVolumes", max_entries=2, starting_token=token)
                assert len(page.entries) <= 2, what
                listed += page.entries
                token, pages = page.next_token, pages + 1
                assert pages <= 6, what
            check_list(victim, listed, own, what)


def check_list(cluster, entries, own, what):
    ids = [entry.volume.volume_id for entry in entries]
    assert len(ids) == len(set(ids)) and set(ids) <= {*own, cluster.volume.volume_id}, what
    for entry in entries:
        condition = entry.status.volume_condition
        assert is_clean(condition.message) and not entry.status.published_node_ids, what
        owner = node_of(entry.volume)
        assert not entry.volume.volume_context and len(entry.volume.accessible_topology) == 1
        if entry.volume.volume_id == cluster.volume.volume_id:
            assert owner == "n2" and not condition.abnormal, what
        else:
            assert owner == "n1" and entry.volume.capacity_bytes >= 0, what


def test_a_node_that_never_answers_does_not_stop_the_list(victim, directory):
    with rogue_node(victim, directory, volumes=[("default", "pvc")]) as rogue:
        rogue.lie = lambda command, truth: None
        entries = victim.call("ListVolumes", timeout=15).entries
        assert [entry.volume.volume_id for entry in entries] == [
            volume_id("n1", "pvc"), victim.volume.volume_id]
        assert "not known" in entries[0].status.volume_condition.message
        assert entries[1].volume.capacity_bytes


def test_registrations(victim, directory):
    """Refused, or believed without harm to other nodes."""
    honest = register("n1", pools=pools_of("n1", "default", "second"), version="1")
    strings = (*names_at(victim), "controller", LONG[:60_000])
    before = victim.capacity("n2").available_capacity
    for what, message in falsify(honest, strings):
        with peer_as(victim, directory, "n1") as peer:
            peer.send(register=message)
            try:
                peer.prove([("default", "victim"), ("default", "pvc")])
                until(lambda: not peer.stream.is_active() or victim.is_linked("n1"), what)
            except grpc.RpcError:
                pass
            capacity = victim.capacity()
            assert 0 <= capacity.available_capacity <= 1 << 60, what
            # Other programs use the same disk.
            assert before / 2 < victim.capacity("n2").available_capacity < 2 * before, what
            found = victim.create("victim", ["n2"])
            assert found.volume_id == victim.volume.volume_id, what
            peer.outgoing.put(None)
            peer.stream.cancel()
        victim.call("ControllerGetVolume", volume_id=victim.volume.volume_id)


@pytest.mark.parametrize("part", [
    {"volumes": [{"pool": "elsewhere", "name": "pvc"}]}, {"volumes": [{"pool": "default"}]},
    {"volumes": [{"pool": "default", "name": "x" * 129}]},
    {"volumes": [{"pool": "default", "name": str(number)} for number in range(257)]}],
    ids=["pool", "no name", "long name", "many"])
def test_names_that_are_refused(victim, directory, part):
    with peer_as(victim, directory, "n1") as peer:
        peer.send(register=register("n1", pools=pools_of("n1")))
        peer.send(proof={"nonce": peer.receive().challenge.nonce})
        peer.send(volumes=part)
        assert peer.code_at_end() == "INVALID_ARGUMENT"


def test_a_claimed_name_draws_no_creation_of_another_node(victim, directory):
    with rogue_node(victim, directory, volumes=[("default", "pvc-b"), ("default", "victim")]) as rogue:
        with refused("ALREADY_EXISTS", "node 'n1' has a volume named 'pvc-b'"):
            victim.create("pvc-b", ["n2"])
        assert victim.create("victim", ["n2"]).volume_id == victim.volume.volume_id
        assert not rogue.asked("CreateVolume")


def test_pools_that_become_others(victim, directory):
    with rogue_node(victim, directory) as rogue:
        rogue.peer.send(pools=pools_of("n1", "default", "fast"))
        assert rogue.peer.stream.code().name == "FAILED_PRECONDITION"


def test_a_liar_does_not_keep_a_claim_that_may_go_anywhere(victim, directory):
    for number, lie in enumerate(({"code": 13, "message": "no"}, {"code": 9, "message": "no"},
                                  {"response": b""}, {"response": b"\x0a\x05"},
                                  {"code": 3, "message": "no"})):
        with rogue_node(victim, directory) as rogue:
            rogue.lie = lambda command, truth, lie=lie: (
                link_pb2.Result(**lie) if command.method == "CreateVolume" else truth)
            volume = victim.create(f"pvc-{number}", ["n1", "n2"], preferred=["n1"])
            assert node_of(volume) == "n2" and rogue.asked("CreateVolume")
            victim.call("DeleteVolume", volume_id=volume.volume_id)


def test_room_that_is_only_said_draws_no_more_than_a_share(victim, directory):
    with rogue_node(victim, directory, pools=("default",)):
        nodes = set()
        for number in range(12):
            volume = victim.create(f"pvc-{number}", size=16 * MIB)
            nodes.add(node_of(volume))
            victim.call("DeleteVolume", volume_id=volume.volume_id)
    assert nodes == {"n1", "n2"}
