# SPDX-License-Identifier: Apache-2.0
"""A pool is one filesystem and is served by one process, whatever is mounted or removed below it."""

import contextlib
import fcntl
import os
import pathlib
import shutil

import pytest

import content
import frozen
import lives
from csi_client import refused
from driver import MIB
from kubelet import Kubelet
from pool_disk import run
from test_pool_paths import start_second


@pytest.fixture
def disk(new_disk):
    return new_disk(256 * MIB)


@pytest.mark.parametrize("name", ["volumes", "trash"])
def test_a_disk_mounted_below_the_pool_is_refused_at_the_start(disk, new_driver, new_disk, name):
    driver = new_driver()
    kubelet = Kubelet(driver.directory / "kubelet", driver.call)
    kept = lives.keep(driver, kubelet, "kept")
    assert driver.server.stop() is None
    other = new_disk(256 * MIB, mount_point=driver.pool / name, name="other")
    assert driver.start_unready() is None, driver.log()
    with refused("UNAVAILABLE", f"{driver.pool}/{name}' is another filesystem.*unmount it"):
        driver.create("new")
    assert [entry.name for entry in (driver.pool / name).iterdir()] == ["lost+found"]
    other.unmount()
    driver.restart()
    lives.assert_kept(kubelet, kept)


def test_a_subvolume_below_the_pool_is_refused(new_disk, new_driver):
    """Nothing can be renamed between subvolumes of btrfs, though they are one mount."""
    disk = new_disk(256 * MIB, filesystem="btrfs")
    driver = new_driver()
    assert driver.server.stop() is None
    (disk.mount_point / "volumes").rmdir()
    run("btrfs", "--quiet", "subvolume", "create", disk.mount_point / "volumes")
    assert driver.start_unready() is None, driver.log()
    with refused("UNAVAILABLE", "volumes' is another filesystem"):
        driver.create("new", size=16 * MIB, access="block")
    run("btrfs", "--quiet", "subvolume", "delete", disk.mount_point / "volumes")
    driver.restart()


@pytest.mark.parametrize("what", ["volume directory", "image"])
def test_a_volume_that_is_mounted_from_elsewhere(disk, new_driver, directory, what):
    driver = new_driver()
    kubelet = Kubelet(directory / "kubelet", driver.call)
    kept = lives.keep(driver, kubelet, "kept")
    place = driver.volume_directory(kept.volume.handle)
    elsewhere = directory / "elsewhere"
    shutil.copytree(place, elsewhere)
    if what == "image":
        place, elsewhere = place / "image", elsewhere / "image"
    before = content.fingerprint(elsewhere if what == "image" else elsewhere / "image")
    run("mount", "--bind", elsewhere, place)
    for action in (lambda: kubelet.stage(kept.volume), lambda: driver.delete(kept.volume.handle),
                   lambda: lives.grow(driver, kept.volume, 128 * MIB)):
        with refused("FAILED_PRECONDITION", f"{place}' is another filesystem.*unmount it"):
            action()
    assert content.fingerprint(elsewhere if what == "image" else elsewhere / "image") == before
    run("umount", place)
    lives.assert_kept(kubelet, kept)


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_without_the_lock_file_no_second_process_gets_in(disk, new_driver, directory, how):
    driver = new_driver()
    kubelet = Kubelet(directory / "kubelet", driver.call)
    kept = lives.keep(driver, kubelet, "kept")
    (driver.pool / "lock").unlink()
    if how == "replaced":
        (driver.pool / "lock").touch()
    code, log = start_second(directory, driver.pool)
    assert code == 1
    assert "served already" in log and "another process" in log
    lives.assert_kept(kubelet, kept)


def test_without_its_lock_file_the_state_directory_is_still_held(disk, new_driver, directory):
    driver = new_driver()
    (directory / "state" / "lock").unlink()
    second = directory / "second"
    (second / "pool").mkdir(parents=True)
    (second / "state").symlink_to(directory / "state")
    code, log = start_second(directory, second / "pool")
    assert code == 1
    assert "state directory" in log and "another process" in log
    assert driver.is_ready()


def opened_by(pid):
    opened = []
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            opened.append(os.readlink(link))
    return opened


def test_a_successor_waits_for_a_lock_that_a_killed_driver_leaves_for_a_moment(disk, new_driver,
                                                                             directory):
    """A child that the driver was just starting has copies of its descriptors."""
    driver = new_driver()
    driver.server.kill()
    copy = os.open(directory / "state", os.O_RDONLY)
    try:
        fcntl.flock(copy, fcntl.LOCK_EX | fcntl.LOCK_NB)
        driver.server.launch()
        frozen.await_that(lambda: str(directory / "state") in opened_by(driver.server.process.pid),
                          "the driver has opened its state directory")
    finally:
        os.close(copy)
    assert driver.server.wait_until_listening() is None, driver.log()
    driver.await_ready()
