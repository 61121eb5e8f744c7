# SPDX-License-Identifier: Apache-2.0
"""Probes and metrics over the network, for clients that cannot use the socket."""

import driver_fixtures
import grpc
import pytest
import serve
from csi_client import at_least, capability
from driver import SIZES, Driver
from link_files import free_port
from observed import get, metric


@pytest.fixture
def observed(directory):
    driver = Driver(driver_fixtures.binary(), directory)
    driver.port = free_port()
    driver.server.command += [f"--health-address=127.0.0.1:{driver.port}",
                              f"--metrics-address=127.0.0.1:{driver.port}"]
    driver.start()
    yield driver
    assert driver.server.stop() is None


def test_a_driver_that_is_well(observed):
    assert get(observed.port, "/healthz") == (200, "ok\n")
    assert get(observed.port, "/readyz") == (200, "ok\n")
    assert get(observed.port, "/")[0] == 404


def test_a_pool_that_is_gone_makes_it_unready_but_not_dead(observed):
    aside = observed.pool.with_name("aside")
    observed.pool.rename(aside)
    status, why = get(observed.port, "/readyz")
    assert (status, str(observed.pool) in why) == (503, True)
    assert get(observed.port, "/healthz")[0] == 200
    assert metric(observed.port, "holdfast_pool_ready", pool="default") == 0
    aside.rename(observed.pool)
    assert get(observed.port, "/readyz")[0] == 200


def test_calls_and_pools_are_measured(observed):
    with pytest.raises(grpc.RpcError):
        observed.call("DeleteVolume", volume_id="")
    volume = observed.call("CreateVolume", name="pvc", capacity_range=at_least(SIZES["ext4"]),
                           volume_capabilities=[capability("mount", "ext4")],
                           parameters={"provisioning": "thin"}).volume
    port = observed.port
    assert metric(port, "holdfast_calls_total", method="CreateVolume", code="OK") == 1
    assert metric(port, "holdfast_calls_total", method="DeleteVolume", code="INVALID_ARGUMENT") == 1
    assert metric(port, "holdfast_call_duration_seconds_count", method="CreateVolume") == 1
    assert metric(port, "holdfast_pool_volumes", pool="default") == 1
    assert metric(port, "holdfast_pool_provisioned_bytes", pool="default",
                  provisioning="thin") == volume.capacity_bytes
    observed.call("DeleteVolume", volume_id=volume.volume_id)
    assert metric(port, "holdfast_pool_volumes", pool="default") == 0


def test_an_address_that_is_taken_is_told_at_the_start(observed, directory):
    other = directory / "other"
    other.mkdir()
    for flag in ("health", "metrics"):
        second = Driver(driver_fixtures.binary(), other)
        second.server.command.append(f"--{flag}-address=127.0.0.1:{observed.port}")
        second.server.start()
        assert second.server.process.wait(serve.READY_SECONDS) != 0
        assert f"cannot listen on '127.0.0.1:{observed.port}'" in second.log()
