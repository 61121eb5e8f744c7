# SPDX-License-Identifier: Apache-2.0
"""Half-done work is finished or undone without a restart and without any call. What is not
certainly the driver's own is left to the administrator, and `holdfast doctor` reports it."""

import json
import os
import subprocess
import time

import driver_fixtures
import host
import mount_table
import pool_disk
import pytest
from driver import MIB, Driver, uuid_of
from kubelet import Kubelet, PersistentVolume
from link_files import free_port
from observed import metric

# The reconciler runs every 30 s, plus or minus a fifth.
CONVERGED_SECONDS = 150
SCHEMA = 1


def await_true(condition, what, log=lambda: ""):
    deadline = time.monotonic() + CONVERGED_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not within {CONVERGED_SECONDS} s: {what}\n{log()}"
        time.sleep(0.1)


def with_checksum(record):
    """The text of a record as the driver writes it (docs/on-disk.md)."""
    import zlib
    record = {key: value for key, value in record.items() if key != "crc32"}
    canonical = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return json.dumps(record | {"crc32": f"{zlib.crc32(canonical.encode()):08x}"})


def change_record(driver, handle, **changes):
    record = driver.record(handle) | changes
    driver.record_path(handle).write_text(with_checksum(record))


def loop_of(directory, image):
    return [device for device, backing in host.loop_backings().items() if backing == str(image)]


class Scene:
    """A driver with every kind of half-done work at once, and other programs' files beside it."""

    def __init__(self, driver, directory):
        self.driver, self.directory = driver, directory
        self.kubelet = Kubelet(directory / "kubelet", driver.call)
        self.own, self.foreign_loops = {}, []

    def volume(self, name, **options):
        made = self.driver.create(name, **options)
        self.own[name] = made.volume_id
        return PersistentVolume(made.volume_id, name, options.get("access", "mount"),
                                options.get("filesystem", "ext4"))

    def make(self):
        driver = self.driver
        for name in ("allocating", "deleting", "trashed", "growing", "temporary"):
            self.volume(name, access="block")
        change_record(driver, self.own["allocating"], state="allocating")
        change_record(driver, self.own["deleting"], state="deleting")
        driver.volume_directory(self.own["trashed"]).rename(
            driver.pool / "trash" / uuid_of(self.own["trashed"]))
        change_record(driver, self.own["growing"], grow_to_bytes=48 * MIB)
        (driver.volume_directory(self.own["temporary"]) / "record.json.tmp").write_text("{")
        # A stage that was killed after it had attached: the record and the mount are gone.
        orphan = self.volume("orphan")
        self.kubelet.stage(orphan)
        pool_disk.run("umount", self.kubelet.global_mount(orphan))
        self.stage_file("orphan").unlink()
        # An unstage that was killed after the unmount.
        stale = self.volume("stale")
        self.kubelet.stage(stale)
        pool_disk.run("umount", self.kubelet.global_mount(stale))
        # In use, the record of its staging lost; in use by a pod, not staged any more.
        for name in ("unrecorded", "published"):
            volume = self.volume(name)
            self.kubelet.mount(volume, "pod")
        self.stage_file("unrecorded").unlink()
        pool_disk.run("umount", self.kubelet.global_mount(
            PersistentVolume(self.own["published"], "published", "mount", "ext4")))
        # Not Holdfast's: a loop device attached by hand to a volume whose deletion is not finished,
        # a foreign file in another, a damaged record, files that are not volumes.
        for name in ("rescued", "noted", "damaged"):
            self.volume(name, access="block")
        self.foreign_loops.append(pool_disk.attach(driver.image(self.own["rescued"])))
        change_record(driver, self.own["rescued"], state="deleting")
        (driver.volume_directory(self.own["noted"]) / "notes.txt").write_text("mine")
        change_record(driver, self.own["noted"], state="deleting")
        driver.record_path(self.own["damaged"]).write_text("{}")
        (driver.pool / "volumes" / "backup").mkdir()
        (driver.pool / "trash" / "old.txt").write_text("mine")

    def stage_file(self, name):
        return self.directory / "state" / "stages" / f"{self.own[name]}.json"

    def attached(self, name):
        return self.driver.loop(self.own[name]) is not None

    def converged(self):
        exists = {name: self.driver.volume_directory(handle).exists()
                  for name, handle in self.own.items()}
        return (not any(exists[name] for name in ("allocating", "deleting"))
                and not (self.driver.pool / "trash" / uuid_of(self.own["trashed"])).exists()
                and self.driver.record(self.own["growing"])["capacity_bytes"] == 48 * MIB
                and not self.attached("orphan") and not self.attached("stale")
                and not self.stage_file("stale").exists()
                and not (self.driver.volume_directory(self.own["temporary"])
                         / "record.json.tmp").exists())

    def leftovers(self):
        answer = self.driver.client.admin("ListLeftovers")
        return {(leftover.kind, leftover.subject): leftover for leftover in answer.leftovers}

    def remove(self):
        driver = self.driver
        for loop in self.foreign_loops:
            pool_disk.run("losetup", "--detach", loop)
        (driver.volume_directory(self.own["noted"]) / "notes.txt").unlink(missing_ok=True)
        (driver.pool / "volumes" / "backup").rmdir()
        (driver.pool / "trash" / "old.txt").unlink()
        for name in ("unrecorded", "published"):
            self.kubelet.unmount(
                PersistentVolume(self.own[name], name, "mount", "ext4"), "pod")


@pytest.fixture
def scene(directory):
    driver = Driver(driver_fixtures.binary(), directory)
    driver.port = free_port()
    driver.server.command += [f"--metrics-address=127.0.0.1:{driver.port}"]
    driver.start()
    scene = Scene(driver, directory)
    await_true(lambda: driver.client.admin("ListLeftovers").rounds >= 1, "the first round")
    scene.make()
    yield scene
    assert driver.server.stop() is None


def doctor(scene):
    result = subprocess.run(
        [driver_fixtures.binary(), "doctor", "--output=json",
         f"--endpoint=unix://{scene.driver.server.socket}"], check=False, capture_output=True)
    return {finding["what"]: finding for finding in json.loads(result.stdout)}


def test_everything_at_once(scene):
    driver = scene.driver
    await_true(scene.converged, "leftovers are still there", driver.log)
    kinds = {("unfinished-deletion", scene.own["rescued"]): "another program has attached",
             ("unfinished-deletion", scene.own["noted"]): "notes.txt",
             ("damaged-volume", scene.own["damaged"]): "damaged"}
    await_true(lambda: set(kinds) == set(scene.leftovers()), "what is left for a person",
               lambda: f"{scene.leftovers()}\n{driver.log()}")

    # Nothing that is foreign, or in use, was touched.
    assert host.loop_backings()[scene.foreign_loops[0]] == str(driver.image(scene.own["rescued"]))
    for name in ("rescued", "noted", "damaged"):
        assert driver.image(scene.own[name]).exists()
    assert (driver.volume_directory(scene.own["noted"]) / "notes.txt").read_text() == "mine"
    assert (driver.pool / "volumes" / "backup").is_dir()
    assert (driver.pool / "trash" / "old.txt").read_text() == "mine"
    for name in ("unrecorded", "published"):
        assert scene.attached(name)
        assert mount_table.is_mount_point(scene.kubelet.mount_path(
            PersistentVolume(scene.own[name], name), "pod"))

    # The driver and the log report it; the log reports each thing once.
    found = doctor(scene)
    for (kind, handle), problem in kinds.items():
        assert problem in scene.leftovers()[kind, handle].problem
        finding = found[f"{kind} of {handle}"]
        assert finding["level"] == "warning" and finding["remedy"]
        assert driver.log().count(f"{kind} of {handle} is left") == 1
    assert metric(driver.port, "holdfast_leftovers", kind="unfinished-deletion") == 2
    assert metric(driver.port, "holdfast_reconcile_repaired_total", kind="orphaned-device") == 1
    assert metric(driver.port, "holdfast_reconcile_rounds_total") >= 2

    # When the reason has gone, so does the leftover.
    driver.record_path(scene.own["damaged"]).unlink()
    driver.image(scene.own["damaged"]).unlink()
    scene.remove()
    await_true(lambda: not scene.leftovers(), "nothing is left", driver.log)
    for handle in driver.listed():
        driver.delete(handle)
    assert driver.leftovers() == []


def test_a_pool_that_goes_away_while_its_leftovers_wait(directory, new_driver):
    driver = new_driver()
    handle = driver.create("pvc", access="block").volume_id
    aside = driver.pool.with_name("aside")
    driver.pool.rename(aside)
    driver.pool.mkdir()
    path = aside / "volumes" / uuid_of(handle) / "record.json"
    record = json.loads(path.read_text()) | {"state": "deleting"}
    path.write_text(with_checksum(record))
    before = driver.client.admin("ListLeftovers").rounds

    def told():
        answer = driver.client.admin("ListLeftovers")
        return [leftover for leftover in answer.leftovers if leftover.kind == "unreachable-pool"]

    await_true(told, "the pool is told of", driver.log)
    assert told()[0].subject == "default"
    assert path.exists() and os.listdir(driver.pool) == []
    driver.pool.rmdir()
    aside.rename(driver.pool)
    await_true(lambda: not driver.volume_directory(handle).exists() and not told(),
               "the deletion is finished", driver.log)
    assert driver.client.admin("ListLeftovers").rounds > before


def test_a_start_ends_what_the_process_before_it_left(driver):
    handle = driver.create("pvc", access="block").volume_id
    driver.server.kill()
    change_record(driver, handle, state="deleting")
    driver.start()
    assert driver.listed() == []
    ended = f"unfinished-deletion of {handle} ended"
    await_true(lambda: ended in driver.log(), "the deletion is finished", driver.log)
    assert not driver.volume_directory(handle).exists()
