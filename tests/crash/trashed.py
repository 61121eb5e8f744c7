# SPDX-License-Identifier: Apache-2.0
"""Volumes and snapshots that are kept when they are deleted, restored and purged.

The steps are repeated as those of volume_life.Life are. A person who repeats a command looks at the
list first: an entry that has gone from it was restored or purged before the answer was lost."""

import waiting
from copies import check_only
from driver import MIB
from tables import Tables
from volume_life import Life

KEEP = {"keepDeleted": "24h"}
LARGE = 800 * MIB  # more than half of the pool's disk


def await_empty_trash(driver):
    """The reconciler ends a purge that was cut short."""
    trash = driver.pool / "trash"
    waiting.until(lambda: not list(trash.iterdir()), "the trash is empty")


class Trashed:
    def __init__(self, world, kind):
        self.world, self.driver = world, world.driver
        self.volume, self.fresh = self.kept_life(kind), self.kept_life(kind)
        self.purged = False

    def kept_life(self, kind):
        life = Life(self.world, kind)
        life.parameters = KEEP
        return life

    def entries(self):
        """The first deleted first, also of those of one second."""
        return sorted(self.driver.trash(), key=lambda entry: entry.id)

    # What a CO and an administrator do.

    def use(self):
        self.volume.create()
        self.volume.use()

    def delete(self):
        self.volume.delete()

    def create_again(self):
        """A fresh volume of the same name."""
        self.fresh.create()
        assert self.fresh.volume.handle == self.volume.volume.handle

    def restore(self):
        """After a kill it is back in the trash soon, if it was not restored."""
        waiting.until(lambda: self.entries() or self.driver.listed(), "it is somewhere")
        if entries := self.entries():
            self.driver.command("RestoreTrash", id=entries[0].id)
        assert self.driver.listed() == [self.volume.volume.handle], self.driver.listed()
        self.volume.deleted = False

    def purge(self):
        for entry in self.entries():
            self.driver.command("PurgeTrash", id=entry.id)
        self.purged = True

    # The checks.

    def check_in_trash(self):
        """Nothing of it is left anywhere else."""
        check_only(self.world, [])
        entries = self.entries()
        assert len(entries) == 1, entries
        entry = entries[0]
        assert entry.volume_id == self.volume.volume.handle, entry
        assert entry.capacity_bytes == self.volume.size, entry

    def check_restored(self):
        assert not self.entries(), self.entries()
        check_only(self.world, [self.volume])

    def check_purged(self):
        check_only(self.world, [])
        assert not list((self.driver.pool / "trash").iterdir())

    def check_fresh(self):
        image = self.driver.image(self.fresh.volume.handle)
        assert not any(image.read_bytes()), "a fresh volume has data"
        assert self.driver.record(self.fresh.volume.handle)["state"] == "ready"

    # The rest of the lives, from wherever they are.

    def begin_use(self):
        """A pod of the volume, if it was restored."""
        if not self.volume.deleted:
            self.volume.begin_use()

    def finish(self):
        if self.purged:
            await_empty_trash(self.driver)
            self.check_purged()
            return
        if self.fresh.volume:
            self.check_fresh()
            self.fresh.delete()
            self.purge_last()
        if self.volume.deleted:
            self.check_in_trash()
            self.restore()
        self.check_restored()
        self.volume.finish()  # it has its data, and is deleted again
        self.check_in_trash()
        self.purge()
        self.check_purged()

    def purge_last(self):
        entries = self.entries()
        assert len(entries) == 2, entries
        self.driver.command("PurgeTrash", id=entries[1].id)


class Reclaimed:
    """The pool's trash takes the room of a volume that is made."""

    def __init__(self, world, kind):
        self.world, self.driver = world, world.driver
        self.old, self.new = Life(world, kind), Life(world, kind, number=2)
        self.old.size = self.new.size = LARGE
        self.old.parameters = KEEP

    def fill(self):
        self.old.create()
        self.old.delete()
        assert len(self.driver.trash()) == 1

    def create(self):
        self.new.create()

    def give_up_creation(self, final):
        """The claim is gone: the provisioner carries on until it knows, then deletes."""
        if not final:
            self.new.create()
            self.new.delete()
        self.new.deleted = True

    def finish(self):
        if not self.new.deleted:
            assert not self.driver.trash()
            check_only(self.world, [self.new])
        if not self.new.deleted:
            self.new.delete()
        for entry in self.driver.trash():
            self.driver.command("PurgeTrash", id=entry.id)
        await_empty_trash(self.driver)
        check_only(self.world, [])


class TrashedTables(Tables):
    """The base is kept when it is deleted. Comparisons with it find its table all the same."""

    def cut(self, name):
        made = self.driver.call("CreateSnapshot", source_volume_id=self.origin.volume.handle,
                                name=name, parameters=KEEP).snapshot
        self.bytes[made.snapshot_id] = self.driver.image(made.snapshot_id).read_bytes()
        return made.snapshot_id

    def restore_base(self):
        base = self.base or self.deleted
        waiting.until(lambda: self.driver.trash() or base in self.driver.snapshots(),
                      "it is somewhere")
        for entry in self.driver.trash():
            self.driver.command("RestoreTrash", id=entry.id)
        self.base, self.deleted = base, None
        found = self.driver.image(self.base).read_bytes()
        assert found == self.bytes[self.base], "the snapshot is not as it was cut"

    def finish(self):
        super().finish()
        for entry in self.driver.trash():
            self.driver.command("PurgeTrash", id=entry.id)
