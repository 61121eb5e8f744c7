# SPDX-License-Identifier: Apache-2.0
"""kill -9 at calls into Ceph's libraries while something goes into the trash, comes out of it,
or is purged: each ends in one of two states."""

import platform

import pytest

import driver as driver_module
from rbd_driver import snapshots_kept
from test_faults import until_it_works
from test_kills import delete_all, each_kill, kill_point, some_kills  # noqa: F401

MIB = driver_module.MIB

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64",
                                reason="the routines that kill are x86-64 code")


class Kept:
    """A volume with a snapshot; one of the two goes to the trash when it is deleted."""

    def __init__(self, driver, kind, number):
        self.driver = driver
        keeps = {"keepDeleted": "24h"}
        volume = driver.create(f"pvc-{number}", size=64 * MIB, access="block",
                               **keeps if kind == "volume" else {}).volume_id
        snapshot = until_it_works(lambda: driver.call(
            "CreateSnapshot", source_volume_id=volume, name=f"snap-{number}",
            parameters=keeps if kind == "snapshot" else {})).snapshot.snapshot_id
        self.handle = volume if kind == "volume" else snapshot
        self.end = driver.delete if kind == "volume" else driver.delete_snapshot
        self.listed = driver.listed if kind == "volume" else driver.snapshots

    @property
    def is_listed(self):
        return self.handle in self.listed()

    def delete(self):
        self.end(self.handle)

    def command(self, name):
        for entry in self.driver.trash():
            self.driver.client.admin_command(name, id=entry.id)

    def delete_for_good(self, ceph):
        """With the other of the two; and nothing is left."""
        until_it_works(self.delete)
        until_it_works(lambda: self.command("PurgeTrash"))
        delete_all(self.driver, ceph)


@pytest.mark.parametrize("kind", ["snapshot", pytest.param("volume", marks=pytest.mark.slice)])
def test_deletion_into_the_trash(kind, driver, kill_point, ceph):  # noqa: F811
    driver.restart()

    def check(kept, killed):
        until_it_works(kept.delete)
        entry, = driver.trash()
        assert entry.volume_id == kept.handle and not kept.is_listed
        until_it_works(lambda: kept.command("RestoreTrash"))
        assert kept.is_listed and driver.trash() == []
        snapshots_kept(ceph)
        kept.delete_for_good(ceph)
    some_kills(driver, kill_point, lambda number: Kept(driver, kind, number), Kept.delete, check)


@pytest.mark.parametrize("kind", ["snapshot", "volume"])
def test_restore_from_the_trash(kind, driver, kill_point, ceph):  # noqa: F811
    """It is in the trash or restored, and a repetition restores it."""
    driver.restart()

    def prepare(number):
        kept = Kept(driver, kind, number)
        kept.delete()
        return kept

    def check(kept, killed):
        assert len(driver.trash()) + kept.is_listed == 1
        until_it_works(lambda: kept.command("RestoreTrash"))
        assert kept.is_listed and driver.trash() == []
        snapshots_kept(ceph)
        kept.delete_for_good(ceph)
    steps = each_kill(driver, kill_point, prepare, lambda kept: kept.command("RestoreTrash"),
                      check)
    assert steps >= 4


@pytest.mark.parametrize("kind", ["snapshot", "volume"])
def test_purge_of_the_trash(kind, driver, kill_point, ceph):  # noqa: F811
    """What is still listed can be restored, and anything else ends by itself. The image of the
    volume goes with its snapshot, which is deleted later."""
    driver.restart()

    def prepare(number):
        kept = Kept(driver, kind, number)
        kept.delete()
        return kept

    def check(kept, killed):
        if driver.trash():
            until_it_works(lambda: kept.command("RestoreTrash"))
            assert kept.is_listed
            kept.delete_for_good(ceph)
        assert not kept.is_listed
        delete_all(driver, ceph)
    some_kills(driver, kill_point, prepare, lambda kept: kept.command("PurgeTrash"), check)
