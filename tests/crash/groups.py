# SPDX-License-Identifier: Apache-2.0
"""Two volumes with a group snapshot, as csi-snapshotter, provisioner and kubelet handle them.

Whatever meets the calls, either both members are there, with the data of one moment, or none."""

from copies import check_only, check_writable
from volume_life import Life

GROUP = "groupsnapshot-1"


class Groups:
    def __init__(self, world, kind):
        self.world, self.driver = world, world.driver
        self.origins = [Life(world, kind, number) for number in (1, 2)]
        self.group = None  # as CreateVolumeGroupSnapshot described it
        self.cut_checksums = []
        self.copies = 2  # volumes that were made so far

    def mount_both(self):
        """A pod runs, and has written to both."""
        for origin in self.origins:
            origin.create()
            origin.begin_use()
        for origin in self.origins:  # none is formatted again from now on
            origin.formats = origin.formatted()

    # Calls of csi-snapshotter and of the provisioner.

    def cut(self):
        made = self.driver.call(
            "CreateVolumeGroupSnapshot", name=GROUP,
            source_volume_ids=[origin.volume.handle for origin in self.origins]).group_snapshot
        assert made.ready_to_use, made
        assert sorted(one.source_volume_id for one in made.snapshots) == sorted(
            origin.volume.handle for origin in self.origins), made
        self.group = made
        self.cut_checksums = [origin.checksum for origin in self.origins]

    def delete_group(self):
        self.driver.call("DeleteVolumeGroupSnapshot", snapshot_ids=self.member_ids(),
                         group_snapshot_id=self.group.group_snapshot_id)
        self.group = None

    def give_up_cut(self, final):
        """After a final error csi-snapshotter never calls again."""
        if not final:
            self.cut()
            self.delete_group()

    # The checks.

    def member_ids(self):
        return sorted(one.snapshot_id for one in self.group.snapshots) if self.group else []

    def kept(self):
        return [origin for origin in self.origins if origin.volume and not origin.deleted]

    def check_no_group(self):
        check_only(self.world, self.kept())

    def check_writable(self):
        for origin in self.origins:
            check_writable(origin)

    def check_all_or_none(self):
        """Right after a start, before anything is repeated."""
        for origin in self.origins:
            origin.check_not_frozen()
        listed = self.driver.snapshots()
        assert len(listed) in (0, len(self.origins)), f"a part of the group is there: {listed}"
        check_only(self.world, self.kept(), listed)

    # The rest of the lives, from wherever they are.

    def begin_use(self):
        for origin in self.origins:
            origin.begin_use()
            origin.verify()
            origin.write()

    def finish(self):
        """What is restored from the members has the data of the cut."""
        check_only(self.world, self.kept(), self.member_ids())
        self.begin_use()
        if self.group:
            made, checksums = self.group, self.cut_checksums
            self.cut()
            assert self.group == made, f"made: {made}; the same name again: {self.group}"
            for origin, checksum in zip(self.origins, checksums):
                self.check_restored(origin, checksum)
            self.delete_group()
        for origin in self.origins:
            origin.finish()

    def check_restored(self, origin, checksum):
        self.copies += 1
        copy = Life(self.world, origin.kind, self.copies)
        [copy.source] = [one.snapshot_id for one in self.group.snapshots
                         if one.source_volume_id == origin.volume.handle]
        copy.create()
        copy.checksum, copy.formats = checksum, copy.formatted()
        copy.begin_use()
        copy.verify()
        copy.finish()
