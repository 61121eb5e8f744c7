# SPDX-License-Identifier: Apache-2.0
"""Probes and metrics over the network, for clients that cannot use the socket."""

import os
import re
import subprocess

import content
import driver_fixtures
import grpc
import pytest
import serve
import waiting
from csi_client import at_least, capability
from driver import SIZES, Driver
from kubelet import Kubelet, PersistentVolume
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
    assert get(observed.port, "/nothing")[0] == 404


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


def test_an_abnormal_volume_is_counted(observed):
    def abnormal():
        return metric(observed.port, "holdfast_pool_volumes_abnormal", pool="default")
    assert abnormal() == 0
    image = observed.image(observed.create("damaged").volume_id)
    whole = image.stat().st_size
    os.truncate(image, whole // 2)
    waiting.until(lambda: abnormal() == 1, "the volume is counted")
    os.truncate(image, whole)
    waiting.until(lambda: abnormal() == 0, "the volume is whole again")


def test_an_abnormal_filesystem_is_counted(observed, directory):
    kubelet = Kubelet(directory / "kubelet", observed.call)
    volume = PersistentVolume(observed.create("ext").volume_id, "ext", "mount", "ext4")
    kubelet.mount(volume, "pod")

    def abnormal():
        return metric(observed.port, "holdfast_pool_volumes_abnormal", pool="default")
    assert abnormal() == 0
    subprocess.run(["mount", "-o", "remount,abort", kubelet.global_mount(volume)], check=True)
    waiting.until(lambda: abnormal() == 1, "the filesystem is counted")
    kubelet.unmount(volume, "pod")


def test_the_first_page_has_the_version_and_leads_to_the_others(observed):
    status, page = get(observed.port, "/")
    assert status == 200
    assert re.search(r"<h1>Holdfast \d+\.\d+\.\d+</h1>", page)
    links = re.findall(r'href="([^"]+)"', page)
    assert "/metrics" in links
    assert all(get(observed.port, link)[0] == 200 for link in links)


def test_reserve_and_promises_are_measured(observed):
    def pool(name):
        return metric(observed.port, f"holdfast_pool_{name}_bytes", pool="default")
    assert 0 < pool("reserve") <= pool("size") / 10
    assert pool("thin_unallocated") == 0
    made = observed.create("thin", access="block")
    assert pool("thin_unallocated") == made.capacity_bytes
    content.write(observed.image(made.volume_id), made.capacity_bytes // 4)
    waiting.until(lambda: pool("thin_unallocated") == made.capacity_bytes * 3 // 4,
                  "what was written is not owed any more")


def test_each_volume_is_measured_if_that_is_wanted(observed):
    made = observed.create("thick", access="block", provisioning="thick")

    def of_volume(name):
        return metric(observed.port, f"holdfast_volume_{name}_bytes", pool="default",
                      volume_id=made.volume_id)
    assert of_volume("capacity") is None
    observed.server.command.append("--volume-metrics")
    observed.restart()
    assert of_volume("capacity") == made.capacity_bytes
    assert of_volume("allocated") >= made.capacity_bytes


def test_an_address_that_is_taken_is_told_at_the_start(observed, directory):
    other = directory / "other"
    other.mkdir()
    for flag in ("health", "metrics"):
        second = Driver(driver_fixtures.binary(), other)
        second.server.command.append(f"--{flag}-address=127.0.0.1:{observed.port}")
        second.server.start()
        assert second.server.process.wait(serve.READY_SECONDS) != 0
        assert f"cannot listen on '127.0.0.1:{observed.port}'" in second.log()
