# SPDX-License-Identifier: Apache-2.0
"""`holdfast top`: what volumes in use read and write."""

import os
import threading

import pytest

import command
import csi_client
from driver import MIB

STEP = 64 << 10


def at(driver):
    return f"--endpoint=unix://{driver.server.socket}"


@pytest.fixture
def busy(driver, directory):
    """A staged volume to which a thread writes all the time."""
    volume_id = driver.create("data-0", **{"csi.storage.k8s.io/pvc/name": "orders",
                                           "csi.storage.k8s.io/pvc/namespace": "shop"}).volume_id
    staging = directory / "staging"
    staging.mkdir()
    driver.call("NodeStageVolume", volume_id=volume_id, staging_target_path=str(staging),
                volume_capability=csi_client.capability(filesystem="ext4"))
    ends = threading.Event()

    def write():
        file = os.open(staging / "file", os.O_CREAT | os.O_WRONLY)
        while not ends.is_set():
            os.pwrite(file, os.urandom(STEP), 0)
            os.fsync(file)
        os.close(file)

    writer = threading.Thread(target=write)
    writer.start()
    yield volume_id
    ends.set()
    writer.join()
    driver.call("NodeUnstageVolume", volume_id=volume_id, staging_target_path=str(staging))


def test_what_a_volume_writes(holdfast, driver, busy):
    driver.create("idle")
    shown, = command.parsed(holdfast("top", at(driver), "--once", "--output=json"))["volumes"]
    assert (shown["id"], shown["claim"], shown["kubernetes_namespace"]) == (busy, "orders", "shop")
    assert shown["written_bytes_per_second"] >= shown["writes_per_second"] > 0
    assert shown["allocated_bytes"] > 0 and shown["capacity_bytes"] == 64 * MIB
    title, line = holdfast("top", at(driver), "--once").stdout.splitlines()
    assert title.split()[:3] == ["CLAIM", "NODE", "DEVICE"]
    assert line.split()[:3] == ["shop/orders", "test-node", shown["device"]]


def test_nobody_there(holdfast, directory):
    command.refused(holdfast("top", f"--endpoint=unix://{directory / 'csi.sock'}", "--once"), 1,
                    "holdfast serve")
