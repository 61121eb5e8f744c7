# SPDX-License-Identifier: Apache-2.0
"""A volume with two snapshots, which a backup program compares, also when the first one is deleted.

Whatever meets the calls, an answer is never less than the truth. A deleted snapshot that had a table
of digests can be compared, unless a system call failed that keeps it."""

import time

import grpc

import changed_blocks
import content
import csi_client
import volume_life
import waiting
from copies import check_only
from volume_life import Life

BASE, TARGET = "snapshot-1", "snapshot-2"
TABLE_SECONDS = 30


class Tables:
    def __init__(self, world, kind):
        self.world, self.driver = world, world.driver
        self.origin = Life(world, kind)
        self.base = self.target = None  # the ids of the snapshots that are there
        self.deleted = None  # the id of the base that was deleted
        self.bytes = {}  # of each snapshot, at its cut
        self.has_table = False  # the base
        self.failed_once = False  # a system call did

    # What leads to a comparison.

    def write(self, place):
        """Behind what the volume's own life has written."""
        self.origin.stage()
        self.origin.publish()
        content.write(self.origin.target(), volume_life.DATA, place)
        self.origin.unpublish()
        self.origin.unstage()

    def cut(self, name):
        made = self.driver.snapshot(self.origin.volume.handle, name)
        assert made.ready_to_use, made
        self.bytes[made.snapshot_id] = self.driver.image(made.snapshot_id).read_bytes()
        return made.snapshot_id

    def cut_both(self):
        self.origin.create()
        self.origin.use()
        self.base = self.cut(BASE)
        self.write(4 * volume_life.DATA)
        self.target = self.cut(TARGET)

    # The calls of a backup program and of csi-snapshotter.

    def make_table(self):
        """Asks until the table of the base is there."""
        table = self.driver.volume_directory(self.base) / "digests"
        deadline = time.monotonic() + TABLE_SECONDS
        while not table.exists():
            assert time.monotonic() < deadline, "there is no table of digests"
            changed_blocks.allocated(self.driver.call, self.base)
            time.sleep(0.02)
        changed_blocks.check_table(table.read_bytes(), self.bytes[self.base])
        self.has_table = True

    def delete_base(self):
        directory = self.driver.volume_directory(self.base)
        if directory.exists():  # a power cut may have undone the end of its making
            self.has_table = (directory / "digests").exists()
        self.driver.delete_snapshot(self.base)
        self.base, self.deleted = None, self.base

    def write_again(self):
        self.write(8 * volume_life.DATA)

    def cut_base_again(self):
        """Another snapshot of the same name, with other bytes."""
        self.base, self.deleted, self.has_table = self.cut(BASE), None, False

    def delete_target(self):
        self.driver.delete_snapshot(self.target)
        self.target = None

    def delete_origin(self):
        self.origin.delete()

    # The checks.

    def check_kept(self):
        """The deletion has ended by itself, and the base can be compared all the same."""
        deleted = self.base or self.deleted
        check_only(self.world, [self.origin], [self.target])
        self.check_delta(deleted, self.failed_once)

    def check_delta(self, base, may_be_unknown):
        try:
            ranges = changed_blocks.delta(self.driver.call, base, self.target)
        except grpc.RpcError as error:
            assert may_be_unknown and csi_client.code_of(error) == "NOT_FOUND", error.details()
            return
        found = changed_blocks.units(ranges)
        truth = changed_blocks.different_units(self.bytes[base], self.bytes[self.target])
        assert found >= truth, f"{len(truth - found)} changed units are missing"

    # The rest of the lives, from wherever they are.

    def finish(self):
        kept = [] if self.origin.deleted else [self.origin]
        check_only(self.world, kept, [one for one in (self.base, self.target) if one])
        if self.target and self.base:
            self.check_delta(self.base, may_be_unknown=False)
            self.delete_base()
        if self.target and self.deleted:
            self.check_delta(self.deleted, self.failed_once or not self.has_table)
        if self.target:
            self.delete_target()
        self.origin.finish()
        self.await_end_of_tables()

    def await_end_of_tables(self):
        """With the last deletion, or if it failed there, in the reconciler's next round."""
        kept = self.driver.pool / "digests"
        waiting.until(lambda: not kept.exists(), "the kept tables are removed")
