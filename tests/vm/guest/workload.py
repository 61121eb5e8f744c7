"""The acknowledged steps that power-cut scenarios are made of: begin line, call, ack line."""

import dataclasses

import durable_file
import ledger
import leftovers
from driver import POOL, Driver


def start(run_dir):
    """Starts the driver on an empty pool and tells what that looks like."""
    driver = Driver(run_dir)
    assert not driver.list(), "the pool is not empty"
    baseline = leftovers.Baseline.take(POOL)
    ledger.ack("start", "", baseline=[baseline.tree, baseline.free])
    return driver


def create(driver, volume):
    ledger.begin("create", volume.name, wanted=dataclasses.asdict(volume))
    driver.create(volume)
    ledger.ack("create", volume.name, created=dataclasses.asdict(volume))


def delete(driver, volume):
    ledger.begin("delete", volume.name)
    driver.delete(volume.id)
    ledger.ack("delete", volume.name)


def stage(driver, volume):
    ledger.begin("stage", volume.name)
    driver.stage(volume)
    uuid = leftovers.filesystem_uuid(volume.staging_path)
    ledger.ack("stage", volume.name, filesystem_uuid=uuid)


def unstage(driver, volume):
    ledger.begin("unstage", volume.name)
    driver.unstage(volume)
    ledger.ack("unstage", volume.name)


def write(volume, file):
    """Writes a file, in a new directory if its name has one; the ack follows the flush."""
    path = volume.staging_path / file
    path.parent.mkdir(exist_ok=True)
    checksum = durable_file.write(path)
    durable_file.flush_directory(volume.staging_path)
    ledger.ack("write", volume.name, file=file, checksum=checksum)


def expand(driver, volume, size):
    ledger.begin("expand", volume.name, size=size)
    volume.size = driver.expand(volume, size)
    ledger.ack("expand", volume.name, size=volume.size)
    ledger.begin("expand-filesystem", volume.name)
    driver.expand_filesystem(volume, volume.size)
    ledger.ack("expand-filesystem", volume.name)
