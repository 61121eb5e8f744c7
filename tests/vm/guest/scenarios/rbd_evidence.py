"""The kernel's handling of images that lack a part, and the evidence in images."""

import subprocess

import durable_file
from driver import MIB, Volume
from scenarios.rbd_ceph import CEPH, gone, mapped, recorded, until, works

FEATURES = "layering,exclusive-lock,object-map,fast-diff,deep-flatten"


def an_image_without_its_object_map(driver, run_dir, pool, ceph):
    """The kernel does not map it: a volume on it could never be staged, so that a creation must
    never accept one (tests/ceph/test_half_made_images.py)."""
    ceph.rbd("create", "--size", "64M", "--image-feature", FEATURES, "rbd/half")
    ceph.rados("rm", f"rbd_object_map.{ceph.image_info('half')['id']}")
    try:
        ceph.rbd("map", "--options", "noudev", "rbd/half")
    except AssertionError as error:
        assert "No such file or directory" in str(error), error
    log = subprocess.run(["dmesg"], check=True, text=True, stdout=subprocess.PIPE).stdout
    assert not mapped() and "post-acquire action failed: -2" in log, mapped()
    ceph.rbd("rm", "--no-progress", "rbd/half")


def a_record_of_before(driver, run_dir, pool, ceph):
    """A record restored from a backup: later data is neither wiped nor formatted, and the next
    stage updates the record according to the image."""
    volume = Volume("old", 64 * MIB, provisioning="thin")
    driver.create(volume)
    before = raw(ceph, volume)
    driver.stage(volume)
    driver.publish(volume)
    checksum = durable_file.write(volume.target_path / "file", chunks=1)
    mark = f"ext4 {recorded(ceph, volume)['filesystem_uuid']}"
    driver.unpublish(volume)
    driver.unstage(volume)
    name = f"rbd/{recorded(ceph, volume)['image_name']}"
    assert ceph.rbd("image-meta", "get", name, "holdfast.formatted").strip() == mark
    now = recorded(ceph, volume)
    put(ceph, volume, before)
    until(lambda: works(lambda: driver.stage(volume)), "the volume cannot be staged any more")
    assert recorded(ceph, volume) == now
    driver.publish(volume)
    assert durable_file.checksum(volume.target_path / "file") == checksum
    gone(driver, volume)


def raw(ceph, volume):
    uuid = volume.id[-36:]
    ceph.rados("getomapval", f"holdfast.volumes.{uuid[0]}", uuid, CEPH / "raw")
    return (CEPH / "raw").read_text()


def put(ceph, volume, text):
    uuid = volume.id[-36:]
    ceph.rados("setomapval", f"holdfast.volumes.{uuid[0]}", uuid, text)
