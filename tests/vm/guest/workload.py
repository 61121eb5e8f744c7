"""The acknowledged steps that power-cut scenarios are made of: begin line, call, ack line."""

import dataclasses
import os

import durable_file
import ledger
import leftovers
from driver import POOL, Driver
from promises import Promises


def start(run_dir):
    """Starts the driver on an empty pool and reports its state."""
    driver = Driver(run_dir)
    assert not driver.list(), "the pool is not empty"
    baseline = leftovers.Baseline.take(POOL)
    ledger.ack("start", "", **Promises([baseline.tree, baseline.free]).facts())
    return driver


def create(driver, volume):
    ledger.begin("create", volume.name, wanted=dataclasses.asdict(volume))
    driver.create(volume)
    ledger.ack("create", volume.name, created=dataclasses.asdict(volume))


def delete(driver, volume):
    ledger.begin("delete", volume.name)
    driver.delete(volume.id)
    ledger.ack("delete", volume.name)


def snapshot(driver, origin, name):
    """Returns its id."""
    ledger.begin("snapshot", name, origin=origin.name)
    snapshot_id = driver.snapshot(origin, name)
    ledger.ack("snapshot", name, id=snapshot_id)
    return snapshot_id


def delete_snapshot(driver, name, snapshot_id):
    ledger.begin("delete-snapshot", name)
    driver.delete_snapshot(snapshot_id)
    ledger.ack("delete-snapshot", name)


def stage(driver, volume):
    """Returns the UUID of the filesystem."""
    ledger.begin("stage", volume.name)
    driver.stage(volume)
    uuid = leftovers.filesystem_uuid(volume.staging_path, volume.fs) if volume.fs else ""
    ledger.ack("stage", volume.name, filesystem_uuid=uuid)
    return uuid


def unstage(driver, volume):
    ledger.begin("unstage", volume.name)
    driver.unstage(volume)
    ledger.ack("unstage", volume.name)


def publish(driver, volume):
    ledger.begin("publish", volume.name)
    driver.publish(volume)
    ledger.ack("publish", volume.name)


def unpublish(driver, volume):
    ledger.begin("unpublish", volume.name)
    driver.unpublish(volume)
    ledger.ack("unpublish", volume.name)


def write(volume, file):
    """Writes a file, in a new directory if its name has one; the ack follows the flush."""
    ledger.begin("write", volume.name, file=file)
    path = volume.staging_path / file
    path.parent.mkdir(exist_ok=True)
    checksum = durable_file.write(path)
    durable_file.flush_directory(volume.staging_path)
    ledger.ack("write", volume.name, file=file, checksum=checksum)


def overwrite(volume, chunk):
    """Writes one MiB of raw block that is published; in the ledger its number is a file."""
    ledger.begin("write", volume.name, file=str(chunk))
    checksum = durable_file.overwrite(volume.target_path, chunk)
    ledger.ack("write", volume.name, file=str(chunk), checksum=checksum)


def checksum(volume, file):
    if volume.fs:
        return durable_file.checksum(volume.staging_path / file)
    return durable_file.chunk_checksum(volume.target_path, int(file))


def capacity(volume):
    """Of the filesystem, or of raw block that is published."""
    if volume.fs:
        return leftovers.filesystem_size(volume.staging_path)
    with volume.target_path.open("rb") as device:
        return device.seek(0, os.SEEK_END)


def expand(driver, volume, size):
    ledger.begin("expand", volume.name, size=size)
    volume.size = driver.expand(volume, size)
    ledger.ack("expand", volume.name, size=volume.size)


def expand_filesystem(driver, volume):
    ledger.begin("expand-filesystem", volume.name)
    driver.expand_filesystem(volume, volume.size)
    ledger.ack("expand-filesystem", volume.name)
