# SPDX-License-Identifier: Apache-2.0
"""Several pods on one node, access modes, read-only use, and kubelet's restart on live mounts."""

import contextlib
import errno

import pytest

import content
import mount_table
from csi_client import refused
from kubelet import PersistentVolume
from pool_disk import run

RWOP = "SINGLE_NODE_SINGLE_WRITER"


@contextlib.contextmanager
def read_only_error():
    with pytest.raises(OSError) as caught:
        yield
    assert caught.value.errno in (errno.EROFS, errno.EPERM)


def filesystem_volume(driver, name="pv", filesystem="ext4", mode="SINGLE_NODE_MULTI_WRITER"):
    return PersistentVolume(driver.create(name, filesystem=filesystem).volume_id, name,
                            filesystem=filesystem, mode=mode)


def block_volume(driver, name="pv", mode="SINGLE_NODE_MULTI_WRITER"):
    return PersistentVolume(driver.create(name, access="block").volume_id, name, access="block",
                            mode=mode)


def test_two_pods_share_a_volume(driver, kubelet):
    volume = filesystem_volume(driver)
    first = kubelet.mount(volume, "pod-1")
    second = kubelet.mount(volume, "pod-2")
    checksum = content.write(first / "data")
    assert content.checksum(second / "data") == checksum
    kubelet.unpublish(volume, "pod-1")
    assert content.checksum(second / "data") == checksum
    kubelet.unmount(volume, "pod-2")


def test_two_pods_share_a_block_volume(driver, kubelet):
    volume = block_volume(driver)
    first = kubelet.map_block(volume, "pod-1")
    second = kubelet.map_block(volume, "pod-2")
    checksum = content.write(first)
    assert content.checksum(second, 4 * content.CHUNK) == checksum
    kubelet.unpublish_block(volume, "pod-1")
    assert content.checksum(second, 4 * content.CHUNK) == checksum
    kubelet.unmap_block(volume, "pod-2")


@pytest.mark.parametrize("mode", [RWOP, "SINGLE_NODE_WRITER"])
def test_a_single_writer_keeps_the_second_pod_out(driver, kubelet, mode):
    volume = filesystem_volume(driver, mode=mode)
    kubelet.mount(volume, "pod-1")
    with refused("FAILED_PRECONDITION", "pod-1"):
        kubelet.publish(volume, "pod-2")
    assert not kubelet.mount_path(volume, "pod-2").exists()
    kubelet.unpublish(volume, "pod-1")
    kubelet.publish(volume, "pod-2")
    kubelet.unmount(volume, "pod-2")


def test_a_single_writer_keeps_the_second_block_pod_out(driver, kubelet):
    volume = block_volume(driver, mode=RWOP)
    kubelet.map_block(volume, "pod-1")
    with refused("FAILED_PRECONDITION", "pod-1"):
        kubelet.publish_block(volume, "pod-2")
    assert not kubelet.publish_file(volume, "pod-2").exists()
    kubelet.unmap_block(volume, "pod-1")


def test_a_read_only_pod_beside_a_writing_one(driver, kubelet):
    volume = filesystem_volume(driver)
    writer = kubelet.mount(volume, "writer")
    checksum = content.write(writer / "data")
    reader = kubelet.mount(volume, "reader", read_only=True)
    assert content.checksum(reader / "data") == checksum
    with read_only_error():
        content.write(reader / "more")
    content.write(writer / "more")
    kubelet.unpublish(volume, "reader")
    kubelet.unmount(volume, "writer")


def test_a_read_only_block_pod_cannot_write(driver, kubelet):
    volume = block_volume(driver)
    device = kubelet.map_block(volume, "pod", read_only=True)
    with read_only_error():
        content.write(device.resolve())
    with refused("FAILED_PRECONDITION"):
        kubelet.publish_block(volume, "writer")
    kubelet.unmap_block(volume, "pod")
    device = kubelet.map_block(volume, "writer")
    content.write(device)
    kubelet.unmap_block(volume, "writer")


def test_sub_path_binds_keep_working(driver, kubelet, directory):
    volume = filesystem_volume(driver)
    path = kubelet.mount(volume, "pod")
    (path / "inner").mkdir()
    bind = directory / "kubelet" / "pods" / "pod" / "volume-subpaths" / volume.name / "app" / "0"
    bind.mkdir(parents=True)
    run("mount", "--bind", path / "inner", bind)
    checksum = content.write(bind / "data")
    kubelet.restart([(volume, "pod", False)])
    assert content.checksum(path / "inner" / "data") == checksum
    # kubelet removes sub-path binds first; a driver that is called earlier must not lose data.
    with refused("FAILED_PRECONDITION"):
        driver.delete(volume.handle)
    run("umount", bind)
    kubelet.unmount(volume, "pod")


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_kubelet_restart_changes_nothing_on_live_mounts(driver, kubelet, filesystem):
    volume = filesystem_volume(driver, filesystem=filesystem)
    path = kubelet.mount(volume, "pod")
    kubelet.mount(volume, "reader", read_only=True)
    loop = driver.loop(volume.handle)
    with open(path / "log", "wb", buffering=0) as log:
        log.write(b"before ")
        before = mount_table.read()
        for _ in range(3):
            kubelet.restart([(volume, "pod", False), (volume, "reader", True)])
            driver.crash()
        assert mount_table.read() == before, "a repeated stage or publish stacked a mount"
        log.write(b"after")
    assert (path / "log").read_bytes() == b"before after"
    assert driver.loop(volume.handle) == loop
    kubelet.unpublish(volume, "reader")
    kubelet.unmount(volume, "pod")


def test_kubelet_restart_changes_nothing_on_a_live_block_device(driver, kubelet):
    volume = block_volume(driver)
    device = kubelet.map_block(volume, "pod")
    checksum = content.write(device)
    before = mount_table.read()
    for _ in range(3):
        kubelet.restart([(volume, "pod", False)])
        driver.crash()
    assert mount_table.read() == before
    assert content.checksum(device, 4 * content.CHUNK) == checksum
    kubelet.unmap_block(volume, "pod")


def test_no_program_runs_on_a_live_volume(driver, kubelet, program_gate):
    """mkfs or fsck of a mounted device would destroy it; here neither could even start."""
    volume = filesystem_volume(driver)
    kubelet.mount(volume, "pod")
    gates = [program_gate(program) for program in ("mkfs.ext4", "e2fsck", "resize2fs")]
    kubelet.restart([(volume, "pod", False)])
    driver.crash()
    kubelet.restart([(volume, "pod", False)])
    kubelet.unmount(volume, "pod")
    kubelet.mount(volume, "pod")  # a clean filesystem needs none either
    kubelet.unmount(volume, "pod")
    assert [gate.starts() for gate in gates] == [0, 0, 0]
