# SPDX-License-Identifier: Apache-2.0
"""Records that are older than the images they name, or that name other owners' images: only an
image that is provably the volume's own and unwanted is removed. (test_kernel_devices.py tests
formatting with such records.)"""

import pytest

import csi_client
import driver as driver_module
from csi_client import refused
from rbd_driver import change_record, image_of, journal, record, residue, write_data
from test_leftovers import LONG_AGO, left, look

MIB = driver_module.MIB
OLDER = "record is older than the image"


def fingerprint(ceph, image):
    path = ceph.directory / "exported"
    path.unlink(missing_ok=True)
    ceph.rbd("export", "--no-progress", f"rbd/{image}", path)
    return path.read_bytes()


@pytest.fixture
def used(driver, ceph):
    """A volume whose image holds data, and its image."""
    volume_id = driver.create("pvc", size=64 * MIB).volume_id
    image = image_of(ceph, volume_id)
    write_data(ceph, image)
    return volume_id, image


@pytest.mark.slice
@pytest.mark.parametrize("state", ["allocating", "deleting"])
def test_of_a_creation_that_was_completed_since(state, driver, ceph, used):
    """And the remedy of docs/ceph.md: the image gets another name, and the volume is deleted."""
    volume_id, image = used
    before = fingerprint(ceph, image)
    assert before.strip(b"\0"), "there is something to lose"
    change_record(ceph, driver_module.uuid_of(volume_id), state=state, image_id="",
                  created_at=LONG_AGO)
    stored = record(ceph, volume_id)
    for wish in ("", "-m 1"):
        with refused("FAILED_PRECONDITION", OLDER):
            driver.create("pvc", size=64 * MIB, mkfsOptions=wish)
    with refused("FAILED_PRECONDITION", OLDER):
        driver.delete(volume_id)
    look(driver)
    assert [problem for problem in left(driver).values() if OLDER in problem], left(driver)
    assert record(ceph, volume_id) == stored, "a refused call changes nothing"
    assert ceph.images() == [image] and fingerprint(ceph, image) == before
    ceph.rbd("mv", f"rbd/{image}", "rbd/rescued")
    driver.delete(volume_id)
    assert ceph.images() == ["rescued"] and fingerprint(ceph, "rescued") == before
    ceph.rbd("rm", "--no-progress", "rbd/rescued")
    assert residue(ceph) == []


def test_what_was_never_written_is_undone_as_ever(driver, ceph):
    volume_id = driver.create("pvc", size=64 * MIB).volume_id
    change_record(ceph, driver_module.uuid_of(volume_id), state="allocating", image_id="",
                  created_at=LONG_AGO)
    driver.delete(volume_id)
    assert residue(ceph) == []


def test_of_before_a_growth(driver, ceph, used):
    """Expanding the volume to the image's size makes them agree: no image shrinks."""
    volume_id, image = used
    ceph.rbd("resize", "--size", "96M", "--no-progress", f"rbd/{image}")
    before = fingerprint(ceph, image)

    def expand(size):
        driver.call("ControllerExpandVolume", volume_id=volume_id,
                    capacity_range=csi_client.at_least(size))

    def condition():
        return driver.call("ControllerGetVolume", volume_id=volume_id).status.volume_condition

    with refused("FAILED_PRECONDITION", OLDER):
        expand(80 * MIB)
    assert condition().abnormal and OLDER in condition().message
    expand(96 * MIB)
    assert not condition().abnormal
    assert fingerprint(ceph, image) == before


@pytest.mark.slice
def test_an_image_of_another_id(driver, ceph, used):
    """Made by hand under the volume's image's name."""
    volume_id, image = used
    changed = record(ceph, volume_id)
    ceph.rbd("mv", f"rbd/{image}", "rbd/aside")
    ceph.rbd("create", "--size", "64M", f"rbd/{image}")
    write_data(ceph, image)
    replaced = f"'{image}' has id .*, the volume's has {changed['image_id']}: it was replaced"
    with refused("FAILED_PRECONDITION", replaced):
        driver.call("ControllerExpandVolume", volume_id=volume_id,
                    capacity_range=csi_client.at_least(96 * MIB))
    assert record(ceph, volume_id) == changed, "a refused call changes nothing"
    for state in ("ready", "deleting"):
        change_record(ceph, driver_module.uuid_of(volume_id), state=state)
        with refused("FAILED_PRECONDITION", replaced):
            driver.delete(volume_id)
        assert sorted(ceph.images()) == sorted(["aside", image])
    ceph.rbd("rm", "--no-progress", f"rbd/{image}")
    ceph.rbd("mv", "rbd/aside", f"rbd/{image}")
    driver.delete(volume_id)


@pytest.mark.slice
@pytest.mark.parametrize("state", ["ready", "allocating", "deleting"])
def test_a_record_that_names_an_image_of_others(state, driver, ceph, used):
    """Any process that has a node's key can write records."""
    volume_id, image = used
    other = driver.create("other", size=64 * MIB).volume_id
    uuid, stored = driver_module.uuid_of(other), record(ceph, other)
    ceph.rbd("create", "--size", "1M", "rbd/vm-disk")
    info = {name: ceph.image_info(name)["id"] for name in (image, "vm-disk")}
    for name in info:
        change_record(ceph, uuid, state=state, image_name=name, image_id=info[name],
                      created_at=LONG_AGO)
        with refused("INTERNAL", f"damaged: it names image '{name}', which is not its own"):
            driver.delete(other)
        with refused("INTERNAL", "not its own"):
            driver.create("other", size=64 * MIB)
        look(driver)
        assert "not its own" in left(driver)["damaged-volume"]
        assert {image, "vm-disk"} <= set(ceph.images())
    change_record(ceph, uuid, state="ready", image_name=stored["image_name"],
                  image_id=stored["image_id"])
    driver.delete(other)
    ceph.rbd("rm", "--no-progress", "rbd/vm-disk")
    driver.delete(volume_id)
    assert journal(ceph) == {}
