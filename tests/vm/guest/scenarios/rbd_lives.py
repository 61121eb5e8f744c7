"""Lives of volumes on one node: growth, restarts, kills; each ends without volumes or devices."""

import pathlib
import subprocess
import threading

import durable_file
import leftovers
from driver import MIB, Volume
from scenarios.rbd_ceph import (CEPH, DEVICES, answers, condition, driver_on, gone, holder,
                                ignore_errors, keys, made, mapped, recorded, refused, until)

MKFS = pathlib.Path("/sbin/mkfs.ext4")
STATE = pathlib.Path("/data/state-vm")


def a_life_with_growth(driver, run_dir, pool, ceph):
    """The image grows, then its filesystem, under a program that writes; the data outlives it."""
    volume = made(driver, Volume("life", 64 * MIB, provisioning="thin"))
    assert leftovers.mount_source(volume.staging_path).startswith("/dev/rbd")
    index = mapped()[0]
    attributes = {path.name: path.read_text() for path in (DEVICES / index).iterdir()
                  if path.name in ("config_info", "name", "client_addr")}
    key = (CEPH / "holdfast.keyring").read_text().split("key = ")[1].strip()
    assert key not in attributes.get("config_info", ""), "the key is to be seen in sysfs"
    claim = holder(ceph, volume)
    assert (claim["node"], claim["client_address"]) == ("vm", attributes["client_addr"].strip())
    assert not condition(driver, volume)
    uuid = leftovers.filesystem_uuid(volume.staging_path, "ext4")
    first = durable_file.write(volume.target_path / "first")
    before = leftovers.filesystem_size(volume.target_path)
    writer = Writer(volume.target_path)
    writer.start()
    size = driver.expand(volume, 128 * MIB)
    driver.expand_filesystem(volume, size)
    writer.finish()
    assert leftovers.filesystem_size(volume.target_path) - before > 50 * MIB
    refused("FAILED_PRECONDITION", "in use", lambda: driver.delete(volume.id))
    driver.unpublish(volume)
    driver.unstage(volume)
    assert not mapped(), "unstaging unmaps"
    driver.stage(volume)
    driver.publish(volume)
    assert leftovers.filesystem_uuid(volume.staging_path, "ext4") == uuid, "never formatted again"
    assert durable_file.checksum(volume.target_path / "first") == first
    for name, checksum in writer.checksums.items():
        assert durable_file.checksum(volume.target_path / name) == checksum
    gone(driver, volume)


class Writer(threading.Thread):
    """Writes and flushes one small file after the other until it is stopped."""

    def __init__(self, directory):
        super().__init__(daemon=True)
        self._directory = directory
        self._told_to_end = threading.Event()
        self.checksums = {}
        self.error = None

    def run(self):
        try:
            while not self._told_to_end.is_set() and len(self.checksums) < 8:
                name = f"during-{len(self.checksums)}"
                self.checksums[name] = durable_file.write(self._directory / name, chunks=1)
        except OSError as error:
            self.error = error

    def finish(self):
        self._told_to_end.set()
        self.join()
        assert not self.error, f"writing failed: {self.error}"


def a_restart_under_writes(driver, run_dir, pool, ceph):
    """The kernel has the device, so killing the driver interrupts nothing."""
    volume = made(driver, Volume("restart", 64 * MIB, provisioning="thin"))
    writer = Writer(volume.target_path)
    writer.start()
    driver.crash()
    driver = driver_on(run_dir, pool)
    until(lambda: answers(driver), "the driver does not reach the cluster again")
    writer.finish()
    before = mapped()
    driver.stage(volume)
    driver.publish(volume)
    assert mapped() == before, "the same device, found again"
    gone(driver, volume)
    return driver


def raw_block(driver, run_dir, pool, ceph):
    volume = made(driver, Volume("block", 32 * MIB, fs="", provisioning="thin"))
    with open(volume.target_path, "r+b", buffering=0) as device:
        device.write(b"holdfast" * 512)
    size = driver.expand(volume, 48 * MIB)
    with open(volume.target_path, "rb", buffering=0) as device:
        assert device.seek(0, 2) == size == 48 * MIB, "the device shows its new size at once"
    driver.unpublish(volume)
    driver.unstage(volume)
    driver.stage(volume)
    driver.publish(volume)
    with open(volume.target_path, "rb", buffering=0) as device:
        assert device.read(4096) == b"holdfast" * 512
    gone(driver, volume)


def other_filesystems(driver, run_dir, pool, ceph):
    for filesystem, size in (("xfs", 300 * MIB), ("btrfs", 256 * MIB)):
        volume = made(driver, Volume(filesystem, size, fs=filesystem, provisioning="thin"))
        before = leftovers.filesystem_size(volume.target_path)
        checksum = durable_file.write(volume.target_path / "file", chunks=1)
        driver.expand_filesystem(volume, driver.expand(volume, size + 128 * MIB))
        assert leftovers.filesystem_size(volume.target_path) > before + 100 * MIB, filesystem
        assert durable_file.checksum(volume.target_path / "file") == checksum
        gone(driver, volume)


def mkfs_cut_short(driver, run_dir, pool, ceph):
    """Killed while it formats: the device is made blank and formatted again."""
    volume = Volume("cut", 64 * MIB, provisioning="thin")
    driver.create(volume)
    real = MKFS.resolve()
    kept = real.with_suffix(".kept")
    real.rename(kept)
    started = pathlib.Path("/tmp/mkfs-started")
    # It leaves its traces, and then does not end.
    real.write_text(f"#!/bin/sh\n{kept} \"$@\"\n: >{started}\nexec sleep 1000\n")
    real.chmod(0o755)
    staging = threading.Thread(target=lambda: ignore_errors(lambda: driver.stage(volume)))
    staging.start()
    until(started.exists, "mkfs is not started")
    driver.crash()
    staging.join()
    real.unlink()
    kept.rename(real)
    driver = driver_on(run_dir, pool)
    until(lambda: answers(driver), "the driver does not reach the cluster again")
    driver.stage(volume)
    driver.publish(volume)
    durable_file.write(volume.target_path / "file", chunks=1)
    gone(driver, volume)
    return driver


def another_image_of_that_name(driver, run_dir, pool, ceph):
    """Only the image that the record names is used, not an image that was put in its place."""
    volume = Volume("swapped", 64 * MIB, provisioning="thin")
    driver.create(volume)
    name = f"rbd/{recorded(ceph, volume)['image_name']}"
    ceph.rbd("rm", "--no-progress", name)
    ceph.rbd("create", "--size", "64M", name)
    refused("FAILED_PRECONDITION", "replaced", lambda: driver.stage(volume))
    assert not mapped()
    refused("FAILED_PRECONDITION", "replaced", lambda: driver.delete(volume.id))
    ceph.rbd("rm", "--no-progress", name)
    driver.delete(volume.id)


def what_a_kill_left_mapped(driver, run_dir, pool, ceph):
    """The reconciler unmaps devices that are not staged, and leaves alone those that were mapped by
    hand."""
    volume, by_hand = [Volume(name, 64 * MIB, provisioning="thin") for name in ("left", "by-hand")]
    for one in (volume, by_hand):
        driver.create(one)
    image = recorded(ceph, by_hand)["image_name"]
    ceph.rbd("map", "--options", "noudev", f"rbd/{image}")
    foreign = mapped()
    driver.stage(volume)
    driver.crash()
    # As if the kill had come before the stage record.
    subprocess.run(["umount", volume.staging_path], check=True)
    (STATE / "stages" / f"{volume.id}.json").unlink()
    driver = driver_on(run_dir, pool)
    until(lambda: mapped() == foreign, "the device stays mapped")
    until(lambda: "another program" in doctor(run_dir), "the foreign device is not told of")
    assert f"{volume.id[-36:]}/nodes" not in keys(ceph, volume), "the claim is given back"
    driver.stage(volume)
    driver.unstage(volume)
    assert mapped() == foreign
    ceph.rbd("unmap", "--options", "noudev", f"/dev/rbd{foreign[0]}")
    for one in (volume, by_hand):
        driver.delete(one.id)
    return driver


def doctor(run_dir):
    return subprocess.run([run_dir / "holdfast", "doctor", "--endpoint=unix:///run/hf/vm.sock"],
                          check=False, text=True, stdout=subprocess.PIPE).stdout
