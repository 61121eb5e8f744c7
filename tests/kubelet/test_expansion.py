# SPDX-License-Identifier: Apache-2.0
"""Expansion as the resizer and kubelet ask for it: online, offline, repeated, too much."""

import os
import subprocess

import pytest

import content
import csi_client
from csi_client import refused
from driver import MIB, SIZES
from kubelet import PersistentVolume
from pool_disk import run

CAP_SYS_RESOURCE = 24


def may_grow_ext4_online():
    """ext4 requires CAP_SYS_RESOURCE, which root does not have on every machine."""
    status = open("/proc/self/status", encoding="ascii").read()
    effective = int(next(line for line in status.splitlines()
                         if line.startswith("CapEff")).split()[1], 16)
    return bool(effective >> CAP_SYS_RESOURCE & 1)


def new_volume(driver, filesystem, provisioning="thin"):
    access = "block" if filesystem == "block" else "mount"
    created = driver.create("pv", access=access, filesystem=filesystem, provisioning=provisioning)
    return PersistentVolume(created.volume_id, "pv", access,
                            "" if access == "block" else filesystem)


def controller_expand(driver, volume, size, limit=0):
    return driver.call("ControllerExpandVolume", volume_id=volume.handle,
                       capacity_range=csi_client.at_least(size, limit),
                       volume_capability=volume.capability())


def total_bytes(path):
    facts = os.statvfs(path)
    return facts.f_blocks * facts.f_frsize


def device_bytes(device):
    return int(run("blockdev", "--getsize64", device))


@pytest.mark.parametrize("filesystem", ["xfs", "btrfs", "ext4"])
@pytest.mark.parametrize("provisioning", ["thin", "thick"])
def test_online(driver, kubelet, filesystem, provisioning):
    if filesystem == "ext4" and not may_grow_ext4_online():
        pytest.skip("ext4 grows online only with CAP_SYS_RESOURCE, which this machine withholds")
    volume = new_volume(driver, filesystem, provisioning)
    path = kubelet.mount(volume, "pod")
    checksum = content.write(path / "data")
    before = total_bytes(path)
    target = 2 * SIZES[filesystem]
    for _ in range(2):
        answer = controller_expand(driver, volume, target)
        assert (answer.capacity_bytes, answer.node_expansion_required) == (target, True)
    for _ in range(2):
        assert kubelet.expand(volume, path, target) == target
        driver.crash()
    assert total_bytes(path) > before + 0.9 * SIZES[filesystem]
    assert content.checksum(path / "data") == checksum
    kubelet.unmount(volume, "pod")
    path = kubelet.mount(volume, "pod")
    assert content.checksum(path / "data") == checksum
    kubelet.unmount(volume, "pod")


@pytest.mark.parametrize("filesystem", ["ext4", "ext3", "xfs", "btrfs"])
def test_offline(driver, kubelet, filesystem):
    volume = new_volume(driver, filesystem)
    path = kubelet.mount(volume, "pod")
    checksum = content.write(path / "data")
    before = total_bytes(path)
    kubelet.unmount(volume, "pod")
    target = 2 * SIZES[filesystem]
    answer = controller_expand(driver, volume, target)
    assert (answer.capacity_bytes, answer.node_expansion_required) == (target, True)
    path = kubelet.mount(volume, "pod", expand_to=target)
    assert total_bytes(path) > before + 0.9 * SIZES[filesystem]
    assert content.checksum(path / "data") == checksum
    kubelet.unmount(volume, "pod")


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_a_volume_that_was_never_staged_needs_no_node(driver, kubelet, filesystem):
    volume = new_volume(driver, filesystem)
    target = 2 * SIZES[filesystem]
    answer = controller_expand(driver, volume, target)
    assert (answer.capacity_bytes, answer.node_expansion_required) == (target, False)
    path = kubelet.mount(volume, "pod")
    assert total_bytes(path) > 0.9 * target - SIZES[filesystem] * 0.3
    kubelet.unmount(volume, "pod")


def test_ext4_online_without_the_capability_is_finished_by_the_next_stage(driver, kubelet):
    if may_grow_ext4_online():
        pytest.skip("this machine grants CAP_SYS_RESOURCE")
    volume = new_volume(driver, "ext4")
    path = kubelet.mount(volume, "pod")
    checksum = content.write(path / "data")
    before = total_bytes(path)
    target = 2 * SIZES["ext4"]
    assert controller_expand(driver, volume, target).capacity_bytes == target
    for _ in range(2):
        with refused("FAILED_PRECONDITION", "CAP_SYS_RESOURCE"):
            kubelet.expand(volume, path, target)
    assert content.checksum(path / "data") == checksum
    kubelet.unmount(volume, "pod")
    path = kubelet.mount(volume, "pod")
    assert total_bytes(path) > before + 0.9 * SIZES["ext4"]
    assert kubelet.expand(volume, path, target) == target
    assert content.checksum(path / "data") == checksum
    kubelet.unmount(volume, "pod")


def test_a_block_device_shows_its_new_size_at_once(driver, kubelet):
    volume = new_volume(driver, "block")
    device = kubelet.map_block(volume, "pod")
    checksum = content.write(device)
    target = 2 * SIZES["block"]
    answer = controller_expand(driver, volume, target)
    assert (answer.capacity_bytes, answer.node_expansion_required) == (target, False)
    assert device_bytes(device) == target
    assert kubelet.expand(volume, kubelet.publish_file(volume, "pod"), target) == target
    assert kubelet.stats(volume, kubelet.device_path(volume, "pod")).usage[0].total == target
    assert content.checksum(device, 4 * content.CHUNK) == checksum
    kubelet.unmap_block(volume, "pod")
    kubelet.map_block(volume, "pod")
    assert device_bytes(driver.loop(volume.handle)) == target
    kubelet.unmap_block(volume, "pod")


@pytest.mark.parametrize("filesystem", ["xfs", "block"])
def test_the_node_alone_can_do_it_all(driver, kubelet, filesystem):
    """Should the controller's part be lost, NodeExpandVolume grows the image too."""
    volume = new_volume(driver, filesystem)
    kubelet.start_pod(volume, "pod")
    path = (kubelet.mount_path(volume, "pod") if filesystem == "xfs"
            else kubelet.publish_file(volume, "pod"))
    target = 2 * SIZES[filesystem]
    answer = driver.call("NodeExpandVolume", volume_id=volume.handle, volume_path=str(path),
                         capacity_range=csi_client.at_least(target))  # no staging path
    assert answer.capacity_bytes == target
    kubelet.end_pod(volume, "pod")
    assert driver.record(volume.handle)["capacity_bytes"] == target


@pytest.mark.parametrize("filesystem", ["xfs", "block"])
def test_a_smaller_size_is_answered_with_the_present_one(driver, kubelet, filesystem):
    volume = new_volume(driver, filesystem)
    kubelet.start_pod(volume, "pod")
    path = (kubelet.mount_path(volume, "pod") if filesystem == "xfs"
            else kubelet.publish_file(volume, "pod"))
    size = SIZES[filesystem]
    assert controller_expand(driver, volume, size // 2).capacity_bytes == size
    assert kubelet.expand(volume, path, size // 2) == size
    with refused("OUT_OF_RANGE"):
        controller_expand(driver, volume, size // 4, limit=size // 2)
    kubelet.end_pod(volume, "pod")


def test_a_full_pool_can_be_recovered_from(new_driver, new_disk, directory):
    """The user lowers the request after OUT_OF_RANGE; the volume is as it was."""
    new_disk(256 * MIB)
    driver = new_driver(",reserve=0")
    volume = new_volume(driver, "ext4", "thick")
    for _ in range(2):
        with refused("OUT_OF_RANGE", "fit"):
            controller_expand(driver, volume, 1024 * MIB)
    assert driver.record(volume.handle)["capacity_bytes"] == SIZES["ext4"]
    assert driver.image(volume.handle).stat().st_size == SIZES["ext4"]
    assert controller_expand(driver, volume, 96 * MIB).capacity_bytes == 96 * MIB


def test_nothing_but_the_volume_grows(driver, kubelet):
    volume = new_volume(driver, "xfs")
    with refused("NOT_FOUND"):
        driver.call("ControllerExpandVolume", capacity_range=csi_client.at_least(1 << 30),
                    volume_id="default:test-node:00000000-0000-5000-8000-000000000000")
    with refused("FAILED_PRECONDITION", "not staged"):
        kubelet.expand(volume, kubelet.mount_path(volume, "pod"), 1 << 29)
    assert driver.record(volume.handle)["capacity_bytes"] == SIZES["xfs"]


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_the_filesystem_is_sound_after_growth(driver, kubelet, filesystem):
    volume = new_volume(driver, filesystem)
    kubelet.mount(volume, "pod")
    kubelet.unmount(volume, "pod")
    controller_expand(driver, volume, 3 * SIZES[filesystem])
    kubelet.mount(volume, "pod")
    kubelet.unmount(volume, "pod")
    check = {"ext4": ["e2fsck", "-fn"], "xfs": ["xfs_repair", "-n", "-f"],
             "btrfs": ["btrfs", "check", "--force", "--readonly"]}[filesystem]
    found = subprocess.run([*check, driver.image(volume.handle)], capture_output=True, text=True,
                           check=False)
    assert found.returncode == 0, found.stdout + found.stderr
