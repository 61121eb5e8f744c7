"""The power is cut while volumes are written, and the Ceph in the same guest goes with it.

After the next boot what was synced is there, and what this node is recorded to have is no obstacle.
"""

import json
import os
import pathlib

import durable_file
from driver import MIB, Volume
from scenarios.rbd_ceph import (CEPH, BlockVolume, await_cluster, driver_on, gone, holder, keys,
                                made, mapped, start_ceph, wake_ceph)

MOST_FILES = 200
BLOCK = 4096


def files_volume():
    return Volume("cut-files", 256 * MIB, provisioning="thin")


def block_volume():
    return BlockVolume("cut-block", 32 * MIB, provisioning="thin")


def driver_of(run_dir, ceph):
    driver = driver_on(run_dir, f"ceph=rbd:rbd,monitors={ceph.monitors},user=holdfast,"
                                f"keyring={CEPH}/holdfast.keyring")
    await_cluster(driver)
    return driver


def work(run_dir):
    """Writes until the power is cut; each line tells of what is synced."""
    ceph = wake_ceph(run_dir / "ceph")
    driver = driver_of(run_dir, ceph)
    files, block = made(driver, files_volume()), made(driver, block_volume())
    tell(files=files.id, block=block.id, client=holder(ceph, files)["client_address"])
    for number in range(MOST_FILES):
        name = f"file-{number}"
        checksum = durable_file.write(files.target_path / name, chunks=1)
        write_block(block.target_path, number)
        tell(name=name, checksum=checksum, number=number)
    raise AssertionError("the power was not cut")


def tell(**facts):
    print(f"SYNCED {json.dumps(facts)}", flush=True)


def pattern(number):
    return bytes([number % 251 + 1]) * BLOCK


def write_block(path, number):
    with open(path, "r+b", buffering=0) as device:
        device.seek(number * BLOCK)
        device.write(pattern(number))
        os.fsync(device.fileno())


def check(run_dir):
    told = [json.loads(line) for line in
            pathlib.Path(run_dir / "synced").read_text(encoding="utf-8").splitlines()]
    ceph = start_ceph()
    driver = driver_of(run_dir, ceph)
    files, block = files_volume(), block_volume()
    files.id, block.id = told[0]["files"], told[0]["block"]
    for volume in (files, block):
        driver.stage(volume)
        driver.publish(volume)
    now = holder(ceph, files)
    assert now["node"] == "vm" and now["client_address"] != told[0]["client"], now
    for one in told[1:]:
        assert durable_file.checksum(files.target_path / one["name"]) == one["checksum"], one
    with open(block.target_path, "rb", buffering=0) as device:
        for one in told[1:]:
            device.seek(one["number"] * BLOCK)
            assert device.read(BLOCK) == pattern(one["number"]), one
    durable_file.write(files.target_path / "after", chunks=1)
    driver.expand_filesystem(files, driver.expand(files, 320 * MIB))
    for volume in (files, block):
        gone(driver, volume)
    assert not mapped() and not driver.list()
    assert not keys(ceph, files) and not keys(ceph, block)
    print(f"rbd: {len(told) - 1} files and blocks outlived the power cut", flush=True)
    driver.stop()
