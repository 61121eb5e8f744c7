# SPDX-License-Identifier: Apache-2.0
"""The operations that are tried, one entry each."""

import dataclasses

from copies import Copies
from groups import Groups
from tables import Tables
from trashed import Reclaimed, Trashed, TrashedTables
from volume_life import Kind, Life

EXT4, XFS, BTRFS, BLOCK = (Kind(name, "thin") for name in ("ext4", "xfs", "btrfs", "block"))
EXT4_THICK, XFS_THICK, BLOCK_THICK = (Kind(name, "thick") for name in ("ext4", "xfs", "block"))
FILESYSTEMS = (EXT4, XFS, BTRFS)

# The codes after which provisioner, resizer and kubelet take a call for running still; after any
# other the sidecars and kubelet may forget that they ever called.
RUNNING = ("CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE", "ABORTED")
RUNNING_ON_NODE = (*RUNNING, "RESOURCE_EXHAUSTED")
RUNNING_SNAPSHOT = RUNNING_ON_NODE  # csi-snapshotter's


@dataclasses.dataclass(frozen=True)
class Operation:
    """Steps are methods of `life`. Without `step` it is a start of the driver."""
    name: str
    kinds: tuple
    before: tuple  # the steps that lead to it
    step: object = None
    undone: object = None  # checked after a final error
    running: tuple = RUNNING_ON_NODE  # the codes that are not final
    # The next call of a caller that no longer wants the volume: by code, whether the code is final.
    opposite: object = None
    # For a start: the step during which the driver was killed before, and at which call and how
    # (trap.Fault).
    killed_step: object = None
    killed_at: str = ""
    killed_nth: int = 1
    killed_by: str = "kill"
    recovered: object = None  # checked after it, before anybody repeats anything
    first: bool = False  # for a start: the first one ever
    lasting: bool = False  # the power cut may also come later
    in_background: bool = False  # no caller waits for it
    life: type = Life
    host: str = "ext4"  # the filesystem of the pool's disk
    struck: object = None  # checked after the fault, also while the driver is dead
    sampled: tuple = None  # the kinds that are part of a slice; without it all of them

    def kinds_of(self, everything):
        return self.kinds if everything or self.sampled is None else self.sampled

    @property
    def for_controller(self):
        return self.step in (Life.create, Life.expand, Life.delete, Copies.cut, Copies.restore,
                             Copies.clone, Copies.delete_snapshot, Copies.delete_origin,
                             Groups.cut, Groups.delete_group, Tables.make_table,
                             Tables.delete_base, Tables.cut_base_again, Tables.delete_target,
                             Trashed.delete, Trashed.create_again, Trashed.restore, Trashed.purge,
                             Reclaimed.create, TrashedTables.restore_base)


def of_copies(*entry, host="xfs", **more):
    """An operation with a copy, in a pool that can share blocks."""
    return Operation(*entry, life=Copies, host=host, **more)


def of_groups(*entry, host="xfs", **more):
    """An operation with two volumes and a group snapshot of them."""
    return Operation(*entry, life=Groups, host=host, **more)


def of_tables(*entry, host="xfs", **more):
    """An operation with two snapshots that a backup program compares."""
    return Operation(*entry, life=Tables, host=host, **more)


def of_trash(*entry, life=Trashed, **more):
    """An operation with what is kept when it is deleted."""
    return Operation(*entry, life=life, **more)


def give_up_creation(life, final):
    """The claim is gone: the provisioner carries on until it knows, then deletes."""
    if not final:
        life.create()
        life.delete()
    life.deleted = True


def give_up_stage(life, final):
    """The pod is gone: after a final error kubelet never calls unstage."""
    if final:
        life.tidy_stage()
    else:
        life.unstage()
    life.delete()


def give_up_publication(life, final):
    """After a final error kubelet removes its own directory and does not call unpublish again."""
    if not final:
        life.unpublish()
    else:
        life.tidy_publication()
    life.unstage()
    life.delete()


CREATED = (Life.create,)
USED = (Life.create, Life.use)
STAGED = (*USED, Life.stage)
PUBLISHED = (*STAGED, Life.publish)
CUT = (Copies.mount_origin, Copies.cut)
RESTORED = (*CUT, Copies.restore)
COMPARED = (Tables.cut_both,)
TABLED = (*COMPARED, Tables.make_table)
KEPT = (Trashed.use, Trashed.delete)

ALL = (
    Operation("create", (EXT4, EXT4_THICK), (), Life.create, Life.check_absent, RUNNING,
              give_up_creation, lasting=True),
    Operation("first stage", (*FILESYSTEMS, BLOCK, EXT4_THICK, XFS_THICK, BLOCK_THICK), CREATED,
              Life.stage, Life.check_unstaged, opposite=give_up_stage, lasting=True),
    Operation("stage again", (*FILESYSTEMS, BLOCK, EXT4_THICK), USED, Life.stage,
              Life.check_unstaged),
    Operation("write", (*FILESYSTEMS, BLOCK, EXT4_THICK), (*CREATED, Life.stage, Life.publish),
              Life.write),
    Operation("publish", (EXT4, BLOCK), (*CREATED, Life.stage), Life.publish,
              Life.check_unpublished, opposite=give_up_publication),
    Operation("publish read-only", (XFS, BLOCK), STAGED, Life.publish_read_only,
              Life.check_unpublished),
    Operation("expand, detached", (EXT4, EXT4_THICK), USED, Life.expand, lasting=True),
    Operation("stage, growing", FILESYSTEMS, (*USED, Life.expand), Life.stage,
              Life.check_unstaged),
    Operation("expand, published", (XFS, BLOCK_THICK), PUBLISHED, Life.expand),
    Operation("expand the filesystem", (XFS, BTRFS), (*PUBLISHED, Life.expand), Life.expand_node),
    Operation("unpublish", (EXT4, BLOCK), PUBLISHED, Life.unpublish),
    Operation("unstage", (*FILESYSTEMS, BLOCK), STAGED, Life.unstage),
    Operation("delete", (EXT4, EXT4_THICK), USED, Life.delete),
    Operation("first start", (EXT4,), (), first=True),
    Operation("start", (XFS,), PUBLISHED),
    Operation("start after half a creation", (EXT4_THICK,), (),
              killed_step=Life.create, killed_at="fallocate image",
              recovered=Life.check_absent),
    Operation("start after half a formatting", (EXT4,), CREATED,
              killed_step=Life.stage, killed_at="mkfs.ext4: fsync loop device"),
    # The image is marked as formatted, its record not yet.
    Operation("start after a formatting without its record", FILESYSTEMS, CREATED,
              killed_step=Life.stage, killed_at="fsync image"),
    Operation("start after half an expansion", (EXT4, EXT4_THICK), USED,
              killed_step=Life.expand, killed_at="fsync image",
              recovered=Life.check_accounts),
    Operation("start with a frozen filesystem", (XFS,), (*PUBLISHED, Life.expand),
              killed_step=Life.expand_node, killed_at="ioctl FITHAW",
              recovered=Life.check_not_frozen),
    Operation("start after half a deletion", (EXT4, EXT4_THICK), USED,
              killed_step=Life.delete, killed_at="unlinkat image",
              recovered=Life.check_absent),
    of_copies("snapshot", (EXT4_THICK,), (Copies.use_origin,), Copies.cut,
              Copies.check_no_snapshot, RUNNING_SNAPSHOT, Copies.give_up_cut, lasting=True),
    of_copies("snapshot, mounted", (EXT4, XFS, BLOCK), (Copies.mount_origin,), Copies.cut,
              Copies.check_no_snapshot, RUNNING_SNAPSHOT, Copies.give_up_cut,
              struck=Copies.check_writable, sampled=(XFS, BLOCK)),
    of_copies("snapshot, mounted, on btrfs", (XFS, BTRFS), (Copies.mount_origin,), Copies.cut,
              Copies.check_no_snapshot, RUNNING_SNAPSHOT, host="btrfs",
              struck=Copies.check_writable, sampled=(BTRFS,)),
    of_copies("restore", (EXT4, EXT4_THICK), CUT, Copies.restore, Copies.check_no_copy, RUNNING,
              Copies.give_up_restore, lasting=True, sampled=(EXT4_THICK,)),
    of_copies("clone", (EXT4,), (Copies.use_origin,), Copies.clone, Copies.check_no_copy, RUNNING,
              Copies.give_up_clone),
    # In a pool that cannot share blocks.
    of_copies("snapshot, on ext4", (EXT4, EXT4_THICK), (Copies.use_origin,), Copies.cut,
              Copies.check_no_snapshot, RUNNING_SNAPSHOT, Copies.give_up_cut, host="ext4",
              lasting=True, sampled=(EXT4,)),
    of_copies("snapshot, mounted, on ext4", (EXT4, XFS), (Copies.mount_origin,), Copies.cut,
              Copies.check_no_snapshot, RUNNING_SNAPSHOT, Copies.give_up_cut, host="ext4",
              struck=Copies.check_writable, sampled=(XFS,)),
    of_copies("restore, on ext4", (EXT4, EXT4_THICK), CUT, Copies.restore, Copies.check_no_copy,
              RUNNING, Copies.give_up_restore, host="ext4", lasting=True, sampled=(EXT4_THICK,)),
    of_copies("clone, on ext4", (EXT4,), (Copies.use_origin,), Copies.clone, Copies.check_no_copy,
              RUNNING, Copies.give_up_clone, host="ext4", sampled=()),
    of_copies("first stage of a copy", FILESYSTEMS, RESTORED, Copies.stage_copy,
              Copies.check_copy_unstaged, opposite=Copies.give_up_stage, lasting=True),
    of_copies("delete a snapshot", (EXT4,), RESTORED, Copies.delete_snapshot),
    of_copies("delete an origin", (EXT4,), (Copies.use_origin, Copies.cut), Copies.delete_origin),
    of_copies("delete a snapshot, on btrfs", (EXT4,), RESTORED, Copies.delete_snapshot,
              host="btrfs", sampled=()),
    # The container ends with all its processes, so only the stage record knows of the freeze.
    of_copies("start with a frozen origin", (XFS,), (Copies.mount_origin,),
              killed_step=Copies.cut, killed_at="ioctl FICLONE", killed_by="kill-all",
              recovered=Copies.check_thawed),
    of_copies("start after half a copy", (EXT4,), (Copies.use_origin,), killed_step=Copies.cut,
              killed_at="fsync image", recovered=Copies.check_no_snapshot),
    # The image is marked as complete, its record not yet.
    of_copies("start after a copy without its record", (EXT4,), (Copies.use_origin,),
              killed_step=Copies.cut, killed_at="fsync image", killed_nth=2,
              recovered=Copies.check_one_snapshot),
    of_groups("group snapshot", (EXT4, EXT4_THICK), (Groups.mount_both,), Groups.cut,
              Groups.check_no_group, RUNNING_SNAPSHOT, Groups.give_up_cut,
              struck=Groups.check_writable, sampled=(EXT4,)),
    of_groups("group snapshot, on btrfs", (EXT4,), (Groups.mount_both,), Groups.cut,
              Groups.check_no_group, RUNNING_SNAPSHOT, host="btrfs",
              struck=Groups.check_writable, sampled=()),
    of_groups("delete a group snapshot", (EXT4,), (Groups.mount_both, Groups.cut),
              Groups.delete_group),
    # Both are cut, and it is not decided that they are kept.
    of_groups("start after half a group snapshot", (EXT4,), (Groups.mount_both,),
              killed_step=Groups.cut, killed_at="fsync image", killed_nth=2,
              recovered=Groups.check_all_or_none),
    # The first one is marked as complete, its record not yet.
    of_groups("start after a group snapshot without its records", (EXT4,), (Groups.mount_both,),
              killed_step=Groups.cut, killed_at="fsync image", killed_nth=3,
              recovered=Groups.check_all_or_none),
    of_tables("make a table of digests", (BLOCK, BLOCK_THICK), COMPARED, Tables.make_table,
              running=RUNNING_SNAPSHOT, in_background=True, sampled=(BLOCK,)),
    of_tables("make a table of digests, on ext4", (BLOCK,), COMPARED, Tables.make_table,
              running=RUNNING_SNAPSHOT, in_background=True, host="ext4"),
    of_tables("delete a snapshot with a table", (BLOCK, BLOCK_THICK), TABLED, Tables.delete_base,
              running=RUNNING_SNAPSHOT, sampled=(BLOCK,)),
    of_tables("delete a snapshot with a table, on ext4", (BLOCK,), TABLED, Tables.delete_base,
              running=RUNNING_SNAPSHOT, host="ext4"),
    of_tables("delete a snapshot with a table, on btrfs", (BLOCK,), TABLED, Tables.delete_base,
              running=RUNNING_SNAPSHOT, host="btrfs", sampled=()),
    of_tables("snapshot where a table was kept", (BLOCK,),
              (*TABLED, Tables.delete_base, Tables.write_again), Tables.cut_base_again,
              running=RUNNING_SNAPSHOT),
    of_tables("delete the last snapshot with a kept table", (BLOCK,),
              (*TABLED, Tables.delete_base, Tables.delete_origin), Tables.delete_target,
              running=RUNNING_SNAPSHOT),
    # In the trash, with its table.
    of_tables("start after half a deletion with a table", (BLOCK,), TABLED,
              killed_step=Tables.delete_base, killed_at="renameat digests",
              recovered=Tables.check_kept),
    of_trash("delete into the trash", (EXT4, EXT4_THICK), (Trashed.use,), Trashed.delete),
    of_trash("restore from the trash", (EXT4, EXT4_THICK), KEPT, Trashed.restore,
             Trashed.check_in_trash, lasting=True),
    of_trash("purge from the trash", (EXT4, EXT4_THICK), KEPT, Trashed.purge, sampled=(EXT4,)),
    of_trash("create beside the trash", (EXT4,), KEPT, Trashed.create_again,
             Trashed.check_in_trash, RUNNING),
    of_trash("create in the room of the trash", (BLOCK_THICK,), (Reclaimed.fill,),
             Reclaimed.create, None, RUNNING, Reclaimed.give_up_creation, life=Reclaimed),
    of_trash("delete a snapshot into the trash", (BLOCK,), TABLED, Tables.delete_base,
             running=RUNNING_SNAPSHOT, life=TrashedTables, host="xfs"),
    of_trash("restore a snapshot from the trash", (BLOCK,), (*TABLED, Tables.delete_base),
             TrashedTables.restore_base, running=RUNNING_SNAPSHOT, life=TrashedTables, host="xfs"),
    # Its record says that it is in the trash, and it is in its old place.
    of_trash("start after half a deletion into the trash", (EXT4, EXT4_THICK), (Trashed.use,),
             killed_step=Trashed.delete, killed_at="renameat volume",
             recovered=Trashed.check_in_trash),
    of_trash("start after half a restoration", (EXT4,), KEPT, killed_step=Trashed.restore,
             killed_at="renameat record.json.tmp", recovered=Trashed.check_in_trash),
    of_trash("start after half a purge", (EXT4,), KEPT, killed_step=Trashed.purge,
             killed_at="unlinkat image", recovered=Trashed.check_purged),
    # The table is in its place, and the image in the trash.
    of_tables("start after a deletion whose table is kept", (BLOCK,), TABLED,
              killed_step=Tables.delete_base, killed_at="unlinkat image",
              recovered=Tables.check_kept),
)
BY_NAME = {operation.name: operation for operation in ALL}
