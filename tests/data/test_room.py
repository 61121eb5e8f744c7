# SPDX-License-Identifier: Apache-2.0
"""A volume as large as GetCapacity reports can be created at that moment, and a larger one is
refused for lack of space: of blocks, of inodes."""

import re
import subprocess

import pytest

import content
import csi_client
from csi_client import refused
from driver import MIB
from kubelet import Kubelet, PersistentVolume
from pool_disk import attach, run

ROUNDS = 2


def capacity(driver, provisioning):
    return driver.call("GetCapacity",
                       parameters={"provisioning": provisioning}).maximum_volume_size.value


def test_what_a_thin_volume_gave_back_is_owed_to_it_again(new_disk, new_driver, directory):
    new_disk(400 * MIB, filesystem="xfs")
    driver = new_driver()
    kubelet = Kubelet(directory / "kubelet", driver.call)
    thin = PersistentVolume(driver.create("thin", size=128 * MIB).volume_id, "thin",
                            filesystem="ext4")
    path = kubelet.mount(thin, "pod")
    for i in range(ROUNDS):
        content.write(path / "data", 64 * MIB)
        driver.client.admin("ListPools")  # counts what is allocated, as a refused creation does
        (path / "data").unlink()
        run("fstrim", path)
        for provisioning in ("thick", "thin"):
            size = capacity(driver, provisioning)
            volume = driver.create(f"{provisioning}-{i}", size=size, access="block",
                                   provisioning=provisioning)
            driver.delete(volume.volume_id)
    kubelet.unmount(thin, "pod")


def use_up_inodes(directory):
    """Creates files until no inode is left."""
    count = 0
    while True:
        try:
            (directory / f"filler-{count}").touch()
        except OSError:
            return
        count += 1


def test_no_inode_is_left(new_disk, new_driver):
    disk = new_disk(64 * MIB)
    driver = new_driver()
    volume = driver.create("before", size=8 * MIB, access="block")
    use_up_inodes(disk.mount_point)
    for provisioning in ("thick", "thin"):
        assert capacity(driver, provisioning) == 0
        with refused("RESOURCE_EXHAUSTED", "inodes left"):
            driver.create("new", size=MIB, access="block", provisioning=provisioning)
    with refused("OUT_OF_RANGE", "inodes left"):
        driver.call("ControllerExpandVolume", volume_id=volume.volume_id,
                    capacity_range=csi_client.at_least(16 * MIB))
    [pool] = driver.client.admin("ListPools").pools
    assert (pool.problem, pool.thick_available_bytes) == ("", 0) and pool.free_bytes > 0
    for path in disk.mount_point.glob("filler-*"):
        path.unlink()
    assert capacity(driver, "thick") > 0
    driver.create("new", size=MIB, access="block")


@pytest.fixture
def large_sectors(new_driver, directory):
    """A driver whose pool is on a disk with sectors of 4096 bytes."""
    image = directory / "large.img"
    with open(image, "xb") as file:
        file.truncate(512 * MIB)
    device = attach(image)
    run("losetup", "--detach", device)
    device = run("losetup", "--find", "--show", "--sector-size=4096", image)
    (directory / "pool").mkdir()
    run("mkfs.xfs", "-q", device)
    run("mount", device, directory / "pool")
    driver = new_driver()
    yield driver
    for volume_id in driver.listed():
        driver.delete(volume_id)
    assert driver.server.stop() is None
    run("umount", directory / "pool")
    run("losetup", "--detach", device)


@pytest.mark.parametrize("filesystem, options", [
    ("ext4", "-b 2048"), ("ext3", "-b2048"), ("xfs", "-b size=1024"), ("xfs", "-b size=1k"),
    ("xfs", "-s size=512")])
def test_blocks_smaller_than_the_disks_sectors_are_refused(large_sectors, filesystem, options):
    with refused("INVALID_ARGUMENT", "mkfsOptions: .* less than 4096 bytes"):
        large_sectors.create("small", filesystem=filesystem, mkfsOptions=options)
    assert large_sectors.listed() == []


def test_blocks_as_large_as_the_disks_sectors_are_taken(large_sectors, directory):
    kubelet = Kubelet(directory / "kubelet", large_sectors.call)
    for filesystem, options in (("ext4", "-b 4096"), ("xfs", "-b size=4k -s size=4096")):
        volume = PersistentVolume(
            large_sectors.create(filesystem, filesystem=filesystem, mkfsOptions=options).volume_id,
            filesystem, filesystem=filesystem)
        kubelet.mount(volume, "pod")
        kubelet.unmount(volume, "pod")
        large_sectors.delete(volume.handle)


def test_a_repeated_creation_makes_the_names_durable(new_driver, directory):
    """The process that made the volume may have been killed before it did."""
    driver = new_driver()
    volume = driver.create("kept", size=MIB, access="block").volume_id
    trace = directory / "trace"
    tracer = subprocess.Popen(["strace", "--follow-forks", "--decode-fds=path", "-e",
                               "trace=fsync,fdatasync", "-o", trace, "-p",
                               str(driver.server.process.pid)], stderr=subprocess.PIPE, text=True)
    try:
        assert "attached" in tracer.stderr.readline()
        assert driver.create("kept", size=MIB, access="block").volume_id == volume
    finally:
        tracer.terminate()
        tracer.wait()
        tracer.stderr.close()
    synced = set(re.findall(r"sync\(\d+<([^>]*)>", trace.read_text()))
    assert {str(driver.pool / "volumes"), str(driver.volume_directory(volume))} <= synced
