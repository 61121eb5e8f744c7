# SPDX-License-Identifier: Apache-2.0
"""Calls that are still running when the CO asks again, asks for the opposite, or when all dies."""

import os
import signal
import time

import grpc
import pytest

import content
import csi_client
import mount_table
from csi_client import refused
from kubelet import PersistentVolume

SECONDS = 30
SHORT_SECONDS = 1  # in which a program is started, and held up


def new_volume(driver, name="pv", filesystem="ext4"):
    return PersistentVolume(driver.create(name, filesystem=filesystem).volume_id, name,
                            filesystem=filesystem)


def until_settled(action):
    """Repeats a call while the driver says that another one is running."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return action()
        except grpc.RpcError as error:
            if csi_client.code_of(error) not in csi_client.MAYBE_RUNNING:
                raise
            assert time.monotonic() < deadline, "still running"
            time.sleep(0.005)


def stage_with_a_time_out(driver, kubelet, volume):
    kubelet.global_mount(volume).mkdir(parents=True, exist_ok=True)
    with pytest.raises(grpc.RpcError) as caught:
        driver.call("NodeStageVolume", timeout=SHORT_SECONDS, volume_id=volume.handle,
                    staging_target_path=str(kubelet.global_mount(volume)),
                    volume_capability=volume.capability())
    assert csi_client.code_of(caught.value) == "DEADLINE_EXCEEDED"


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_a_stage_that_timed_out_goes_on_and_is_taken_up(driver, kubelet, program_gate, filesystem):
    volume = new_volume(driver, filesystem=filesystem)
    mkfs = program_gate(f"mkfs.{filesystem}")
    stage_with_a_time_out(driver, kubelet, volume)
    mkfs.wait_until_started()
    with refused("ABORTED", "NodeStageVolume"):
        kubelet.stage(volume)
    # Other volumes, and questions, do not wait.
    block = driver.create("other", access="block").volume_id
    assert sorted(driver.listed()) == sorted([volume.handle, block])
    mkfs.let_through()
    until_settled(lambda: kubelet.stage(volume))
    assert mkfs.starts() == 1
    path = kubelet.publish(volume, "pod")
    content.write(path / "data")
    kubelet.unmount(volume, "pod")


def test_every_other_call_is_aborted_while_a_stage_runs(driver, kubelet, program_gate):
    volume = new_volume(driver)
    mkfs = program_gate("mkfs.ext4")
    stage_with_a_time_out(driver, kubelet, volume)
    mkfs.wait_until_started()
    staging, target = str(kubelet.global_mount(volume)), str(kubelet.mount_path(volume, "pod"))
    for method, fields in {
            "NodeUnstageVolume": {"staging_target_path": staging},
            "NodePublishVolume": {"staging_target_path": staging, "target_path": target,
                                  "volume_capability": volume.capability()},
            "NodeUnpublishVolume": {"target_path": target},
            "NodeExpandVolume": {"volume_path": target},
            "ControllerExpandVolume": {"capacity_range": csi_client.at_least(1 << 27)},
            "DeleteVolume": {}}.items():
        with refused("ABORTED", "NodeStageVolume"):
            driver.call(method, volume_id=volume.handle, **fields)
    with refused("ABORTED"):
        driver.create("pv")
    mkfs.let_through()
    until_settled(lambda: kubelet.stage(volume))
    kubelet.unstage(volume)


def test_the_pod_goes_while_its_stage_runs(driver, kubelet, program_gate):
    """kubelet calls Unstage for a stage that never succeeded; the driver must leave nothing
    behind."""
    volume = new_volume(driver)
    mkfs = program_gate("mkfs.ext4")
    stage_with_a_time_out(driver, kubelet, volume)
    mkfs.wait_until_started()
    with refused("ABORTED"):
        kubelet.unstage(volume)
    mkfs.let_through()
    until_settled(lambda: kubelet.unstage(volume))
    assert driver.loop(volume.handle) is None


def test_a_stage_follows_an_unstage_that_timed_out(driver, kubelet):
    """k/k 102486 and 121357: the state must be looked at again once the lock is held."""
    volume = new_volume(driver)
    path = kubelet.mount(volume, "pod")
    checksum = content.write(path / "data")
    for _ in range(20):
        kubelet.unpublish(volume, "pod")
        try:
            driver.call("NodeUnstageVolume", timeout=0.001, volume_id=volume.handle,
                        staging_target_path=str(kubelet.global_mount(volume)))
        except grpc.RpcError as error:
            assert csi_client.code_of(error) == "DEADLINE_EXCEEDED"
        until_settled(lambda: kubelet.stage(volume))
        path = kubelet.publish(volume, "pod")
        assert len(mount_table.mounts_at(kubelet.global_mount(volume))) == 1
        assert content.checksum(path / "data") == checksum
    kubelet.unmount(volume, "pod")


def test_a_create_that_timed_out_is_taken_up(driver):
    for round_number in range(10):
        name = f"pvc-{round_number}"
        try:
            driver.create(name, provisioning="thick", call=lambda method, **fields: driver.call(
                method, timeout=0.002, **fields))
        except grpc.RpcError as error:
            assert csi_client.code_of(error) == "DEADLINE_EXCEEDED"
        until_settled(lambda name=name: driver.create(name, provisioning="thick"))
    assert len(driver.listed()) == 10


def test_a_crash_during_mkfs_is_made_good(driver, kubelet, program_gate):
    volume = new_volume(driver)
    mkfs = program_gate("mkfs.ext4")
    stage_with_a_time_out(driver, kubelet, volume)
    mkfs.wait_until_started()
    driver.server.kill()
    mkfs.kill()
    driver.start()
    assert driver.record(volume.handle)["state"] == "formatting"
    mkfs.let_through()
    kubelet.stage(volume)
    assert mkfs.starts() == 2
    assert driver.record(volume.handle)["state"] == "formatted"
    kubelet.unstage(volume)


def test_mkfs_dies_with_the_driver(driver, kubelet, program_gate):
    volume = new_volume(driver)
    mkfs = program_gate("mkfs.ext4")
    stage_with_a_time_out(driver, kubelet, volume)
    mkfs.wait_until_started()
    driver.server.kill()
    pid = mkfs.pids()[0]
    deadline = time.monotonic() + 2
    alive = True
    while alive and time.monotonic() < deadline:
        alive = os.waitpid(pid, os.WNOHANG) == (0, 0)
        time.sleep(0.01)
    if alive:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    driver.start()
    assert not alive
