# SPDX-License-Identifier: Apache-2.0
"""The controller's operations on images: each operation, repeated and refused."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import csi_client
import driver as driver_module
import driver_fixtures
import rbd_driver
from cluster import until
from csi_client import refused
from rbd_driver import image_of, journal, journal_object, never_made, record, residue

MIB = driver_module.MIB


def expand(driver, volume_id, required, limit=0):
    return driver.call("ControllerExpandVolume", volume_id=volume_id,
                       capacity_range=csi_client.at_least(required, limit))


def image_size(ceph, volume_id):
    return json.loads(ceph.rbd("info", "--format", "json", f"rbd/{image_of(ceph, volume_id)}"))["size"]


@pytest.mark.slice
def test_a_life(driver, ceph):
    volume = driver.create("pvc-1", size=64 * MIB)
    assert volume.volume_id.startswith("ceph::"), "the id names no node: every node reaches it"
    assert not volume.accessible_topology
    assert ceph.images() == [image_of(ceph, volume.volume_id)]
    assert image_size(ceph, volume.volume_id) == volume.capacity_bytes == 64 * MIB
    found = driver.call("ControllerGetVolume", volume_id=volume.volume_id)
    assert found.volume == volume
    assert not found.status.volume_condition.abnormal
    assert driver.listed() == [volume.volume_id]
    grown = expand(driver, volume.volume_id, 100 * MIB)
    assert grown.capacity_bytes == image_size(ceph, volume.volume_id) == 100 * MIB
    assert not grown.node_expansion_required, "it has no filesystem yet"
    driver.delete(volume.volume_id)
    driver.delete(volume.volume_id)
    assert residue(ceph) == []
    with refused("NOT_FOUND"):
        driver.call("ControllerGetVolume", volume_id=volume.volume_id)


def test_the_record_holds_the_request(driver, ceph):
    volume = driver.create("pvc-1", size=64 * MIB, mkfsOptions="-m 1")
    stored = record(ceph, volume.volume_id)
    assert stored["name"] == "pvc-1" and stored["state"] == "ready"
    assert stored["parameters"] == {"provisioning": "thin", "mkfsOptions": "-m 1"}
    info = json.loads(ceph.rbd("info", "--format", "json", f"rbd/{image_of(ceph, volume.volume_id)}"))
    assert stored["image_id"] == info["id"]
    assert {"exclusive-lock", "object-map", "fast-diff", "deep-flatten"} <= set(info["features"])


@pytest.mark.slice
def test_the_same_name_is_the_same_volume(driver, new_driver):
    first = driver.create("pvc-1", size=64 * MIB)
    assert driver.create("pvc-1", size=64 * MIB) == first
    # Another controller, which has only the cluster to rely on.
    other = new_driver("other", node="other-node")
    assert other.create("pvc-1", size=64 * MIB) == first
    assert other.listed() == [first.volume_id]
    with refused("ALREADY_EXISTS", "another capacity"):
        other.create("pvc-1", size=65 * MIB)
    with refused("ALREADY_EXISTS", "parameters"):
        other.create("pvc-1", size=64 * MIB, mkfsOptions="-m 1")
    with refused("ALREADY_EXISTS", "access type"):
        other.create("pvc-1", size=64 * MIB, access="block")


@pytest.mark.slice
def test_thick_is_refused_with_the_reason(driver):
    with refused("INVALID_ARGUMENT", "Ceph allocates when written.*provisioning: thin"):
        driver.create("pvc-1", provisioning="thick")
    assert driver.call("GetCapacity", parameters={"provisioning": "thick"}).available_capacity == 0


@pytest.mark.slice
def test_growing(driver, ceph):
    volume = driver.create("pvc-1", size=64 * MIB)
    assert expand(driver, volume.volume_id, 64 * MIB + 1, 65 * MIB).capacity_bytes == (
        64 * MIB + 4096), "exact, to the granularity"
    with refused("OUT_OF_RANGE", "cannot shrink"):
        expand(driver, volume.volume_id, 32 * MIB, 33 * MIB)
    assert expand(driver, volume.volume_id, 32 * MIB).capacity_bytes == 64 * MIB + 4096
    with refused("OUT_OF_RANGE", "limit"):
        expand(driver, volume.volume_id, 64 * MIB + 4097, 64 * MIB + 4098)
    assert image_size(ceph, volume.volume_id) == 64 * MIB + 4096
    assert record(ceph, volume.volume_id)["grow_to_bytes"] == 0
    with refused("NOT_FOUND"):
        expand(driver, never_made(volume.volume_id), 65 * MIB)


@pytest.mark.slice
def test_what_is_open_elsewhere_is_not_deleted(driver, ceph, image_watch):
    volume = driver.create("pvc-1")
    image_watch(image_of(ceph, volume.volume_id))
    with refused("FAILED_PRECONDITION", "in use.*127.0.0.1:0/"):
        driver.delete(volume.volume_id)
    assert driver.listed() == [volume.volume_id], "unaltered"
    assert record(ceph, volume.volume_id)["state"] == "ready"


def test_pages(driver):
    made = sorted(driver.create(f"pvc-{number}", size=4 * MIB, access="block").volume_id
                  for number in range(20))
    for size in (1, 3, 7, 20, 21):
        seen, token = [], ""
        while True:
            page = driver.call("ListVolumes", max_entries=size, starting_token=token)
            assert len(page.entries) <= size
            seen += [entry.volume.volume_id for entry in page.entries]
            token = page.next_token
            if not token:
                break
        assert seen == made, size


def test_capacity_is_the_pools(driver, ceph):
    until(lambda: ceph.available_bytes() > 0, "the manager gathers no statistics", 120)
    capacity = driver.call("GetCapacity", parameters={"provisioning": "thin"})
    assert abs(capacity.available_capacity - ceph.available_bytes()) < 64 * MIB
    assert capacity.maximum_volume_size.value == capacity.available_capacity
    too_much = capacity.available_capacity + (256 * MIB)
    with refused("RESOURCE_EXHAUSTED", "no room"):
        driver.create("pvc-1", size=too_much)
    volume = driver.create("pvc-1", size=64 * MIB)
    with refused("OUT_OF_RANGE", "no room"):
        expand(driver, volume.volume_id, too_much + 64 * MIB)
    assert record(ceph, volume.volume_id)["grow_to_bytes"] == 0


def test_a_quota_is_all_there_is(driver, ceph):
    until(lambda: ceph.available_bytes() > 0, "the manager gathers no statistics", 120)

    def available():
        return driver.call("GetCapacity", parameters={"provisioning": "thin"}).available_capacity
    volume = driver.create("pvc-0", size=512 * MIB)
    ceph.ceph("osd", "pool", "set-quota", "rbd", "max_bytes", str(256 * MIB))
    try:
        until(lambda: 0 < available() <= 256 * MIB, "the quota is not seen", 60)
        with refused("RESOURCE_EXHAUSTED", "no room"):
            driver.create("pvc-1", size=512 * MIB)
        assert driver.create("pvc-0", size=512 * MIB) == volume, "what is there needs no room"
    finally:
        ceph.ceph("osd", "pool", "set-quota", "rbd", "max_bytes", "0")
    until(lambda: available() > 512 * MIB, "the quota stays", 60)


@pytest.mark.slice
def test_a_damaged_record_is_never_guessed_at(driver, ceph):
    volume, other = driver.create("pvc-1"), driver.create("pvc-2")
    uuid = driver_module.uuid_of(volume.volume_id)
    path = ceph.directory / "sound"
    ceph.rados("getomapval", journal_object(uuid), uuid, path)
    damaged = path.read_text().replace('"ready"', '"formatted"')
    ceph.rados("setomapval", journal_object(uuid), uuid, damaged)
    with refused("INTERNAL", "damaged"):
        driver.call("ControllerGetVolume", volume_id=volume.volume_id)
    with refused("INTERNAL", "damaged"):
        driver.delete(volume.volume_id)
    assert driver.listed() == [other.volume_id]
    ceph.rados("setomapval", journal_object(uuid), uuid, path.read_text())
    assert sorted(driver.listed()) == sorted([volume.volume_id, other.volume_id])


def test_an_image_without_a_record_is_left_alone(driver, ceph):
    """It is neither used for a new volume nor removed with it."""
    volume = driver.create("pvc-1", size=64 * MIB)
    uuid, orphan = driver_module.uuid_of(volume.volume_id), image_of(ceph, volume.volume_id)
    ceph.rados("rmomapkey", journal_object(uuid), uuid)
    again = driver.create("pvc-1", size=64 * MIB)
    assert sorted(ceph.images()) == sorted([orphan, image_of(ceph, again.volume_id)])
    driver.delete(again.volume_id)
    assert journal(ceph) == {} and ceph.images() == [orphan]
    ceph.rbd("rm", "--no-progress", f"rbd/{orphan}")


def test_name_spaces_are_apart(new_driver, ceph):
    ceph.rbd("namespace", "create", "rbd/one")
    driver, other = new_driver("one", location="rbd/one"), new_driver("other")
    volume = driver.create("pvc-1", size=64 * MIB)
    assert ceph.images("rbd/one") == [image_of(ceph, volume.volume_id, "one")]
    assert ceph.images() == []
    assert other.listed() == [] and driver.listed() == [volume.volume_id]
    assert list(journal(ceph, "one")) == [driver_module.uuid_of(volume.volume_id)]
    driver.delete(volume.volume_id)
    assert residue(ceph, "one") == []
    missing = new_driver("missing", location="rbd/gone")
    with refused("FAILED_PRECONDITION", "no name space 'gone'.*rbd namespace create rbd/gone"):
        missing.create("pvc-1")
    missing.server.kill()


def test_many_at_once(driver, ceph):
    with ThreadPoolExecutor(16) as threads:
        made = list(threads.map(lambda number: driver.create(f"pvc-{number}", size=16 * MIB),
                                range(64)))
        assert len({volume.volume_id for volume in made}) == 64 == len(ceph.images())
        list(threads.map(lambda volume: driver.delete(volume.volume_id), made))
    assert residue(ceph) == []


@pytest.mark.slice
def test_without_such_a_pool_there_is_no_ceph_in_the_process(driver, directory):
    plain = driver_module.Driver(driver_fixtures.binary(), directory)
    plain.start()
    libraries = [len([line for line in open(f"/proc/{one.server.process.pid}/maps")
                      if "librados" in line or "librbd" in line or "libceph" in line])
                 for one in (plain, driver)]
    assert plain.server.stop() is None
    assert libraries[0] == 0 and libraries[1] > 0


@pytest.mark.parametrize("library", ["librbd.so.1", "librados.so.2"])
def test_a_missing_library_is_told_at_the_start(library, directory, ceph):
    real = subprocess.run(["/sbin/ldconfig", "-p"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    path = next(line.split(" => ")[1] for line in real.splitlines() if line.strip().startswith(
        library + " "))
    empty = directory / "empty"
    empty.touch()
    subprocess.run(["mount", "--bind", empty, path], check=True)
    try:
        driver = rbd_driver.RbdDriver(driver_fixtures.binary(), directory / "d", ceph, "holdfast")
        assert driver.server.start() is not None
        assert driver.server.process.wait() != 0
        assert f"needs Ceph's client library '{library}'" in driver.log()
        assert "install package lib" in driver.log()
    finally:
        subprocess.run(["umount", path], check=True)
