# SPDX-License-Identifier: Apache-2.0
"""The driver is killed at random moments of a first stage: formatted once, nothing lost after."""

import random
import subprocess
import threading
import time

import grpc
import pytest

import content
import csi_client
import host
import mount_table
from kubelet import PersistentVolume
from pool_disk import run

ROUNDS = 4
LONGEST_SECONDS = {"ext4": 0.03, "xfs": 0.06, "btrfs": 0.08}
SECONDS = 30


def stage_and_kill(driver, kubelet, volume, delay):
    """Runs a stage for a moment; returns whether it was answered."""
    kubelet.global_mount(volume).mkdir(parents=True, exist_ok=True)
    answered = []

    def stage():
        try:
            driver.call("NodeStageVolume", volume_id=volume.handle,
                        staging_target_path=str(kubelet.global_mount(volume)),
                        volume_capability=volume.capability())
            answered.append(True)
        except grpc.RpcError:
            pass

    thread = threading.Thread(target=stage)
    thread.start()
    time.sleep(delay)  # the moment of the kill varies; nothing waits for it
    driver.server.kill()
    thread.join()
    await_orphans()
    return bool(answered)


def await_orphans():
    """An mkfs that outlived the driver holds the device; kubelet's retries outlast it as well."""
    deadline = time.monotonic() + SECONDS
    while host.children():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def filesystem_uuid(image):
    found = subprocess.run(["blkid", "--probe", "--output", "value", "--match-tag", "UUID", image],
                           capture_output=True, text=True, check=False)
    return found.stdout.strip()


@pytest.mark.parametrize(("filesystem", "provisioning"), [
    ("ext4", "thin"), ("ext4", "thick"), ("xfs", "thin"), ("btrfs", "thick")])
def test_killed_at_random_times(driver, kubelet, filesystem, provisioning):
    seed = random.randrange(1 << 30)
    moments = random.Random(seed)
    print(f"seed {seed}")
    for number in range(ROUNDS):
        volume = PersistentVolume(
            driver.create(f"pv-{number}", filesystem=filesystem,
                          provisioning=provisioning).volume_id,
            f"pv-{number}", filesystem=filesystem)
        for _ in range(2):
            stage_and_kill(driver, kubelet, volume,
                           moments.uniform(0, LONGEST_SECONDS[filesystem]))
            driver.start()
        kubelet.stage(volume)
        record = driver.record(volume.handle)
        assert record["state"] == "formatted"
        assert len(mount_table.mounts_at(kubelet.global_mount(volume))) == 1
        path = kubelet.publish(volume, "pod")
        written = content.write(path / "data", 1 << 16)
        driver.crash()
        kubelet.unmount(volume, "pod")
        assert filesystem_uuid(driver.image(volume.handle)) == record["filesystem_uuid"]
        path = kubelet.mount(volume, "pod")
        assert content.checksum(path / "data") == written
        kubelet.unmount(volume, "pod")
        driver.delete(volume.handle)


@pytest.mark.parametrize("filesystem", ["ext4", "btrfs"])
def test_killed_after_data_was_written(driver, kubelet, filesystem):
    """From the first answered stage on, no kill may lead to another format."""
    volume = PersistentVolume(driver.create("pv", filesystem=filesystem).volume_id, "pv",
                              filesystem=filesystem)
    path = kubelet.mount(volume, "pod")
    written = content.write(path / "data")
    kubelet.unmount(volume, "pod")
    record = driver.record(volume.handle)
    for _ in range(ROUNDS):
        stage_and_kill(driver, kubelet, volume,
                       random.uniform(0, LONGEST_SECONDS[filesystem] / 3))
        driver.start()
        assert driver.record(volume.handle) == record
        path = kubelet.mount(volume, "pod")
        assert content.checksum(path / "data") == written
        kubelet.unmount(volume, "pod")


def test_what_a_user_put_there_meanwhile_is_kept(driver, kubelet, program_gate):
    """State formatting, but the device holds another filesystem than ours: not blanked."""
    volume = PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4")
    gate = program_gate("mkfs.ext4")
    kubelet.global_mount(volume).mkdir(parents=True)
    with pytest.raises(grpc.RpcError):
        driver.call("NodeStageVolume", timeout=1, volume_id=volume.handle,
                    staging_target_path=str(kubelet.global_mount(volume)),
                    volume_capability=volume.capability())
    gate.wait_until_started()
    driver.server.kill()
    gate.kill()
    loop = driver.loop(volume.handle)
    run("mkswap", "--quiet", loop)
    run("losetup", "--detach", loop)
    before = content.fingerprint(driver.image(volume.handle))
    driver.start()
    assert driver.record(volume.handle)["state"] == "formatting"
    with csi_client.refused("FAILED_PRECONDITION", "left alone"):
        kubelet.stage(volume)
    assert content.fingerprint(driver.image(volume.handle)) == before
