# SPDX-License-Identifier: Apache-2.0
"""A CO's side of the socket: calls by name, each on a new connection as kubelet makes them."""

import contextlib
import re

import grpc
import pytest
from google.protobuf import descriptor_pb2

import admin_pb2
import csi_pb2

SERVICES = [service for file in (csi_pb2, admin_pb2)
            for service in file.DESCRIPTOR.services_by_name.values()]
METHODS = {method.name: method for service in SERVICES if service.name != "Admin"
           for method in service.methods}
ADMIN_METHODS = {method.name: method for service in SERVICES if service.name == "Admin"
                 for method in service.methods}
# A pool of connections would be shared between channels of one target.
CHANNEL_OPTIONS = [("grpc.use_local_subchannel_pool", 1)]
CALL_SECONDS = 60
MAYBE_RUNNING = ("ABORTED", "DEADLINE_EXCEEDED", "UNAVAILABLE", "CANCELLED")


class Client:
    def __init__(self, socket):
        self.target = f"unix:{socket}"

    def call(self, method, *, timeout=CALL_SECONDS, **fields):
        """Calls a method of the CSI contract and returns its answer; raises grpc.RpcError."""
        return self.call_method(METHODS[method], timeout, fields)

    def admin(self, method, **fields):
        """One message of all the parts of a list."""
        whole = ADMIN_METHODS[method].output_type._concrete_class()
        for part in self.call_method(ADMIN_METHODS[method], CALL_SECONDS, fields):
            whole.MergeFrom(part)
        return whole

    def admin_command(self, method, **fields):
        """Calls a method that answers with one message."""
        return self.call_method(ADMIN_METHODS[method], CALL_SECONDS, fields)

    def call_method(self, method, timeout, fields):
        with grpc.insecure_channel(self.target, options=CHANNEL_OPTIONS) as channel:
            if timeout < CALL_SECONDS:
                # The time is for the call; a channel that is closed while it connects would leave
                # its socket open.
                invoker(channel, METHODS["Probe"])(request(METHODS["Probe"], {}))
            return invoker(channel, method)(request(method, fields), timeout=timeout)


def request(method, fields):
    return method.input_type._concrete_class(**fields)


def is_stream(method):
    described = descriptor_pb2.MethodDescriptorProto()
    method.CopyToProto(described)
    return described.server_streaming


def invoker(channel, method):
    """Makes calls of the method; one that answers with a stream returns a list."""
    call = (channel.unary_stream if is_stream(method) else channel.unary_unary)(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=method.output_type._concrete_class.FromString)
    if not is_stream(method):
        return call
    return lambda request, **options: list(call(request, **options))


def code_of(error):
    return error.code().name


def outcome(call):
    """OK, or the code of the refusal."""
    try:
        call()
    except grpc.RpcError as error:
        return code_of(error)
    return "OK"


@contextlib.contextmanager
def refused(code, match=""):
    """Expects the call inside to fail with this code and a message that matches and says why."""
    with pytest.raises(grpc.RpcError) as caught:
        yield caught
    error = caught.value
    assert (code_of(error), True) == (code, bool(re.search(match, error.details()))), (
        f"{code_of(error)}: {error.details()}; want {code} with /{match}/")
    assert error.details(), "an error must say what failed and why"


def content_source(source):
    """The VolumeContentSource of the id of a snapshot or of a volume; None of none."""
    if source is None:
        return None
    if source.startswith("s:"):
        return csi_pb2.VolumeContentSource(snapshot={"snapshot_id": source})
    return csi_pb2.VolumeContentSource(volume={"volume_id": source})


def capability(access="mount", filesystem="", mode="SINGLE_NODE_MULTI_WRITER", flags=()):
    """The VolumeCapability of one access type; mode as the CSI enum names it."""
    wanted = csi_pb2.VolumeCapability()
    wanted.access_mode.mode = csi_pb2.VolumeCapability.AccessMode.Mode.Value(mode)
    if access == "block":
        wanted.block.SetInParent()
    else:
        wanted.mount.fs_type = filesystem
        wanted.mount.mount_flags.extend(flags)
    return wanted


def at_least(size, limit=0):
    return csi_pb2.CapacityRange(required_bytes=size, limit_bytes=limit)
