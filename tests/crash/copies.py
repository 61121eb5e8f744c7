# SPDX-License-Identifier: Apache-2.0
"""A volume with a snapshot and a copy, as csi-snapshotter, provisioner and kubelet handle them.

The steps are repeated as those of volume_life.Life are. The cut has the origin's data of its
moment, whatever is written to the origin later, and each of the three outlives the others."""

import threading

import content
import host
import volume_life
from volume_life import Life

SNAPSHOT = "snapshot-1"
# The longest freeze is ten seconds. A writer that waits must not wait longer, whatever has died.
WRITE_SECONDS = 12


def check_only(world, lives, snapshots=()):
    """Nothing else is listed or lies in the pool."""
    driver, volumes = world.driver, [life.volume.handle for life in lives]
    assert sorted(driver.listed()) == sorted(volumes), driver.listed()
    listed = driver.snapshots()
    assert sorted(listed) == sorted(snapshots), f"listed {listed}, made {snapshots}"
    own = {name[-36:] for name in [*volumes, *snapshots]}
    found = {path.name for path in (driver.pool / "volumes").iterdir()}
    assert found == own, f"volumes/ has {found}, made are {own}"
    world.check_accounts()


def check_writable(life):
    """A pod's write is not held up for longer than a freeze may last."""
    path, offset = life.target() / "later", 0
    if life.kind.access == "block":
        path, offset = life.target(), volume_life.DATA
    writer = threading.Thread(target=content.write, args=(path, 4096, offset))
    writer.start()
    writer.join(WRITE_SECONDS)
    if writer.is_alive():
        host.thaw(life.target())
        writer.join()
        raise AssertionError(f"a write took more than {WRITE_SECONDS} s: it was left frozen")


class Copies:
    def __init__(self, world, kind):
        self.world, self.driver = world, world.driver
        self.origin, self.copy = Life(world, kind), Life(world, kind, number=2)
        self.snapshot = None  # as CreateSnapshot described it
        self.cut_checksum = None  # of the origin's data at the cut

    # What leads to a cut.

    def use_origin(self):
        self.origin.create()
        self.origin.use()

    def mount_origin(self):
        """A pod runs, and has written."""
        self.origin.create()
        self.origin.begin_use()

    # Calls of csi-snapshotter and of the provisioner.

    def cut(self):
        made = self.driver.snapshot(self.origin.volume.handle, SNAPSHOT)
        assert made.ready_to_use and made.size_bytes == self.origin.size, made
        assert made.source_volume_id == self.origin.volume.handle, made
        self.snapshot, self.cut_checksum = made, self.origin.checksum

    def restore(self):
        """Into a larger volume."""
        self.copy.size = self.origin.size + volume_life.GROWTH
        self.copy.expanded = True  # by the first stage; after a fault there by the next one
        self.make_copy(self.snapshot.snapshot_id, self.cut_checksum)

    def clone(self):
        self.make_copy(self.origin.volume.handle, self.origin.checksum)

    def make_copy(self, source, checksum):
        self.copy.source = source
        self.copy.create()
        self.copy.checksum, self.copy.formats = checksum, self.copy.formatted()

    def delete_snapshot(self):
        self.driver.delete_snapshot(self.snapshot.snapshot_id)
        self.snapshot = None

    def delete_origin(self):
        self.origin.delete()

    # Calls of kubelet.

    def stage_copy(self):
        self.copy.stage()

    # A CO that no longer wants what it has asked for.

    def give_up_cut(self, final):
        """After a final error csi-snapshotter never calls again."""
        if not final:
            self.cut()
            self.delete_snapshot()

    def give_up_copy(self, make, final):
        if not final:
            make()
            self.copy.delete()
        self.forget_copy()

    def forget_copy(self):
        self.copy = Life(self.world, self.origin.kind, self.copy.number + 1)

    def give_up_restore(self, final):
        self.give_up_copy(self.restore, final)

    def give_up_clone(self, final):
        self.give_up_copy(self.clone, final)

    def give_up_stage(self, final):
        """After a final error kubelet never calls unstage."""
        (self.copy.tidy_stage if final else self.copy.unstage)()
        self.copy.delete()
        self.forget_copy()

    # The checks.

    def check_no_snapshot(self):
        """After a cut that was refused for good: nothing but the origin is there."""
        self.check_only(self.origin)

    def check_one_snapshot(self):
        """As after a kill right before the answer: it is what the repeated call returns."""
        listed = self.driver.snapshots()
        assert len(listed) == 1, f"snapshots: {listed}"
        self.check_only(self.origin, listed[0])

    def check_no_copy(self):
        self.check_only(self.origin, self.snapshot_id())

    def check_copy_unstaged(self):
        self.copy.check_unstaged()

    def check_only(self, *wanted):
        check_only(self.world, [one for one in wanted if isinstance(one, Life)],
                   [one for one in wanted if one and not isinstance(one, Life)])

    def check_writable(self):
        check_writable(self.origin)

    def check_thawed(self):
        """Right after a start, and what was begun is gone."""
        self.origin.check_not_frozen()
        self.check_no_snapshot()

    # The rest of the lives, from wherever they are.

    def begin_use(self):
        """Pods of the origin and of its copy run and write."""
        self.origin.begin_use()
        self.origin.verify()
        self.origin.write()
        if self.copy.volume:
            self.copy.begin_use()
            self.copy.verify()
            self.copy.write()

    def finish(self):
        """The snapshot is the CO's only one, and what is restored from it has the data of the cut,
        also beside its origin, and after it."""
        self.check_only(*self.kept(), self.snapshot_id())
        if not self.origin.deleted:
            self.origin.begin_use()
            self.origin.verify()
            self.origin.write()
        if self.snapshot:
            self.cut_again()
            if not self.copy.volume:
                self.restore()
            self.check_only(*self.kept(), self.snapshot_id())
        if self.copy.volume:
            self.copy.begin_use()
            self.copy.verify()
            assert self.copy.filesystem_uuid != (self.origin.filesystem_uuid or None), "same UUID"
        if self.snapshot:
            self.delete_snapshot()
        self.origin.finish()
        if self.copy.volume:
            self.copy.finish()

    def snapshot_id(self):
        return self.snapshot.snapshot_id if self.snapshot else None

    def kept(self):
        return [one for one in (self.origin, self.copy) if one.volume and not one.deleted]

    def cut_again(self):
        """The name is that of the snapshot that is there, whatever its origin has become."""
        if self.origin.deleted:
            return
        made, checksum = self.snapshot, self.cut_checksum
        self.cut()
        assert self.snapshot == made, f"made: {made}; the same name again: {self.snapshot}"
        self.cut_checksum = checksum
