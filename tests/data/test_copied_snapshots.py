# SPDX-License-Identifier: Apache-2.0
"""Snapshots, restored volumes and clones in pools whose filesystem cannot share blocks: the data is
copied, in steps while nothing uses the volume, or within one short freeze."""

import concurrent.futures
import json
import os
import struct
import threading
import time

import grpc
import pytest

import content
import csi_client
import waiting
from driver import MIB, SIZES
from kubelet import Kubelet, PersistentVolume
from pool_disk import run

HOSTS = ("ext4", "xfs without reflink")
KINDS = ("ext4", "ext3", "xfs", "btrfs", "block")
DISK = 6 << 30  # sparse
LARGE = 900 * MIB  # of data: more than some steps
refused = csi_client.refused


@pytest.fixture
def host():
    return "ext4"


@pytest.fixture
def driver(host, new_disk, new_driver):
    new_disk(DISK, filesystem=host)
    return new_driver()


@pytest.fixture
def kubelet(driver, directory):
    return Kubelet(directory / "kubelet", driver.call)


def create(driver, kind, name, **fields):
    """The created volume as kubelet knows it; repeated while it is being copied."""
    access = "block" if kind == "block" else "mount"

    def attempt():
        try:
            return driver.create(name, access=access, filesystem=kind, **fields)
        except grpc.RpcError as error:
            if csi_client.code_of(error) != "ABORTED":
                raise
            assert "is being copied to" in error.details()
            return None

    made = waiting.until(attempt, f"{name} is created")
    return PersistentVolume(made.volume_id, name, access, "" if access == "block" else kind)


def file_in(volume, path):
    return path if volume.access == "block" else path / "data"


def get(driver, snapshot):
    return driver.call("GetSnapshot", snapshot_id=snapshot.snapshot_id).snapshot


def progress(driver, snapshot):
    """Up to where it is copied."""
    record = driver.record(snapshot.snapshot_id)
    return record["copy"]["copied_to"] if "copy" in record else record["capacity_bytes"]


def await_ready(driver, snapshot):
    """By itself, without another CreateSnapshot."""
    waiting.until(lambda: get(driver, snapshot).ready_to_use, "the snapshot is ready")


def cut(driver, volume, name="snap", **parameters):
    return driver.call("CreateSnapshot", source_volume_id=volume, name=name,
                       parameters=parameters).snapshot


def large_volume(driver, name="origin"):
    """The id of a raw volume that takes several steps to be copied."""
    volume = driver.create(name, access="block", size=LARGE + 100 * MIB).volume_id
    chunk = os.urandom(MIB)
    with open(driver.image(volume), "r+b", buffering=0) as image:
        image.seek(10 * MIB)
        for number in range(LARGE // MIB):
            image.write(struct.pack("<Q", number) + chunk[8:])
        os.fsync(image.fileno())
    return volume


def are_equal(driver, one, other):
    return not run("cmp", driver.image(one), driver.image(other))


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("provisioning", ("thin", "thick"))
@pytest.mark.parametrize("kind", KINDS)
def test_copies_of_a_volume_that_is_not_used(driver, kubelet, kind, provisioning):
    origin = create(driver, kind, "origin", provisioning=provisioning)
    path = kubelet.start_pod(origin, "pod")
    before = content.write(file_in(origin, path))
    kubelet.end_pod(origin, "pod")
    snapshot = driver.snapshot(origin.handle, "snap")
    assert snapshot.size_bytes == SIZES[kind]
    await_ready(driver, snapshot)
    again = driver.snapshot(origin.handle, "snap")
    assert (again.ready_to_use, again.creation_time) == (True, snapshot.creation_time)
    path = kubelet.start_pod(origin, "pod")
    content.write(file_in(origin, path))
    restored = create(driver, kind, "restored", provisioning=provisioning, size=2 * SIZES[kind],
                      source=snapshot.snapshot_id)
    place = kubelet.start_pod(restored, "pod-restored")  # beside its origin
    assert content.checksum(file_in(restored, place), 4 * MIB) == before
    kubelet.end_pod(restored, "pod-restored")
    clone = create(driver, kind, "clone", provisioning=provisioning, source=restored.handle)
    place = kubelet.start_pod(clone, "pod-clone")
    assert content.checksum(file_in(clone, place), 4 * MIB) == before
    kubelet.end_pod(clone, "pod-clone")
    kubelet.end_pod(origin, "pod")
    for volume in (origin, restored, clone):
        status = driver.call("ControllerGetVolume", volume_id=volume.handle).status
        assert not status.volume_condition.abnormal, status.volume_condition.message
        allocated = driver.image(volume.handle).stat().st_blocks * 512
        size = SIZES[kind] * (1 if volume is origin else 2)
        assert (allocated >= size) == (provisioning == "thick")


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("kind", ("ext4", "xfs"))
def test_a_mounted_volume_is_frozen_for_a_short_copy(driver, kubelet, kind):
    origin = create(driver, kind, "origin", provisioning="thick")
    path = kubelet.start_pod(origin, "pod")
    before = content.write(file_in(origin, path))
    snapshot = cut(driver, origin.handle, maxFreeze="10s")
    assert snapshot.ready_to_use
    content.write(file_in(origin, path))
    copy = create(driver, kind, "copy", source=snapshot.snapshot_id)
    place = kubelet.start_pod(copy, "pod-copy")
    assert content.checksum(file_in(copy, place), 4 * MIB) == before
    kubelet.end_pod(copy, "pod-copy")
    clone = create(driver, kind, "clone", source=origin.handle)
    assert driver.image(clone.handle).exists()
    kubelet.end_pod(origin, "pod")


def test_what_cannot_be_frozen_shortly_is_refused(driver, kubelet):
    volume = create(driver, "ext4", "large", size=600 * MIB)
    path = kubelet.start_pod(volume, "pod")
    content.write(path / "data", 400 * MIB)
    with refused("FAILED_PRECONDITION", "maxFreeze is 100 ms.*xfs .* or btrfs under the pool"):
        cut(driver, volume.handle, maxFreeze="100ms")
    with refused("FAILED_PRECONDITION", "only while it is frozen.*xfs .* or btrfs"):
        cut(driver, volume.handle, consistency="crash")
    kubelet.end_pod(volume, "pod")
    for kind, why in (("block", "raw block"), ("btrfs", "nothing holds back")):
        used = create(driver, kind, kind)
        place = kubelet.start_pod(used, f"pod-{kind}")
        with refused("FAILED_PRECONDITION", f"{why}.*xfs .* or btrfs under the pool"):
            cut(driver, used.handle)
        content.write(file_in(used, place))  # nothing is frozen
        kubelet.end_pod(used, f"pod-{kind}")
    assert not driver.snapshots()
    assert len(list((driver.pool / "volumes").iterdir())) == 3
    for field, value in (("maxFreeze", "1h"), ("maxFreeze", "50ms"), ("maxFreeze", "2"),
                         ("consistency", "perfect")):
        with refused("INVALID_ARGUMENT", f"'{field}': '{value}'"):
            cut(driver, volume.handle, **{field: value})


def test_the_source_waits_while_it_is_copied_and_says_why(driver, kubelet):
    handle = large_volume(driver)
    origin = PersistentVolume(handle, "origin", "block")
    started = time.monotonic()
    snapshot = driver.snapshot(handle, "snap")
    assert time.monotonic() - started < 10
    assert not snapshot.ready_to_use and snapshot.creation_time.seconds
    assert driver.snapshots() == [snapshot.snapshot_id]
    waits = r"is being copied to snapshot '.*', which is at .* of 1000 MiB"
    with refused("ABORTED", waits):
        kubelet.start_pod(origin, "pod")
    with refused("ABORTED", waits):
        driver.call("ControllerExpandVolume", volume_id=handle,
                    capacity_range=csi_client.at_least(2 * LARGE))
    with refused("ABORTED", waits):
        driver.delete(handle)
    with refused("ABORTED", waits):
        driver.create("early", access="block", source=snapshot.snapshot_id)
    # Sooner than the next search for leftovers.
    first = driver.record(snapshot.snapshot_id)["copy"]["copied_to"]
    waiting.until(lambda: progress(driver, snapshot) > first, "it is copied on", seconds=20)
    await_ready(driver, snapshot)
    assert are_equal(driver, snapshot.snapshot_id, handle)
    kubelet.start_pod(origin, "pod")
    kubelet.end_pod(origin, "pod")
    driver.delete(handle)


def test_deleting_an_unfinished_snapshot_frees_its_volume(driver, kubelet):
    handle = large_volume(driver)
    snapshot = driver.snapshot(handle, "snap")
    assert not snapshot.ready_to_use
    driver.delete_snapshot(snapshot.snapshot_id)
    kubelet.start_pod(PersistentVolume(handle, "origin", "block"), "pod")
    kubelet.end_pod(PersistentVolume(handle, "origin", "block"), "pod")
    assert len(list((driver.pool / "volumes").iterdir())) == 1


def test_a_copy_survives_kills(driver, kubelet):
    handle = large_volume(driver)
    snapshot = driver.snapshot(handle, "snap")
    reached = []
    for _ in range(4):
        driver.crash()
        record = driver.record(snapshot.snapshot_id)
        if record["state"] != "copying":
            break
        reached.append(record["copy"]["copied_to"])
        with refused("ABORTED", "is being copied"):
            kubelet.start_pod(PersistentVolume(handle, "origin", "block"), "pod")
        time.sleep(0.3)
    assert reached and reached == sorted(reached) and reached[0] > 0
    await_ready(driver, snapshot)
    assert are_equal(driver, snapshot.snapshot_id, handle)
    driver.crash()
    assert get(driver, snapshot).ready_to_use
    with pytest.raises(grpc.RpcError):  # copying of a volume that CreateVolume has not returned
        driver.create("copy", access="block", size=LARGE + 100 * MIB,
                      source=snapshot.snapshot_id)
    assert driver.listed() == [handle]
    driver.crash()
    with refused("ABORTED", "is being copied to volume"):
        driver.delete_snapshot(snapshot.snapshot_id)
    copy = create(driver, "block", "copy", size=LARGE + 100 * MIB, source=snapshot.snapshot_id)
    assert are_equal(driver, copy.handle, handle)


def test_a_copy_that_nobody_wants_any_more_is_deleted(driver):
    handle = large_volume(driver)
    with refused("ABORTED", "is being copied to volume"):
        driver.create("clone", access="block", size=LARGE + 100 * MIB, source=handle)
    [copy] = [path.name for path in (driver.pool / "volumes").iterdir()
              if path.name not in handle]
    driver.delete(handle[:-36] + copy)
    driver.delete(handle)


RECORD = struct.Struct("<Q504x")


def test_a_frozen_copy_has_what_was_written_before_it_and_nothing_out_of_order(driver, kubelet):
    origin = create(driver, "ext4", "origin", provisioning="thick")
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
        least = done[0]
        snapshot = cut(driver, origin.handle, maxFreeze="10s")
        most = done[0] + 1
        stop.set()
        writer.result()
    copy = create(driver, "ext4", "copy", source=snapshot.snapshot_id)
    data = (kubelet.start_pod(copy, "copy") / "log").read_bytes()
    numbers = [entry for (entry,) in RECORD.iter_unpack(data)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert least <= len(numbers) <= most
    kubelet.end_pod(copy, "copy")
    kubelet.end_pod(origin, "pod")


def test_a_kill_during_a_frozen_copy_leaves_nothing_frozen(driver, kubelet):
    origin = create(driver, "ext4", "origin", size=900 * MIB)
    path = kubelet.start_pod(origin, "pod")
    content.write(path / "data", 600 * MIB)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        call = pool.submit(cut, driver, origin.handle, maxFreeze="10s")
        while not (call.done() or is_freezing(driver)):
            time.sleep(0.01)
        driver.crash()
        assert call.exception() is not None
    started = time.monotonic()
    content.write(path / "after")
    assert time.monotonic() - started < 12
    assert not driver.snapshots()
    waiting.until(lambda: len(list((driver.pool / "volumes").iterdir())) == 1, "it is removed")
    kubelet.end_pod(origin, "pod")


def is_freezing(driver):
    for path in (driver.directory / "state" / "stages").glob("*.json"):
        try:
            if json.loads(path.read_text())["freezing"]:
                return True
        except FileNotFoundError:  # replaced just now
            continue
    return False


def test_shared_blocks_are_not_frozen_for_crash_consistency(new_disk, new_driver, directory):
    new_disk(DISK, filesystem="xfs")
    driver = new_driver()
    kubelet = Kubelet(directory / "kubelet", driver.call)
    origin = create(driver, "ext4", "origin")
    path = kubelet.start_pod(origin, "pod")
    before = content.write(path / "data")
    snapshot = cut(driver, origin.handle, consistency="crash")
    assert cut(driver, origin.handle, consistency="frozen", maxFreeze="1s") == snapshot
    copy = create(driver, "ext4", "copy", source=snapshot.snapshot_id)
    place = kubelet.start_pod(copy, "copy")
    assert content.checksum(place / "data") == before
    kubelet.end_pod(copy, "copy")
    assert b"needs_recovery" in features(driver.image(snapshot.snapshot_id))
    frozen = cut(driver, origin.handle, "frozen")
    assert b"needs_recovery" not in features(driver.image(frozen.snapshot_id))
    kubelet.end_pod(origin, "pod")


def features(image):
    return run("dumpe2fs", "-h", image).encode()
