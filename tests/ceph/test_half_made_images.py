# SPDX-License-Identifier: Apache-2.0
"""Images that lack some of their parts after a kill. (test_kills.py and test_system_calls.py create
such images with kills.)"""

import pytest

import driver as driver_module
from rbd_driver import change_record, has_all_parts, image_of, residue
from test_leftovers import LONG_AGO

MIB = driver_module.MIB


def without_object_map(ceph, image):
    ceph.rados("rm", f"rbd_object_map.{ceph.image_info(image)['id']}")


def without_header(ceph, image):
    ceph.rados("rm", f"rbd_header.{ceph.image_info(image)['id']}")


def without_id(ceph, image):
    ceph.rados("rm", f"rbd_id.{image}")


def without_features(ceph, image):
    ceph.rbd("feature", "disable", f"rbd/{image}", "fast-diff", "object-map")


@pytest.mark.slice
@pytest.mark.parametrize("damage", [without_object_map, without_header, without_id,
                                    without_features])
def test_a_repeated_creation_accepts_none(damage, driver, ceph):
    volume = driver.create("pvc", size=64 * MIB)
    image = image_of(ceph, volume.volume_id)
    damage(ceph, image)
    change_record(ceph, driver_module.uuid_of(volume.volume_id), state="allocating", image_id="",
                  created_at=LONG_AGO)
    assert driver.create("pvc", size=64 * MIB) == volume
    assert has_all_parts(ceph, volume.volume_id)
    assert "object-map" in ceph.image_info(image_of(ceph, volume.volume_id))["features"]
    driver.delete(volume.volume_id)
    for name in residue(ceph):  # unknown for an image without header or id
        assert name.startswith(("rbd_header.", "rbd_object_map.", "rbd_id.")), name
        ceph.rados("rm", name)
