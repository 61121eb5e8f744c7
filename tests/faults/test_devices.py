# SPDX-License-Identifier: Apache-2.0
"""Loop devices that other programs hold, and a /dev in which something is missing."""

import contextlib
import os
import pathlib
import stat

import pytest

import csi_client
import lives
import pool_disk
from pool_disk import run

HELD = 100


@contextlib.contextmanager
def bound_over(source, place):
    """Within the mount namespace of this run."""
    run("mount", "--bind", source, place)
    try:
        yield
    finally:
        run("umount", place)


@pytest.fixture
def bare_dev(directory):
    """A /dev with the usual nodes and without any loop device."""
    place = directory / "dev"
    place.mkdir()
    run("mount", "-t", "tmpfs", "-o", "dev", "bare", place)
    for name in ("null", "zero", "full", "random", "urandom"):
        facts = os.stat(f"/dev/{name}")
        os.mknod(place / name, stat.S_IFCHR | 0o666, facts.st_rdev)
    yield place
    run("umount", place)


def test_others_hold_many_loop_devices(driver, kubelet, directory):
    """The kernel creates more; none of the other programs' devices is touched."""
    kept = lives.keep(driver, kubelet, "kept", provisioning="thick")
    file = directory / "file"
    file.write_bytes(bytes(4096))
    held = [pool_disk.attach(file) for _ in range(HELD)]
    try:
        lives.assert_kept(kubelet, kept)
        lives.leads_a_life(driver, kubelet)
        for device in held:
            backing = pathlib.Path(f"/sys/block/{device.removeprefix('/dev/')}/loop/backing_file")
            assert backing.read_text().strip() == str(file)
    finally:
        for device in held:
            run("losetup", "--detach", device)


@pytest.mark.parametrize("what", ["loop-control is another device", "loop-control is missing",
                                  "everything is missing"])
def test_a_dev_without_loop_devices(driver, kubelet, bare_dev, what):
    """A stage is refused and names the missing device; later it works."""
    kept = lives.keep(driver, kubelet, "kept")
    volume = lives.new_volume(driver, "pv")
    source, place = {"loop-control is another device": ("/dev/null", "/dev/loop-control"),
                     "loop-control is missing": (bare_dev, "/dev"),
                     "everything is missing": (empty(bare_dev), "/dev")}[what]
    with bound_over(source, place):
        for one in (volume, kept.volume):
            with csi_client.refused("INTERNAL", "loop"):
                kubelet.stage(one)
        lives.new_volume(driver, "another")
    kubelet.mount(volume, "pod")
    kubelet.unmount(volume, "pod")
    lives.assert_kept(kubelet, kept)


def empty(bare_dev):
    place = bare_dev / "empty"
    place.mkdir()
    return place


def test_dev_loses_its_loop_devices_under_a_pod(driver, kubelet, bare_dev):
    """The pod can still be removed; a device that cannot be detached is detached when /dev is
    back."""
    used = lives.new_volume(driver, "used")
    kubelet.mount(used, "pod")
    driver.crash()  # and remembers no device
    with bound_over(bare_dev, "/dev"):
        outcome = lives.outcome(lambda: lives.take_down(kubelet, used, "pod"), ("INTERNAL",))
    if outcome != "OK":
        lives.take_down(kubelet, used, "pod")
    assert driver.loop(used.handle) is None
    kubelet.mount(used, "pod")
    kubelet.unmount(used, "pod")
