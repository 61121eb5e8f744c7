# SPDX-License-Identifier: Apache-2.0
"""An image that is truncated, replaced, deleted or punched while a pod uses its volume."""

import os

import pytest

import content
import csi_client
import doctor
import host
import lives
from driver import MIB, uuid_of
from pool_disk import run

ROUNDS = 3


def loops_of(volume):
    """Loop devices that show an image of the volume, whatever its current name."""
    return [device for device, backing in host.loop_backings().items()
            if uuid_of(volume.handle) in backing]


@pytest.fixture
def used(driver, kubelet):
    """A volume that a pod uses, and its data."""
    volume = lives.new_volume(driver, "used")
    path = kubelet.mount(volume, "pod")
    return lives.Kept(volume, content.write(path / "data", MIB))


def damage(image, saved, how):
    """Changes the image behind the mounted filesystem; a copy stays in `saved`."""
    os.sync()
    run("cp", "--sparse=always", image, saved)
    if how == "truncated":
        os.truncate(image, 8 * MIB)
    elif how == "emptied":
        os.truncate(image, 0)
    elif how == "deleted":
        image.unlink()
    elif how == "replaced":
        run("cp", "--sparse=always", saved, image.with_name("fresh"))
        image.with_name("fresh").rename(image)


def restore(image, saved):
    image.unlink(missing_ok=True)
    run("cp", "--sparse=always", saved, image)


@pytest.mark.parametrize("how", ["truncated", "emptied", "deleted", "replaced"])
def test_under_a_pod(driver, kubelet, used, directory, how):
    """It is reported, the pod can be removed, nothing stays attached, and a restored image
    works."""
    kept = lives.keep(driver, kubelet, "kept")
    image, saved = driver.image(used.volume.handle), directory / "saved"
    damage(image, saved, how)
    if how != "replaced":
        assert is_abnormal(driver, kubelet, used.volume)
        finding = doctor.findings(driver)[f"pool 'default', volume {image.parent.name}"]
        assert "image" in finding["found"]
        assert "restore its image from a backup" in finding["remedy"]
    lives.assert_kept(kubelet, kept)
    driver.crash()
    lives.take_down(kubelet, used.volume, "pod")
    assert not loops_of(used.volume)
    if how != "replaced":
        for _ in range(ROUNDS):
            with csi_client.refused("FAILED_PRECONDITION", "image"):
                kubelet.stage(used.volume)
    restore(image, saved)
    lives.assert_kept(kubelet, used)


def is_abnormal(driver, kubelet, volume):
    """According to kubelet's statistics and the list of volumes."""
    listed = {entry.volume.volume_id: entry.status.volume_condition.abnormal
              for entry in driver.call("ListVolumes").entries}
    stats = kubelet.stats(volume, kubelet.mount_path(volume, "pod"))
    return listed[volume.handle] and stats.volume_condition.abnormal


@pytest.mark.parametrize("how", ["truncated", "deleted", "replaced"])
def test_such_a_volume_can_be_deleted(driver, kubelet, used, directory, how):
    image = driver.image(used.volume.handle)
    damage(image, directory / "saved", how)
    with csi_client.refused("FAILED_PRECONDITION"):
        driver.delete(used.volume.handle)  # a pod uses it
    lives.take_down(kubelet, used.volume, "pod")
    driver.delete(used.volume.handle)
    assert not loops_of(used.volume)
    assert driver.listed() == []


def test_a_hole_in_a_thick_volume(driver, kubelet):
    """Reported, and filled again when the volume is staged next."""
    volume = lives.new_volume(driver, "thick", provisioning="thick")
    kubelet.mount(volume, "pod")
    image = driver.image(volume.handle)
    run("fallocate", "--punch-hole", "--offset", 40 * MIB, "--length", 8 * MIB, image)
    assert is_abnormal(driver, kubelet, volume)
    kubelet.unmount(volume, "pod")
    kubelet.mount(volume, "pod")
    assert image.stat().st_blocks * 512 >= 64 * MIB
    assert not is_abnormal(driver, kubelet, volume)
    kubelet.unmount(volume, "pod")


@pytest.mark.parametrize("provisioning", ["thin", "thick"])
def test_an_image_that_is_all_hole(driver, kubelet, directory, provisioning):
    """Its filesystem was destroyed: it is never formatted again, and the volume reports what is
    missing."""
    kept = lives.keep(driver, kubelet, "kept", provisioning=provisioning)
    image, saved = driver.image(kept.volume.handle), directory / "saved"
    run("cp", "--sparse=always", image, saved)
    run("fallocate", "--punch-hole", "--offset", 0, "--length", image.stat().st_size, image)
    for _ in range(ROUNDS):
        with csi_client.refused("FAILED_PRECONDITION", "should hold ext4"):
            kubelet.stage(kept.volume)
        driver.crash()
    assert driver.loop(kept.volume.handle) is None
    assert not any(image.read_bytes())
    restore(image, saved)
    lives.assert_kept(kubelet, kept)
