# SPDX-License-Identifier: Apache-2.0
"""The filesystem under the pool turns read-only, or fails altogether, and comes back."""

import errno
import fcntl
import os
import struct
import subprocess

import pytest

import content
import csi_client
import doctor
import lives
import mount_table
from driver import MIB
from kubelet import Kubelet
from pool_disk import run

SHUTDOWN = 0x8004587D  # XFS_IOC_GOINGDOWN, which ext4 has too
NO_LOG_FLUSH = 2
FAILS = ("INTERNAL", "FAILED_PRECONDITION", "UNAVAILABLE", "RESOURCE_EXHAUSTED")


@pytest.fixture
def filesystem():
    return "ext4"


@pytest.fixture
def disk(new_disk, filesystem):
    return new_disk(512 * MIB, filesystem=filesystem)


@pytest.fixture
def driver(disk, new_driver):
    return new_driver()


@pytest.fixture
def kubelet(driver, directory):
    return Kubelet(directory / "kubelet", driver.call)


def turn_read_only(disk):
    """As ext4 does by itself when it finds an error."""
    run("mount", "-o", "remount,abort", disk.mount_point)
    with pytest.raises(OSError) as caught:
        (disk.mount_point / "file").touch()
    assert caught.value.errno == errno.EROFS


def fail(disk):
    """As if the disk had been unplugged: every access is an I/O error, and nothing more is
    written."""
    descriptor = os.open(disk.mount_point, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
    finally:
        os.close(descriptor)


def bring_back(driver, disk):
    """The administrator's steps: stop, unmount, check, mount, start."""
    driver.server.kill()
    disk.unmount()
    subprocess.run(["fsck", "-T", "-p", disk.device], check=False, stdout=subprocess.DEVNULL)
    disk.mount()
    driver.start()


def assert_nothing_new_is_made(driver, kubelet, kept):
    before = sorted(driver.listed())
    for action in (lambda: lives.new_volume(driver, "new"),
                   lambda: lives.grow(driver, kept.volume, 128 * MIB),
                   lambda: driver.delete(kept.volume.handle)):
        assert lives.outcome(action, FAILS) != "OK"
    assert sorted(driver.listed()) == before


def test_it_turns_read_only_under_a_running_driver(driver, kubelet, disk):
    kept = lives.keep(driver, kubelet, "kept")
    mounted = lives.new_volume(driver, "mounted")
    path = kubelet.mount(mounted, "pod")
    written = content.write(path / "data", MIB)
    turn_read_only(disk)
    assert_nothing_new_is_made(driver, kubelet, kept)
    assert content.checksum(path / "data") == written
    said = [finding["found"] for finding in doctor.findings(driver).values()
            if finding["level"] == "missing"]
    assert any("read-only" in found.lower() for found in said), said
    lives.take_down(kubelet, mounted, "pod")
    assert driver.loop(mounted.handle) is None
    bring_back(driver, disk)
    lives.assert_kept(kubelet, kept)
    lives.assert_kept(kubelet, lives.Kept(mounted, written))
    lives.leads_a_life(driver, kubelet)


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_it_fails_under_a_running_driver(driver, kubelet, disk):
    """Acknowledged volumes are there afterwards, although nothing was flushed at the end."""
    kept = lives.keep(driver, kubelet, "kept")
    mounted = lives.new_volume(driver, "mounted")
    path = kubelet.mount(mounted, "pod")
    written = content.write(path / "data", MIB)
    fresh = lives.new_volume(driver, "fresh")
    gone = lives.new_volume(driver, "gone")
    driver.delete(gone.handle)
    known = sorted(driver.listed())
    fail(disk)
    assert_nothing_new_is_made(driver, kubelet, kept)
    lives.take_down(kubelet, mounted, "pod")
    bring_back(driver, disk)
    assert sorted(driver.listed()) == known
    for volume in (kept, lives.Kept(mounted, written)):
        lives.assert_kept(kubelet, volume)
    kubelet.mount(fresh, "pod")
    kubelet.unmount(fresh, "pod")


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_it_is_read_only_at_the_start(driver, kubelet, disk):
    kept = lives.keep(driver, kubelet, "kept")
    assert driver.server.stop() is None
    run("mount", "-o", "remount,ro", disk.mount_point)
    assert driver.start_unready() is None, driver.log()
    with csi_client.refused("FAILED_PRECONDITION", "is not served: .*Read-only"):
        driver.call("Probe")
    with csi_client.refused("UNAVAILABLE", "is not served: .*Read-only"):
        driver.create("another")
    finding = doctor.findings(driver)["pool 'default', space"]
    assert (finding["level"], finding["remedy"]) == ("missing", "mount it read-write")
    run("mount", "-o", "remount,rw", disk.mount_point)
    driver.await_ready()
    lives.assert_kept(kubelet, kept)


def test_the_state_directory_is_read_only(new_disk, new_driver, directory):
    """Stages cannot be recorded, so they are refused; staged volumes continue and can be
    unstaged."""
    state = new_disk(32 * MIB, mount_point=directory / "state", name="state")
    driver = new_driver()
    kubelet = Kubelet(directory / "kubelet", driver.call)
    staged, volume = lives.new_volume(driver, "staged"), lives.new_volume(driver, "pv")
    path = kubelet.mount(staged, "pod")
    written = content.write(path / "data", MIB)
    turn_read_only(state)
    with csi_client.refused("INTERNAL", "Read-only file system"):
        kubelet.stage(volume)
    assert driver.loop(volume.handle) is None
    assert content.checksum(path / "data") == written
    outcome = lives.outcome(lambda: lives.take_down(kubelet, staged, "pod"), ("INTERNAL",))
    assert not mount_table.is_mount_point(kubelet.global_mount(staged))
    assert driver.loop(staged.handle) is None
    bring_back(driver, state)
    assert outcome == "OK" or lives.take_down(kubelet, staged, "pod") is None
    lives.assert_kept(kubelet, lives.Kept(staged, written))
