# SPDX-License-Identifier: Apache-2.0
"""A pool whose disk is missing or is another disk: nothing is created, deleted or staged."""

import shutil

import grpc
import pytest

import content
import csi_client
import host
from csi_client import refused
from driver import MIB, uuid_of
from kubelet import Kubelet, PersistentVolume
from waiting import until

NOT_THE_POOL = "pool directory|pool marker"


@pytest.fixture
def disk(new_disk):
    return new_disk(256 * MIB)


@pytest.fixture
def driver(disk, new_driver):
    return new_driver()


@pytest.fixture
def kubelet(driver, directory):
    return Kubelet(directory / "kubelet", driver.call)


@pytest.fixture
def volume(driver, kubelet):
    volume = PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4")
    content.write(kubelet.mount(volume, "pod") / "data")
    kubelet.unmount(volume, "pod")
    return volume


def refuse_everything(driver, kubelet, volume):
    staging = kubelet.global_mount(volume)
    staging.mkdir(parents=True, exist_ok=True)
    for method, fields in {
            "NodeStageVolume": {"staging_target_path": str(staging),
                                "volume_capability": volume.capability()},
            "DeleteVolume": {},
            "ControllerExpandVolume": {"capacity_range": csi_client.at_least(128 * MIB)}}.items():
        with refused("FAILED_PRECONDITION", NOT_THE_POOL):
            driver.call(method, volume_id=volume.handle, **fields)
    with refused("FAILED_PRECONDITION", NOT_THE_POOL):
        driver.create("new")
    with refused("FAILED_PRECONDITION", NOT_THE_POOL):
        driver.call("GetCapacity")
    with refused("FAILED_PRECONDITION", NOT_THE_POOL):
        driver.call("Probe")


def is_started_without_its_pool(driver, why):
    """The driver runs, so that pods can be removed, but it is not ready and serves nothing."""
    assert driver.start_unready() is None, driver.log()
    with refused("FAILED_PRECONDITION", why):
        driver.call("Probe")
    with refused("UNAVAILABLE", why):
        driver.create("new")


def is_ready(driver):
    try:
        return driver.is_ready()
    except grpc.RpcError:
        return False


def is_back(driver, kubelet, volume):
    until(lambda: is_ready(driver), "the pool is served")
    path = kubelet.mount(volume, "pod")
    size = (path / "data").stat().st_size
    kubelet.unmount(volume, "pod")
    return size == 4 * content.CHUNK


def test_the_disk_goes_away_while_the_driver_runs(driver, kubelet, volume, disk):
    # The driver holds the lock file open, as a pod on the disk would hold the disk.
    disk.unmount("--lazy")
    refuse_everything(driver, kubelet, volume)
    assert not list(disk.mount_point.iterdir()), "something was made in the empty mount point"
    driver.server.kill()
    disk.mount()
    driver.start()
    assert is_back(driver, kubelet, volume)


def test_the_disk_is_not_mounted_at_the_start(driver, kubelet, volume, disk):
    assert driver.server.stop() is None
    disk.unmount()
    is_started_without_its_pool(driver, "is its disk mounted?")
    assert not list(disk.mount_point.iterdir())
    disk.mount()
    assert is_back(driver, kubelet, volume)


def test_another_pools_disk_is_mounted(driver, kubelet, volume, disk, new_disk, new_driver,
                                       directory):
    other_work = directory / "other"
    other_work.mkdir()
    other_disk = new_disk(256 * MIB, mount_point=other_work / "pool", name="other")
    other = new_driver(work=other_work)
    other_volume = other.create("pv").volume_id
    assert other.server.stop() is None
    other_disk.unmount()
    other_disk.mount_point = disk.mount_point
    # Above the running driver's disk, then at a start.
    other_disk.mount()
    refuse_everything(driver, kubelet, volume)
    assert driver.server.stop() is None
    is_started_without_its_pool(driver, "wrong disk")
    other_disk.unmount()
    other_disk.mount_point = other_work / "pool"
    other_disk.mount()
    assert is_back(driver, kubelet, volume)
    other.start()
    assert other.listed() == [other_volume]


def test_a_marker_that_was_copied_to_another_filesystem(driver, kubelet, volume, disk, directory,
                                                        new_disk):
    assert driver.server.stop() is None
    saved = directory / "saved"
    saved.mkdir()
    shutil.copy(disk.mount_point / "holdfast-pool.json", saved)
    disk.unmount()
    copy = new_disk(256 * MIB, mount_point=disk.mount_point, name="copy")
    shutil.copy(saved / "holdfast-pool.json", disk.mount_point)
    (disk.mount_point / "lost+found").rmdir()
    is_started_without_its_pool(driver, "was written on filesystem")
    assert [path.name for path in disk.mount_point.iterdir() if path.is_dir()] == []
    copy.unmount()
    disk.mount()
    assert is_back(driver, kubelet, volume)


@pytest.mark.parametrize("damage", [b"", b"{}", b"\0" * 100])
def test_a_damaged_marker(driver, kubelet, volume, disk, damage):
    marker = disk.mount_point / "holdfast-pool.json"
    good = marker.read_bytes()
    marker.write_bytes(damage)
    refuse_everything(driver, kubelet, volume)
    assert driver.server.stop() is None
    is_started_without_its_pool(driver, "pool marker")
    assert marker.read_bytes() == damage
    marker.write_bytes(good)
    assert is_back(driver, kubelet, volume)


def test_teardown_works_while_the_disk_is_gone(driver, kubelet, volume, disk):
    """It must be possible to remove the pods of a lost disk."""
    kubelet.mount(volume, "pod")
    disk.unmount("--lazy")
    kubelet.unpublish(volume, "pod")
    kubelet.unstage(volume)
    assert not any(backing.endswith(f"{uuid_of(volume.handle)}/image")
                   for backing in host.loop_backings().values())
    driver.server.kill()
    disk.mount()
    driver.start()
    assert is_back(driver, kubelet, volume)


def test_a_directory_that_belongs_to_somebody_else(new_driver, directory):
    pool = directory / "pool"
    pool.mkdir()
    (pool / "home").mkdir()
    with pytest.raises(AssertionError, match="not empty"):
        new_driver()
    assert [path.name for path in pool.iterdir()] == ["home"]
    (pool / "home").rmdir()
