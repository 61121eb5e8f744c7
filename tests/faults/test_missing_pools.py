# SPDX-License-Identifier: Apache-2.0
"""Pools that are missing when the driver starts: the others are served, teardown works, and the
pool is served without a restart once its disk is back."""

import subprocess

import grpc
import pytest

import content
import csi_client
import driver_fixtures
import host
import lives
import mount_table
from csi_client import refused
from driver import MIB, Driver, uuid_of
from kubelet import Kubelet
from link_files import free_port
from observed import get, metric
from pool_disk import run
from waiting import until

SECONDS = 60


class TwoPools(Driver):
    """The default pool is on the same disk as everything else, `late` is on a separate one."""

    def __init__(self, directory, disk):
        super().__init__(driver_fixtures.binary(), directory)
        self.disk = disk
        self.port = free_port()
        self.server.command += [f"--pool=late=file:{disk.mount_point}",
                                f"--health-address=127.0.0.1:{self.port}",
                                f"--metrics-address=127.0.0.1:{self.port}"]

    def is_served(self, pool="late"):
        try:
            return self.call("GetCapacity", parameters={"pool": pool}) is not None
        except grpc.RpcError as error:
            assert csi_client.code_of(error) == "UNAVAILABLE", error
            return False


@pytest.fixture
def disk(new_disk, directory):
    return new_disk(256 * MIB, mount_point=directory / "late", name="late")


@pytest.fixture
def driver(disk, directory):
    driver = TwoPools(directory, disk).start()
    yield driver
    until(driver.is_served, "the late pool is back")
    for volume_id in driver.listed():
        driver.delete(volume_id)
    assert driver.server.stop() is None, driver.log()


@pytest.fixture
def kubelet(driver, directory):
    return Kubelet(directory / "kubelet", driver.call)


def refuse_the_late_pool(driver, kubelet, volume, why):
    staging = kubelet.global_mount(volume)
    staging.mkdir(parents=True, exist_ok=True)
    for method, fields in {
            "NodeStageVolume": {"staging_target_path": str(staging),
                                "volume_capability": volume.capability()},
            "DeleteVolume": {}, "ControllerGetVolume": {},
            "ControllerExpandVolume": {"capacity_range": csi_client.at_least(128 * MIB)}}.items():
        with refused("UNAVAILABLE", why):
            driver.call(method, volume_id=volume.handle, **fields)
    with refused("UNAVAILABLE", why):
        driver.create("new", pool="late")
    with refused("UNAVAILABLE", why):
        driver.call("GetCapacity", parameters={"pool": "late"})
    with refused("UNAVAILABLE", why):
        driver.call("ListVolumes")  # a shorter list would mean that they are gone


def without_its_disk(driver, disk):
    assert driver.server.stop() is None
    disk.unmount()


def read_only(driver, disk):
    assert driver.server.stop() is None
    disk.unmount()
    disk.options = ("-o", "ro")
    disk.mount()


def without_its_directory(driver, disk):
    without_its_disk(driver, disk)
    disk.mount_point.rmdir()


def with_a_damaged_marker(driver, disk):
    assert driver.server.stop() is None
    marker = disk.mount_point / "holdfast-pool.json"
    marker.rename(disk.mount_point / "kept")
    marker.write_text("{}")


def repair(disk):
    disk.mount_point.mkdir(exist_ok=True)
    if (disk.mount_point / "kept").exists():
        (disk.mount_point / "kept").rename(disk.mount_point / "holdfast-pool.json")
    elif disk.options:
        disk.options = ()
        run("mount", "-o", "remount,rw", disk.mount_point)
    else:
        disk.mount()


@pytest.mark.parametrize("fault, why", [
    (without_its_disk, "is its disk mounted"), (without_its_directory, "there is no directory"),
    (read_only, "Read-only file system"), (with_a_damaged_marker, "pool marker is damaged")],
    ids=lambda value: getattr(value, "__name__", ""))
def test_one_pool_is_missing_at_the_start(driver, kubelet, disk, fault, why):
    late = lives.keep(driver, kubelet, "kept", pool="late")
    fault(driver, disk)
    driver.start()
    assert driver.call("Probe").ready.value
    assert get(driver.port, "/readyz") == (200, "ok\n")
    assert get(driver.port, "/healthz") == (200, "ok\n")
    assert metric(driver.port, "holdfast_pool_ready", pool="late") == 0
    assert metric(driver.port, "holdfast_pool_ready", pool="default") == 1
    states = {pool.name: pool.problem for pool in driver.client.admin("ListPools").pools}
    assert why in states["late"] and states["default"] == ""
    missing, = driver.client.admin("ListVolumes").unreachable
    assert missing.pool == "late" and why in missing.problem
    refuse_the_late_pool(driver, kubelet, late.volume, why)
    lives.leads_a_life(driver, kubelet, "on the other pool")
    until(lambda: [open.subject for open in driver.client.admin("ListLeftovers").leftovers]
          == ["late"], "doctor and metrics name the pool")
    repair(disk)
    until(driver.is_served, "the late pool is served")
    lives.assert_kept(kubelet, late)
    assert metric(driver.port, "holdfast_pool_ready", pool="late") == 1
    lives.leads_a_life(driver, kubelet, "on the late pool", pool="late")


def test_pods_of_a_missing_pool_can_go(driver, kubelet, disk):
    late = lives.new_volume(driver, "used", pool="late")
    path = kubelet.mount(late, "pod")
    written = content.write(path / "data", MIB)
    driver.server.kill()
    disk.unmount("--lazy")
    driver.start()
    with refused("UNAVAILABLE", "is its disk mounted"):
        driver.call("GetCapacity", parameters={"pool": "late"})
    kubelet.unpublish(late, "pod")
    kubelet.unstage(late)
    assert not any(backing.endswith(f"{uuid_of(late.handle)}/image")
                   for backing in host.loop_backings().values())
    disk.mount()
    until(driver.is_served, "the late pool is served")
    lives.assert_kept(kubelet, lives.Kept(late, written))


def test_a_copy_that_somebody_attached_is_left_alone(driver, kubelet, disk, directory):
    """Without its pool a volume's device is known by its label, not by a path."""
    late = lives.keep(driver, kubelet, "copied", pool="late")
    copy = directory / "backup"
    run("cp", "-a", disk.mount_point, copy)
    without_its_disk(driver, disk)
    driver.start()
    device = run("losetup", "--find", "--show",
                 copy / "volumes" / uuid_of(late.volume.handle) / "image")
    try:
        driver.call("NodeUnstageVolume", volume_id=late.volume.handle,
                    staging_target_path=str(kubelet.global_mount(late.volume)))
        assert device in host.loop_backings()
    finally:
        run("losetup", "--detach", device)
    disk.mount()


def test_a_pool_that_hangs_at_the_start(driver, kubelet, disk):
    """A frozen filesystem accepts no new file; a disk that does not answer looks the same."""
    late = lives.keep(driver, kubelet, "kept", pool="late")
    assert driver.server.stop() is None
    run("fsfreeze", "--freeze", disk.mount_point)
    try:
        driver.start()
        assert not driver.is_served()
        assert driver.call("Probe").ready.value
        refuse_the_late_pool(driver, kubelet, late.volume, "does not answer")
        lives.leads_a_life(driver, kubelet, "on the other pool")
    finally:
        run("fsfreeze", "--unfreeze", disk.mount_point)
    until(driver.is_served, "the late pool is served")
    lives.assert_kept(kubelet, late)


def test_no_pool_at_all(driver, kubelet, disk, directory):
    """The driver is not ready, and yet the pods can be removed."""
    kept = lives.new_volume(driver, "used")
    path = kubelet.mount(kept, "pod")
    driver.server.kill()
    disk.unmount("--lazy")
    away = driver.pool.rename(directory / "away")
    assert driver.start_unready() is None, driver.log()
    with refused("FAILED_PRECONDITION", "there is no directory.*is its disk mounted"):
        driver.call("Probe")
    assert get(driver.port, "/healthz")[0] == 200
    status, why = get(driver.port, "/readyz")
    assert (status, "there is no directory" in why) == (503, True)
    kubelet.unpublish(kept, "pod")
    kubelet.unstage(kept)
    assert not mount_table.is_mount_point(path)
    away.rename(driver.pool)
    disk.mount()
    until(lambda: driver.is_served("default"), "the pool is served")
    assert driver.is_ready()


def test_a_pool_that_was_never_seen_is_made_by_a_start_alone(driver, kubelet, directory):
    """The administrator who created the directory may be about to mount the disk there."""
    assert driver.server.stop() is None
    third = directory / "third"
    driver.server.command.append(f"--pool=third=file:{third}")
    driver.start()
    third.mkdir()
    until(lambda: "a new pool is made only when Holdfast starts" in driver.log(), "it looked again")
    assert not list(third.iterdir())
    driver.restart()
    assert driver.is_served("third")


def started_once(directory, *flags):
    """Exit code and log of a start that is refused."""
    ended = subprocess.run(
        [driver_fixtures.binary(), "serve", f"--endpoint=unix://{directory}/refused.sock",
         "--node-id=test-node", *flags], check=False, timeout=SECONDS, capture_output=True,
        text=True)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("other", ["same", "link"])
def test_two_pools_on_one_directory_are_refused(directory, other):
    pool = directory / "pool"
    pool.mkdir()
    (directory / "link").symlink_to(pool)
    second = pool if other == "same" else directory / "link"
    code, log = started_once(directory, f"--state-dir={directory}/state",
                             f"--pool=a=file:{pool}", f"--pool=b=file:{second}/")
    assert code in (1, 2)
    assert "two pools" in log or "served already" in log


def test_the_state_directory_is_no_pool(directory):
    code, log = started_once(directory, f"--state-dir={directory}/state",
                             f"--pool=default=file:{directory}/state")
    assert code == 2
    assert "is the state directory and the directory of pool 'default'" in log
    assert "of its own" in log
