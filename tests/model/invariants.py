# SPDX-License-Identifier: Apache-2.0
"""Conditions that must hold whenever no call is running."""

import time

import host
import mount_table
from worker import Violation

CONVERGED_SECONDS = 90
POLL_SECONDS = 0.2
UNDO_SUFFIXES = (".undo", ".undo.used", ".undo.tmp")  # docs/on-disk.md
PROVISIONINGS = ("thick", "thin")


def check(ground, volumes):
    """Raises Violation with all problems. The driver may take until its next round to finish what a
    kill left, because it skips volumes that a call is using."""
    there = [volume for volume in volumes if volume.exists]
    snapshots = [snapshot for volume in volumes for snapshot in volume.snapshots
                 if snapshot.exists]
    raise_if([*lists(ground, there, snapshots), *mounts(ground, there)])
    if not snapshots:  # a thick one takes blocks of its own in the background
        raise_if(promises(ground, there, snapshots))
    deadline = time.monotonic() + CONVERGED_SECONDS
    while problems := [*files(ground, there, snapshots), *devices(ground, there),
                       *promises(ground, there, snapshots)]:
        if time.monotonic() > deadline:
            raise_if(problems)
        time.sleep(POLL_SECONDS)


def raise_if(problems):
    problems = list(problems)
    if problems:
        raise Violation("; ".join(problems))


def lists(ground, volumes, snapshots):
    yield from differs("listed", set(ground.driver.listed()), handles(volumes))
    yield from differs("listed snapshots", set(ground.driver.snapshots()), handles(snapshots))


def promises(ground, volumes, snapshots):
    """The ledger is exact to the byte. A snapshot counts with what it occupies: nothing is written
    to it."""
    pool = ground.driver.client.admin("ListPools").pools[0]
    told = {"thick": pool.thick_provisioned_bytes, "thin": pool.thin_provisioned_bytes}
    for provisioning in PROVISIONINGS:
        want = sum(volume.capacity for volume in volumes
                   if volume.spec.provisioning == provisioning)
        want += sum(ground.driver.image(snapshot.handle).stat().st_blocks * 512
                    for snapshot in snapshots if snapshot.spec.provisioning == provisioning)
        if told[provisioning] != want:
            yield f"{told[provisioning]} {provisioning} bytes promised, want {want}"
    if pool.volumes != len(volumes):
        yield f"{pool.volumes} volumes counted, want {len(volumes)}"


def files(ground, volumes, snapshots):
    """No directory, temporary file or stage record of what does not exist."""
    pool = ground.driver.pool
    yield from differs("directories", names(pool / "volumes"),
                       {handle[-36:] for handle in handles([*volumes, *snapshots])})
    yield from differs("trash", names(pool / "trash"), set())
    records = names(ground.directory / "state" / "stages")
    # The next stage undoes the work of a killed resize2fs, whenever that stage comes.
    allowed = {f"{volume.handle}{suffix}" for volume in volumes for suffix in UNDO_SUFFIXES
                if volume.staged_at is None}
    yield from differs("stage records", records - allowed,
                       {f"{volume.handle}.json" for volume in staged(volumes)})
    for owner in [*volumes, *snapshots]:
        yield from differs(f"files of {owner.name}",
                           names(pool / "volumes" / owner.handle[-36:]), {"image", "record.json"})


def devices(ground, volumes):
    """Each staged volume has one loop device, and there are no others."""
    images = [backing for backing in host.loop_backings().values()
              if backing.startswith(f"{ground.driver.pool}/")]
    yield from differs("attached", set(images),
                       {str(ground.driver.image(volume.handle)) for volume in staged(volumes)})
    if len(images) != len(set(images)):
        yield f"attached twice: {sorted(images)}"


def mounts(ground, volumes):
    root = ground.directory / "kubelet"
    want = []
    for volume in volumes:
        if volume.mounted:
            want.append(str(ground.staging_path(volume.name, volume.staged_at)))
        want += [str(ground.target_path(volume.name, target)) for target in volume.published]
    found = sorted(mount.point for mount in mount_table.read()
                   if mount.point.startswith(f"{root}/"))
    if found != sorted(want):
        yield f"mounted: {found}, want {sorted(want)}"


def handles(owners):
    return {owner.handle for owner in owners}


def staged(volumes):
    return [volume for volume in volumes if volume.staged_at is not None]


def names(directory):
    return {path.name for path in directory.iterdir()}


def differs(what, found, want):
    if found != want:
        yield f"{what}: too many {sorted(found - want)}, missing {sorted(want - found)}"
