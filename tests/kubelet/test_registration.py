# SPDX-License-Identifier: Apache-2.0
"""The driver registers itself with kubelet, according to kubelet's plugin watcher."""

import stat

import csi_client
import driver_fixtures
import grpc
import pluginregistration_pb2
import pytest
from driver import Driver
from shared_mount import shared
from waiting import until

SERVICE = pluginregistration_pb2.DESCRIPTOR.services_by_name["Registration"]
METHODS = SERVICE.methods_by_name


@pytest.fixture
def registry(directory):
    with shared(directory):
        path = directory / "plugins_registry"
        path.mkdir()
        yield path


@pytest.fixture
def registered(directory, registry):
    driver = Driver(driver_fixtures.binary(), directory)
    driver.server.command.append(f"--kubelet-registration-dir={registry}")
    driver.start()
    yield driver
    assert driver.server.stop() is None
    assert not list(registry.iterdir())  # kubelet takes that to mean that the driver is gone


def call(socket, method, **fields):
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        message = csi_client.request(METHODS[method], fields)
        return csi_client.invoker(channel, METHODS[method])(message)


def test_kubelet_learns_who_is_there(registered, registry):
    socket = registry / "csi.holdfast.dev-reg.sock"
    assert stat.S_IMODE(socket.stat().st_mode) & 0o077 == 0
    info = call(socket, "GetInfo")
    assert (info.type, info.name, info.endpoint, list(info.supported_versions)) == (
        "CSIPlugin", "csi.holdfast.dev", str(registered.server.socket), ["1.0.0"])
    call(socket, "NotifyRegistrationStatus", plugin_registered=True)
    assert "kubelet has registered 'csi.holdfast.dev'" in registered.log()
    call(socket, "NotifyRegistrationStatus", plugin_registered=False, error="topology collision")
    assert "topology collision" in registered.log()
    node = registered.call("NodeGetInfo")  # kubelet's next call, at that endpoint
    assert node.node_id == "test-node"


def test_a_killed_driver_takes_its_place_again(registered, registry):
    registered.crash()
    assert call(registry / "csi.holdfast.dev-reg.sock", "GetInfo").name == "csi.holdfast.dev"


def test_a_driver_whose_mounts_reach_nobody_is_not_ready_and_says_why(directory):
    (directory / "plugins_registry").mkdir()
    driver = Driver(driver_fixtures.binary(), directory)
    driver.server.command.append(f"--kubelet-registration-dir={directory}/plugins_registry")
    driver.server.start()
    until(lambda: f"mounts below '{directory}' would not reach kubelet" in driver.log(),
          "the reason is not in the log")
    with pytest.raises(grpc.RpcError) as refused:
        driver.call("Probe")
    assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert "mountPropagation: Bidirectional" in refused.value.details()
    assert not list((directory / "plugins_registry").iterdir()), "kubelet would call it"
    driver.server.stop()


def test_a_wrong_directory_is_told_at_the_start(directory):
    driver = Driver(driver_fixtures.binary(), directory)
    driver.server.command.append(f"--kubelet-registration-dir={directory}/none")
    with shared(directory):
        driver.server.start()
        assert driver.server.process.wait(30) == 1
    assert "is this its plugins_registry?" in driver.log()
