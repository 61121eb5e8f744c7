# SPDX-License-Identifier: Apache-2.0
"""The calls that workers make: drawn at random from those that are interesting now, and kept as
plain data, so that a run can be recorded and repeated."""

from volume_model import MIB, MULTI, SINGLE, Spec

SIZES = {"ext4": (32, 64, 96), "xfs": (320, 400), "btrfs": (256, 320), "block": (16, 32, 64)}  # MiB
KINDS = ("ext4",) * 5 + ("block",) * 3 + ("xfs", "btrfs")
STAGING_PATHS, TARGETS = 2, 3
HUGE_SHARE = (0.3, 1.1)  # of the whole pool, for calls that may find no space
HOSTILE = 25  # kinds of malformed calls, see hostile_calls.py
SNAPSHOTS = 2  # of each volume
SHARED_SHARE = 0.05  # of all operations: on volumes that all workers use at once


def draw(random, volume, volumes, room):
    """The next operation on this one of a worker's volumes, mostly one that a CO would make now."""
    if random.random() < 0.2:
        return anything(random, volume, volumes, room)
    if random.random() < 0.12:
        return of_snapshot(random)
    if not volume.exists and random.random() < 0.4:
        return restore(random, volumes)
    return sensible(random, volume, room)


def with_style(random, operation):
    """twice: made twice at once, as by a CO that lost patience. give_up: if a kill interrupts the
    call, the CO does not repeat it but requests the opposite."""
    if random.random() < 0.08:
        operation["twice"] = True
    if random.random() < 0.5:
        operation["give_up"] = True
    return operation


def sensible(random, volume, room):
    if not volume.exists:
        return create(random, room)
    if random.random() < 0.25:
        return look(random, volume)
    if volume.staged_at is None:
        return random.choice((stage(volume), stage(volume), expand(random, volume, room),
                              {"call": "delete"}))
    if not volume.published:
        return random.choice((publish(random, volume), publish(random, volume),
                              {"call": "unstage", "path": volume.staged_at},
                              stage(volume), expand(random, volume, room)))
    target = random.choice(sorted(volume.published))
    choices = [{"call": "unpublish", "target": target}, {"call": "write"}, {"call": "write"},
               publish(random, volume), stage(volume), {"call": "check"},
               node_expand(random, volume), expand(random, volume, room)]
    return random.choice(choices)


def anything(random, volume, volumes, room):
    """Whatever may be asked, fitting or not."""
    access = random.choice(("mount", "block"))
    path, target = random.randrange(STAGING_PATHS), random.randrange(TARGETS)
    return random.choice((
        create(random, room), {"call": "delete"}, look(random, volume),
        of_snapshot(random), restore(random, volumes),
        {"call": "stage", "path": path, "access": access, "mode": random.choice((MULTI, SINGLE))},
        {"call": "unstage", "path": path},
        {"call": "publish", "path": path, "target": target, "access": access,
         "read_only": random.random() < 0.3},
        {"call": "unpublish", "target": target},
        expand(random, volume, room), node_expand(random, volume),
        {"call": "hostile", "kind": random.randrange(HOSTILE)},
        {"call": "hostile", "kind": random.randrange(HOSTILE)}))


def create(random, room):
    kind = random.choice(KINDS)
    size = random.choice(SIZES[kind]) * MIB
    if kind == "block" and random.random() < 0.1:
        size = int(random.uniform(*HUGE_SHARE) * room)
    limit = random.choice((0, 0, 0, size, size + MIB, size - 1))
    return {"call": "create", "kind": kind, "provisioning": random.choice(("thick", "thin")),
            "size": size, "limit": max(limit, 0)}


def of_snapshot(random):
    call = random.choice(("snapshot", "snapshot", "unsnapshot", "find_snapshot"))
    return {"call": call, "slot": random.randrange(SNAPSHOTS)}


def restore(random, volumes):
    """Mostly of something that is there."""
    sources = [(number, slot) for number, volume in enumerate(volumes)
               for slot in (None, *range(SNAPSHOTS))
               if (volume if slot is None else volume.snapshots[slot]).exists]
    if not sources or random.random() < 0.05:
        sources = [(number, slot) for number in range(len(volumes)) for slot in range(SNAPSHOTS)]
    number, slot = random.choice(sources)
    return {"call": "restore", "origin": number, "slot": slot, "more": random.choice((0, 0, 16)) * MIB,
            "provisioning": random.choice(("thick", "thin"))}


def expand(random, volume, room):
    capacity = volume.capacity or 64 * MIB
    size = capacity + random.choice((-16, 0, 0, 16, 32)) * MIB
    if random.random() < 0.1:
        size = capacity + int(random.uniform(*HUGE_SHARE) * room)
    if size > 4 * capacity and volume.exists and not volume.block:
        size = capacity + 16 * MIB  # growing a filesystem that far takes minutes
    limit = random.choice((0, 0, 0, 0, max(size, 1), max(capacity - 1, 1)))
    if limit and limit < size:
        size = min(size, limit)
    return {"call": "expand", "size": max(size, 1), "limit": limit}


def node_expand(random, volume):
    size = max(volume.capacity, 16 * MIB)
    if random.random() < 0.1:
        size += 16 * MIB
    return {"call": "node_expand", "size": size}


def stage(volume):
    access = volume.spec.access if volume.spec else "mount"
    path = volume.staged_at if volume.staged_at is not None else 0
    return {"call": "stage", "path": path, "access": access, "mode": volume.staged_mode or MULTI}


def publish(random, volume):
    return {"call": "publish", "path": volume.staged_at or 0,
            "target": random.randrange(TARGETS), "access": volume.spec.access,
            "read_only": random.random() < 0.2}


def look(random, volume):
    return random.choice(({"call": "get"}, {"call": "list"}, {"call": "validate"},
                          {"call": "capacity"}, {"call": "check"},
                          {"call": "stats", "target": random.randrange(TARGETS)},
                          {"call": "hostile", "kind": random.randrange(HOSTILE)}))


SHARED_VOLUMES = 3
LARGEST_SHARED = 48 * MIB


def shared(random):
    """An operation on a volume that other workers use at the same time."""
    path, target = random.randrange(STAGING_PATHS), random.randrange(TARGETS)
    kind = random.choice(("ext4", "block"))
    access = "block" if kind == "block" else "mount"
    return random.choice((
        {"call": "create", "kind": kind, "provisioning": "thin", "size": 32 * MIB, "limit": 0},
        {"call": "delete"}, {"call": "get"},
        {"call": "stage", "path": path, "access": access, "mode": MULTI},
        {"call": "stage", "path": path, "access": access, "mode": MULTI},
        {"call": "unstage", "path": path},
        {"call": "publish", "path": path, "target": target, "access": access, "read_only": False},
        {"call": "unpublish", "target": target}, {"call": "stats", "target": target},
        {"call": "expand", "size": LARGEST_SHARED, "limit": 0},
        {"call": "node_expand", "size": LARGEST_SHARED}))


def spec_of(operation):
    return Spec(operation["kind"], operation["provisioning"])
