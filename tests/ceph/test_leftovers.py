# SPDX-License-Identifier: Apache-2.0
"""Half-done work in the cluster that is not repeated: finished automatically, or reported."""

import subprocess

import pytest

import driver as driver_module
import driver_fixtures
from cluster import until
from rbd_driver import change_record, image_of, journal, journal_object, moment, record, residue

MIB = driver_module.MIB
ROUND_SECONDS = 90
LONG_AGO = "2026-01-01T00:00:00Z"


def left(driver):
    """The reported problems, by kind."""
    return {one.kind: one.problem for one in driver.client.admin("ListLeftovers").leftovers}


def rounds(driver):
    return driver.client.admin("ListLeftovers").rounds


def look(driver):
    """Starts the driver again and waits for its first round."""
    driver.restart()
    until(lambda: rounds(driver) >= 1, "the first round", ROUND_SECONDS)


@pytest.mark.slice
def test_what_nobody_repeats_is_ended(driver, ceph):
    """A tombstone, a growth, and a creation that was given up."""
    doomed, grown, forgotten, fresh = [
        driver.create(name, size=64 * MIB).volume_id for name in ("doomed", "grown", "old", "new")]
    image = image_of(ceph, doomed)
    change_record(ceph, driver_module.uuid_of(doomed), state="deleting")
    change_record(ceph, driver_module.uuid_of(grown), grow_to_bytes=80 * MIB)
    change_record(ceph, driver_module.uuid_of(forgotten), state="allocating", image_id="",
                  created_at=LONG_AGO)
    change_record(ceph, driver_module.uuid_of(fresh), state="allocating", image_id="",
                  created_at=moment(-600))
    look(driver)
    assert image not in ceph.images() and left(driver) == {}
    assert driver.listed() == [grown]
    assert sorted(journal(ceph)) == sorted(map(driver_module.uuid_of, (grown, fresh))), (
        "a creation may be repeated yet")
    stored = record(ceph, grown)
    assert (stored["capacity_bytes"], stored["grow_to_bytes"]) == (80 * MIB, 0)
    driver.create("new", size=64 * MIB)


@pytest.mark.slice
def test_what_is_in_doubt_is_told_and_left(driver, ceph):
    """An image that no record names, a damaged record, and an image that another client has
    open."""
    orphan, damaged = [driver.create(name, size=64 * MIB).volume_id for name in ("a", "b")]
    image, uuid = image_of(ceph, orphan), driver_module.uuid_of(damaged)
    sound = ceph.directory / "sound"
    ceph.rados("getomapval", journal_object(uuid), uuid, sound)
    ceph.rados("setomapval", journal_object(uuid), uuid, sound.read_text().replace("ready", "x"))
    ceph.rados("rmomapkey", journal_object(driver_module.uuid_of(orphan)),
               driver_module.uuid_of(orphan))
    ceph.rbd("create", "--size", "1M", "rbd/holdfast-of-somebody")
    before = sorted(ceph.images())
    look(driver)
    assert set(left(driver)) == {"orphaned-image", "damaged-volume"}
    assert image in left(driver)["orphaned-image"] and "damaged" in left(driver)["damaged-volume"]
    told = subprocess.run(
        [driver_fixtures.binary(), "doctor", f"--endpoint=unix://{driver.server.socket}"],
        check=False, text=True, stdout=subprocess.PIPE).stdout
    assert image in told and "rbd rm" in told
    assert sorted(ceph.images()) == before
    ceph.rados("setomapval", journal_object(uuid), uuid, sound.read_text())
    for name in (image, "holdfast-of-somebody"):
        ceph.rbd("rm", "--no-progress", f"rbd/{name}")
    look(driver)
    assert left(driver) == {}


def test_what_is_open_elsewhere_stays(driver, ceph, image_watch):
    volume_id = driver.create("a", size=64 * MIB).volume_id
    end_watch = image_watch(image_of(ceph, volume_id))
    change_record(ceph, driver_module.uuid_of(volume_id), state="deleting")
    look(driver)
    assert "has it open" in left(driver)["unfinished-deletion"]
    assert len(ceph.images()) == 1
    end_watch()
    look(driver)
    assert left(driver) == {} and residue(ceph) == []


def test_only_a_controller_looks(new_driver, ceph):
    """Every node would read all records again and again."""
    driver = new_driver()
    volume_id = driver.create("a", size=64 * MIB).volume_id
    change_record(ceph, driver_module.uuid_of(volume_id), state="deleting")
    node = new_driver("node", node="n1", role="node")
    until(lambda: rounds(node) >= 1, "the first round", ROUND_SECONDS)
    assert left(node) == {} and "connected to Ceph" not in node.log()
    node.server.stop()
    look(driver)
    assert residue(ceph) == []
