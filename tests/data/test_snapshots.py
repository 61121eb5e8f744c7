# SPDX-License-Identifier: Apache-2.0
"""Snapshots, restored volumes and clones in pools whose filesystem shares blocks."""

import concurrent.futures
import itertools
import os
import struct
import threading

import pytest

import content
import csi_client
import waiting
from driver import MIB, SIZES
from kubelet import Kubelet, PersistentVolume
from pool_disk import run

KINDS = ("ext4", "ext3", "xfs", "btrfs", "block")
HOSTS = ("xfs", "btrfs")
DISK = 8 << 30  # sparse


@pytest.fixture(params=HOSTS)
def driver(request, new_disk, new_driver):
    new_disk(DISK, filesystem=request.param)
    return new_driver()


@pytest.fixture
def kubelet(driver, directory):
    return Kubelet(directory / "kubelet", driver.call)


def create(driver, kind, name, **fields):
    """The created volume as kubelet knows it."""
    access = "block" if kind == "block" else "mount"
    filesystem = "" if access == "block" else kind
    made = driver.create(name, access=access, filesystem=kind, **fields)
    return PersistentVolume(made.volume_id, name, access, filesystem)


def file_in(volume, path):
    """Where a test writes: a file of the mounted filesystem, or the device."""
    return path if volume.access == "block" else path / "data"


def uuid_of(path):
    return run("findmnt", "--noheadings", "--output", "UUID", path)


@pytest.mark.parametrize("provisioning", ("thin", "thick"))
@pytest.mark.parametrize("kind", KINDS)
def test_copies_are_used_beside_their_origin(driver, kubelet, kind, provisioning):
    size = SIZES[kind]
    origin = create(driver, kind, "origin", provisioning=provisioning)
    path = kubelet.start_pod(origin, "pod")
    before = content.write(file_in(origin, path))
    snapshot = driver.snapshot(origin.handle, "snap")
    assert (snapshot.size_bytes, snapshot.ready_to_use) == (size, True)
    assert snapshot.source_volume_id == origin.handle
    after = content.write(file_in(origin, path))
    restored = create(driver, kind, "restored", provisioning=provisioning, size=2 * size,
                      source=snapshot.snapshot_id)
    clone = create(driver, kind, "clone", provisioning=provisioning, source=origin.handle)
    seen = {}
    for copy, expected in ((restored, before), (clone, after)):
        place = kubelet.start_pod(copy, f"pod-{copy.name}")
        assert content.checksum(file_in(copy, place), 4 * MIB) == expected
        content.write(file_in(copy, place))
        seen[copy.name] = place
    assert content.checksum(file_in(origin, path), 4 * MIB) == after
    if kind != "block":
        assert len({uuid_of(place) for place in (path, *seen.values())}) == 3
        assert (os.statvfs(seen["restored"]).f_blocks * os.statvfs(seen["restored"]).f_frsize
                > 1.5 * os.statvfs(path).f_blocks * os.statvfs(path).f_frsize)
    for volume in (origin, restored, clone):
        status = driver.call("ControllerGetVolume", volume_id=volume.handle).status
        assert not status.volume_condition.abnormal, status.volume_condition.message
        kubelet.end_pod(volume, "pod" if volume is origin else f"pod-{volume.name}")
    driver.crash()
    assert driver.snapshots() == [snapshot.snapshot_id]
    assert len(driver.listed()) == 3
    driver.delete(origin.handle)
    again = create(driver, kind, "again", provisioning=provisioning, source=snapshot.snapshot_id)
    place = kubelet.start_pod(again, "pod-again")
    assert content.checksum(file_in(again, place), 4 * MIB) == before
    kubelet.end_pod(again, "pod-again")


@pytest.mark.parametrize("order", itertools.permutations(("origin", "snap", "clone", "second")),
                         ids="-".join)
def test_origin_and_copies_are_deleted_in_any_order(driver, order):
    free = free_bytes(driver)
    ids = {"origin": driver.create("origin", access="block").volume_id}
    content.write(driver.image(ids["origin"]))
    ids["snap"] = driver.snapshot(ids["origin"], "snap").snapshot_id
    ids["clone"] = driver.create("clone", access="block", source=ids["snap"]).volume_id
    ids["second"] = driver.create("second", access="block", source=ids["clone"]).volume_id
    images = {name: content.checksum(driver.image(ids[name]), 4 * MIB) for name in ids}
    assert len(set(images.values())) == 1
    for count, name in enumerate(order):
        (driver.delete_snapshot if name == "snap" else driver.delete)(ids[name])
        for left in order[count + 1:]:
            assert content.checksum(driver.image(ids[left]), 4 * MIB) == images[left]
    assert not driver.leftovers()
    waiting.until(lambda: free_bytes(driver) >= free - MIB, "the space comes back")


def free_bytes(driver):
    run("sync", "--file-system", driver.pool)
    facts = os.statvfs(driver.pool)
    return facts.f_bfree * facts.f_frsize


def test_what_is_refused_leaves_nothing_behind(driver, kubelet):
    formatted = create(driver, "ext4", "pv")
    kubelet.start_pod(formatted, "pod")
    kubelet.end_pod(formatted, "pod")
    volume = formatted.handle
    other = driver.create("other").volume_id
    snapshot = driver.snapshot(volume, "snap")
    assert driver.snapshot(volume, "snap") == snapshot
    refused = csi_client.refused
    with refused("ALREADY_EXISTS", "snap"):
        driver.snapshot(other, "snap")
    with refused("NOT_FOUND", "no volume"):
        driver.snapshot(volume[:-1] + ("0" if volume[-1] != "0" else "1"), "late")
    with refused("INVALID_ARGUMENT", "unknown parameter 'colour'"):
        driver.call("CreateSnapshot", source_volume_id=volume, name="x",
                    parameters={"colour": "red"})
    source = snapshot.snapshot_id
    with refused("OUT_OF_RANGE"):
        driver.create("small", size=MIB, limit=16 * MIB, source=source)
    with refused("INVALID_ARGUMENT", "ext4"):
        driver.create("foreign", filesystem="xfs", source=source)
    with refused("NOT_FOUND", "no snapshot"):
        driver.create("lost", source=source[:-1] + ("0" if source[-1] != "0" else "1"))
    driver.create("copy", source=source)
    with refused("ALREADY_EXISTS", "content source"):
        driver.create("copy")
    with refused("ALREADY_EXISTS", "content source"):
        driver.create("pv", source=source)
    assert len(list((driver.pool / "volumes").iterdir())) == 4


RECORD = struct.Struct("<Q504x")


def test_a_snapshot_has_what_was_written_before_it_and_nothing_out_of_order(driver, kubelet):
    """A writer appends numbers, each durable before the next one."""
    origin = create(driver, "ext4", "origin")
    path = kubelet.start_pod(origin, "pod") / "log"
    done, stop = [0], threading.Event()

    def write():
        with open(path, "wb", buffering=0) as log:
            while not stop.is_set():
                log.write(RECORD.pack(done[0] + 1))
                os.fsync(log.fileno())
                done[0] += 1

    with concurrent.futures.ThreadPoolExecutor() as pool:
        writer = pool.submit(write)
        taken = []
        for number in range(5):
            least = done[0]
            snapshot = driver.snapshot(origin.handle, f"snap-{number}")
            taken.append((snapshot.snapshot_id, least, done[0] + 1))
        stop.set()
        writer.result()
    for number, (snapshot, least, most) in enumerate(taken):
        copy = create(driver, "ext4", f"copy-{number}", source=snapshot)
        data = (kubelet.start_pod(copy, f"copy-{number}") / "log").read_bytes()
        numbers = [entry for (entry,) in RECORD.iter_unpack(data)]
        assert numbers == list(range(1, len(numbers) + 1))
        assert least <= len(numbers) <= most
        kubelet.end_pod(copy, f"copy-{number}")
    kubelet.end_pod(origin, "pod")
