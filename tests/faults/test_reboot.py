# SPDX-License-Identifier: Apache-2.0
"""After a reboot: stage records of another boot, no mounts, no loop devices, other paths."""

import uuid

import pytest

import content
import lives
from driver import MIB
from kubelet import Kubelet
from pool_disk import run

BOOT_ID = "/proc/sys/kernel/random/boot_id"


@pytest.fixture
def reboot(driver, kubelet, directory):
    """Removes what a reboot removes; the boot id changes only in this run's namespace."""
    changed = []

    def boot(volumes):
        driver.server.kill()
        for volume in volumes:
            loop = driver.loop(volume.handle)
            if volume.access == "mount":
                run("umount", kubelet.mount_path(volume, "pod"))
                run("umount", kubelet.global_mount(volume))
            run("losetup", "--detach", loop)
        file = directory / f"boot-{len(changed)}"
        file.write_text(f"{uuid.uuid4()}\n")
        run("mount", "--bind", file, BOOT_ID)
        changed.append(file)
        driver.start()

    yield boot
    for _ in changed:
        run("umount", BOOT_ID)


def test_pods_start_again_where_they_were(driver, kubelet, reboot):
    volume = lives.new_volume(driver, "pv")
    written = content.write(kubelet.mount(volume, "pod") / "data", MIB)
    for _ in range(2):
        reboot([volume])
        path = kubelet.mount(volume, "pod")
        assert content.checksum(path / "data") == written
    kubelet.unmount(volume, "pod")


def test_the_same_volume_is_staged_elsewhere_in_another_way(driver, kubelet, directory, reboot):
    """Path, mode and flags of the boot before do not count."""
    volume = lives.new_volume(driver, "pv")
    written = content.write(kubelet.mount(volume, "pod") / "data", MIB)
    reboot([volume])
    other = Kubelet(directory / "other", driver.call)
    as_reader = lives.PersistentVolume(volume.handle, volume.name, filesystem="ext4",
                                       mode="SINGLE_NODE_SINGLE_WRITER", flags=("noatime",))
    path = other.mount(as_reader, "pod")
    assert content.checksum(path / "data") == written
    other.unmount(as_reader, "pod")


def test_what_was_staged_can_be_deleted_unseen(driver, kubelet, reboot):
    """No caller unstages a volume that no node shows any more."""
    volume = lives.new_volume(driver, "pv")
    kubelet.mount(volume, "pod")
    reboot([volume])
    driver.delete(volume.handle)
    assert driver.listed() == []
    for record in (driver.directory / "state" / "stages").iterdir():
        record.unlink()  # of a boot that is over; it does not count


def test_teardown_of_what_the_boot_before_had(driver, kubelet, reboot):
    volume = lives.new_volume(driver, "pv")
    kubelet.mount(volume, "pod")
    reboot([volume])
    kubelet.unmount(volume, "pod")
    lives.leads_a_life(driver, kubelet)
