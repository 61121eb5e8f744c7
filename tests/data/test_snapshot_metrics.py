# SPDX-License-Identifier: Apache-2.0
"""What metrics say of snapshots, freezes and copies on one node."""

import concurrent.futures
import json
import os
import signal
import time

import pytest

import content
import csi_client
import waiting
from driver import MIB
from kubelet import Kubelet, PersistentVolume
from link_files import free_port
from observed import metric

DATA = 8 * MIB


@pytest.fixture
def observe(new_disk, new_driver):
    """Starts a driver whose pool is on such a filesystem; returns it and its metrics."""
    def start(filesystem):
        new_disk(4 << 30, filesystem=filesystem)
        driver, port = new_driver(), free_port()
        driver.server.command.append(f"--metrics-address=127.0.0.1:{port}")
        driver.restart()
        return driver, lambda name, **labels: metric(port, f"holdfast_{name}", **labels)
    return start


def snapshot_states(read):
    """The number of snapshots in each state that any is in."""
    counts = {state: read("pool_snapshots", pool="default", blocks=state)
              for state in ("copying", "shared", "settling", "own")}
    return {state: count for state, count in counts.items() if count}


def bytes_of(read, kind):
    return read("pool_snapshot_bytes", pool="default", kind=kind)


def test_a_thin_snapshot_shares_its_blocks(observe):
    driver, read = observe("xfs")
    volume = driver.create("origin", access="block").volume_id
    content.write(driver.image(volume), DATA)
    assert snapshot_states(read) == {}
    driver.snapshot(volume, "snap")
    assert snapshot_states(read) == {"shared": 1}
    assert (bytes_of(read, "shared"), bytes_of(read, "own")) == (DATA, 0)
    content.write(driver.image(volume), DATA // 4)
    assert (bytes_of(read, "shared"), bytes_of(read, "own")) == (DATA * 3 / 4, DATA / 4)
    driver.delete(volume)
    # xfs frees blocks in its own time.
    waiting.until(lambda: snapshot_states(read) == {"own": 1}, "the rest is its own")
    assert (bytes_of(read, "shared"), bytes_of(read, "own")) == (0, DATA)
    assert read("pool_unshared_bytes_total", pool="default") == 0


@pytest.mark.parametrize("filesystem", ("xfs", "btrfs"))
def test_a_thick_snapshot_gets_blocks_of_its_own(observe, filesystem):
    driver, read = observe(filesystem)
    volume = driver.create("origin", access="block", provisioning="thick").volume_id
    content.write(driver.image(volume), DATA)
    driver.snapshot(volume, "snap")
    waiting.until(lambda: snapshot_states(read) == {"own": 1}, "it gets its blocks", seconds=60)
    assert read("pool_unshare_pending_bytes", pool="default") == 0
    assert read("pool_unshared_bytes_total", pool="default") >= DATA
    assert bytes_of(read, "shared") == 0


def test_freezes_are_measured(observe, directory):
    driver, read = observe("xfs")
    kubelet = Kubelet(directory / "kubelet", driver.call)
    volume = PersistentVolume(driver.create("origin").volume_id, "origin", "mount", "ext4")
    driver.snapshot(volume.handle, "before")
    assert read("freeze_duration_seconds_count") == 0, "nothing was mounted"
    path = kubelet.start_pod(volume, "pod")
    content.write(path / "data")
    driver.snapshot(volume.handle, "frozen")
    assert read("freeze_duration_seconds_count") == 1
    assert 0 < read("freeze_duration_seconds_sum") < 10
    driver.call("CreateSnapshot", source_volume_id=volume.handle, name="crash",
                parameters={"consistency": "crash"})
    assert read("freeze_duration_seconds_count") == 1
    assert read("freezes_rescued_total") == 0
    kubelet.end_pod(volume, "pod")


def is_freezing(driver):
    for path in (driver.directory / "state" / "stages").glob("*.json"):
        try:
            if json.loads(path.read_text())["freezing"]:
                return True
        except FileNotFoundError:  # replaced just now
            continue
    return False


def test_a_freeze_that_the_guard_ended_is_counted(observe, directory):
    driver, read = observe("ext4")
    kubelet = Kubelet(directory / "kubelet", driver.call)
    volume = PersistentVolume(driver.create("origin", size=900 * MIB).volume_id, "origin", "mount",
                              "ext4")
    path = kubelet.start_pod(volume, "pod")
    content.write(path / "data", 500 * MIB)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        call = pool.submit(driver.call, "CreateSnapshot", source_volume_id=volume.handle,
                           name="snap", parameters={"maxFreeze": "10s"})
        while not (call.done() or is_freezing(driver)):
            time.sleep(0.001)
        while not call.done():
            driver.server.process.send_signal(signal.SIGSTOP)
            try:
                content.write(path / "after")  # once it is frozen, this waits for the guard
            finally:
                driver.server.process.send_signal(signal.SIGCONT)
            time.sleep(0.01)  # the record is written before the freeze: let the driver come to it
        with csi_client.refused("ABORTED", "longer than 10000 ms|within maxFreeze, 10000 ms"):
            call.result()
    assert read("freezes_rescued_total") == 1
    assert read("freeze_duration_seconds_count") == 1
    assert read("freeze_duration_seconds_sum") <= 10
    kubelet.end_pod(volume, "pod")


def test_copies_in_steps_are_seen(observe):
    driver, read = observe("ext4")
    volume = driver.create("origin", access="block", size=1000 * MIB).volume_id
    content.write(driver.image(volume), 900 * MIB)
    snapshot = driver.snapshot(volume, "snap")
    assert not snapshot.ready_to_use
    assert snapshot_states(read) == {"copying": 1}
    waiting.until(lambda: snapshot_states(read) == {"own": 1}, "it is complete", seconds=60)
    assert bytes_of(read, "own") >= 900 * MIB
    assert read("transfers_ended_total", direction="received", code="OK") is None


def test_a_volume_without_direct_io_is_counted(new_disk, new_driver, directory):
    new_disk(4 << 30, filesystem="xfs")
    driver, port = new_driver(",sectorSize=512"), free_port()
    driver.server.command.append(f"--metrics-address=127.0.0.1:{port}")
    driver.restart()
    volume = driver.create("origin", access="block").volume_id
    content.write(driver.image(volume), DATA)
    driver.snapshot(volume, "snap")
    kubelet = Kubelet(directory / "kubelet", driver.call)
    staged = PersistentVolume(volume, "origin", "block", "")
    kubelet.start_pod(staged, "pod")
    name = os.path.basename(driver.loop(volume))
    with open(f"/sys/block/{name}/loop/dio", encoding="ascii") as flag:
        direct = int(flag.read())
    assert metric(port, "holdfast_pool_volumes_without_direct_io", pool="default") == 1 - direct
    kubelet.end_pod(staged, "pod")
    assert metric(port, "holdfast_pool_volumes_without_direct_io", pool="default") == 0
