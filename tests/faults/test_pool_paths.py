# SPDX-License-Identifier: Apache-2.0
"""Two drivers on one pool by different ways, and a pool that is exchanged while it is in use."""

import subprocess

import pytest

import content
import csi_client
import driver_fixtures
import lives
import mount_table
import serve
from driver import MIB
from kubelet import Kubelet
from pool_disk import run

SECONDS = 60


def start_second(directory, pool, prefix=()):
    """Another driver with its own directories, except for the pool; returns (exit code, log)."""
    work = directory / "second"
    work.mkdir(exist_ok=True)
    server = serve.Server(driver_fixtures.binary(), work, [f"default=file:{pool}"], "second")
    ended = subprocess.run([*prefix, *server.command], check=False, timeout=SECONDS,
                           capture_output=True, text=True)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("way", ["symbolic link", "bind mount", "other mount namespace"])
def test_a_second_driver_by_another_way(driver, kubelet, directory, way):
    kept = lives.keep(driver, kubelet, "kept")
    other, prefix = directory / "other", ()
    if way == "symbolic link":
        other.symlink_to(driver.pool)
    else:
        other.mkdir()
        run("mount", "--bind", driver.pool, other)
        prefix = ("unshare", "--mount") if way == "other mount namespace" else ()
    try:
        code, log = start_second(directory, other, prefix)
    finally:
        if way != "symbolic link":
            run("umount", other)
    assert code == 1
    assert "held by another process" in log
    lives.assert_kept(kubelet, kept)


def test_the_first_dies_and_the_second_takes_over(driver, kubelet, directory, new_driver):
    """The lock ends with its process, even by kill -9: no file has to be removed."""
    kept = lives.keep(driver, kubelet, "kept")
    driver.server.kill()
    second = directory / "second"
    second.mkdir()
    (second / "pool").symlink_to(driver.pool)
    taken = new_driver(work=second)
    assert taken.listed() == [kept.volume.handle]
    assert taken.server.stop() is None
    driver.start()
    lives.assert_kept(kubelet, kept)


def test_another_pool_is_mounted_over_one_in_use(new_disk, new_driver, directory):
    """Pods continue and can be removed; nothing is created, staged or deleted in the wrong pool."""
    disk = new_disk(256 * MIB)
    driver = new_driver()
    kubelet = Kubelet(directory / "kubelet", driver.call)
    used = lives.new_volume(driver, "used")
    path = kubelet.mount(used, "pod")
    written = content.write(path / "data", MIB)
    other = new_disk(256 * MIB, mount_point=disk.mount_point, name="other")
    for action in (lambda: lives.new_volume(driver, "new"), lambda: driver.delete(used.handle),
                   lambda: lives.grow(driver, used, 128 * MIB)):
        with csi_client.refused("FAILED_PRECONDITION", "pool directory"):
            action()
    assert [entry.name for entry in disk.mount_point.iterdir()] == ["lost+found"]
    assert content.checksum(path / "data") == written
    lives.take_down(kubelet, used, "pod")
    assert not mount_table.is_mount_point(path)
    with csi_client.refused("FAILED_PRECONDITION", "pool directory"):
        kubelet.stage(used)
    other.unmount()
    lives.assert_kept(kubelet, lives.Kept(used, written))


def test_the_pool_directory_is_moved_away_and_back(driver, kubelet):
    used = lives.new_volume(driver, "used")
    path = kubelet.mount(used, "pod")
    written = content.write(path / "data", MIB)
    away = driver.pool.rename(driver.pool.with_name("away"))
    with csi_client.refused("FAILED_PRECONDITION", "pool directory"):
        lives.new_volume(driver, "new")
    assert not driver.pool.exists(), "a pool was made in its place"
    lives.take_down(kubelet, used, "pod")
    away.rename(driver.pool)
    lives.assert_kept(kubelet, lives.Kept(used, written))
