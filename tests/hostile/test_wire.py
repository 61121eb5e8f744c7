# SPDX-License-Identifier: Apache-2.0
"""Bytes on the socket that no protobuf library would send."""

import random

import csi_client
import grpc
import hostile_values
import pytest
import requests_of
import surroundings
from google.protobuf.descriptor import FieldDescriptor as Field
from test_fields import (METHODS, NOT_SERVED, answer, canary, check_log, driver,  # noqa: F401
                         volume)

MARK = "placeholderplaceholder"
NOT_UTF8 = {"lone continuation": b"\x80", "cut short": b"\xe2\x82", "overlong slash": b"\xc0\xaf",
            "surrogate": b"\xed\xa0\x80", "beyond Unicode": b"\xf4\x90\x80\x80"}
SEED = 4711
ROUNDS = 200


def raw_call(channel, method, data):
    """Sends raw bytes; returns the code of the answer."""
    stream = csi_client.is_stream(method)
    call = (channel.unary_stream if stream else channel.unary_unary)(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=lambda message: message,
        response_deserializer=lambda message: message)
    try:
        answered = call(data, timeout=60)
        if stream:
            list(answered)
        return "OK"
    except grpc.RpcError as error:
        return csi_client.code_of(error)


def text_places(message_type, path=()):
    """Setters of MARK for every text in messages of a type, keys and values of maps too."""
    for field in message_type.fields:
        here = (*path, field)
        name = ".".join(part.name for part in here)
        if len(here) > hostile_values.MAX_DEPTH:
            return
        if hostile_values.is_map(field):
            yield f"{name} key", hostile_values.change(here, lambda e: e.update({MARK: "x"}))
            yield f"{name} value", hostile_values.change(here, lambda e: e.update({"x": MARK}))
        elif field.type == Field.TYPE_MESSAGE:
            yield from text_places(field.message_type, here)
        elif field.type == Field.TYPE_STRING and hostile_values.is_repeated(field):
            yield name, hostile_values.change(here, lambda entries: entries.append(MARK))
        elif field.type == Field.TYPE_STRING:
            yield name, hostile_values.setter(here, MARK)


@pytest.fixture
def scene(driver, kubelet, volume, canary):  # noqa: F811
    """A channel, honest callers, and the check that nothing has changed."""
    snapshot = driver.snapshot(volume.handle, requests_of.SNAPSHOT).snapshot_id
    callers = requests_of.Callers(driver, kubelet, volume, snapshot, "pod")
    with grpc.insecure_channel(driver.client.target,
                               options=csi_client.CHANNEL_OPTIONS) as channel:
        watched = surroundings.Surroundings(driver, kubelet.root, canary)
        before = watched.take()
        yield channel, callers
        assert not surroundings.differences(before, watched.take())
    kubelet.pod_volume_directory(volume, "other-pod").rmdir()
    check_log(driver)


def test_texts_that_are_not_utf8(scene):
    """The library rejects the message before the driver sees it, with its own code."""
    channel, callers = scene
    tried = 0
    for name, method in METHODS.items():
        for place, apply in text_places(method.input_type):
            request = callers.request(method)
            apply(request)
            good = request.SerializeToString()
            assert MARK.encode() in good, place
            for label, bad in NOT_UTF8.items():
                code = raw_call(channel, method,
                                good.replace(MARK.encode(), bad.ljust(len(MARK), b"x")))
                want = {"INTERNAL", "UNIMPLEMENTED"} if name in NOT_SERVED else {"INTERNAL"}
                assert code in want, f"{name} with {label} in {place} is answered with {code}"
                tried += 1
    assert tried > 500


def test_messages_that_are_cut_bent_or_noise(scene):
    """Some of these are valid by accident; none may change anything, or end the driver."""
    channel, callers = scene
    noise = random.Random(SEED)
    harmless = [method for name, method in METHODS.items() if name.startswith(
        ("Get", "List", "Validate", "Probe", "ControllerGet", "NodeGet", "Admin"))]
    for method in harmless:
        good = callers.request(method).SerializeToString()
        for _ in range(ROUNDS):
            data = bytearray(good or b"\x0a\x01x")
            for _ in range(noise.randint(1, 4)):
                data[noise.randrange(len(data))] = noise.randrange(256)
            raw_call(channel, method, bytes(data[:noise.randint(0, len(data))]))
            raw_call(channel, method, noise.randbytes(noise.randint(0, 300)))


def test_groups_that_never_end(scene):
    channel, callers = scene
    for method in METHODS.values():
        raw_call(channel, method, b"\x0b" * 100_000)
        # An unknown field of the largest size that a message may have.
        raw_call(channel, method, b"\xfa\x3f\x80\x80\xc0\x01" + b"z" * (3 << 20))
    for name in ("Probe", "NodeGetInfo"):
        code, _ = answer(channel, METHODS[name], callers.request(METHODS[name]))
        assert code == "OK"


def test_more_than_a_message_may_have(scene):
    channel, callers = scene
    method = METHODS["CreateVolume"]
    request = callers.request(method)
    request.name = "x" * (65 << 20)
    # gRPC's own code; the limit is far above any request of a CO.
    assert raw_call(channel, method, request.SerializeToString()) == "RESOURCE_EXHAUSTED"
