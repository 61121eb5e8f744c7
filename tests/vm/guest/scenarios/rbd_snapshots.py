"""Snapshots, restored volumes and clones as devices of the guest's kernel; each ends without
volumes."""

import json
import threading

import durable_file
import leftovers
from driver import MIB, Volume
from scenarios.rbd_ceph import gone, made, mapped, recorded, until

SIZES = {"ext4": 64 * MIB, "xfs": 300 * MIB, "btrfs": 256 * MIB}


def residue(ceph):
    """What deleted volumes and snapshots have left in the pool."""
    objects = [name for name in ceph.rados("ls").split()
               if name.startswith(("rbd_data.", "rbd_header.", "rbd_id.", "rbd_object_map."))]
    retained = []
    if "holdfast.retained" in ceph.rados("ls").split():
        retained = ceph.rados("listomapkeys", "holdfast.retained").split()
    return [*objects, *retained]


def copies_beside_their_origin(driver, run_dir, pool, ceph):
    """All of them mounted, each filesystem with a UUID of its own; the copies are larger, and so
    are their filesystems."""
    for fs, size in SIZES.items():
        origin = made(driver, Volume(f"origin-{fs}", size, fs=fs, provisioning="thin"))
        before = durable_file.write(origin.target_path / "before")
        snapshot = driver.snapshot(origin, f"snap-{fs}")
        later = durable_file.write(origin.target_path / "before")
        copies = [Volume(f"{name}-{fs}", size + 64 * MIB, fs=fs, provisioning="thin")
                  for name in ("copy", "clone")]
        driver.create(copies[0], snapshot=snapshot)
        driver.create(copies[1], clone_of=origin)
        uuids = {leftovers.filesystem_uuid(origin.staging_path, fs)}
        for copy, expected in zip(copies, (before, later)):
            driver.stage(copy)
            driver.publish(copy)
            assert durable_file.checksum(copy.target_path / "before") == expected, copy
            uuids.add(leftovers.filesystem_uuid(copy.staging_path, fs))
            assert (leftovers.filesystem_size(copy.target_path)
                    > leftovers.filesystem_size(origin.target_path) + 40 * MIB)
            assert recorded(ceph, copy)["state"] == "formatted"
            durable_file.write(copy.target_path / "own")
        assert len(uuids) == 3, "each has its own"
        assert len(mapped()) == 3
        assert durable_file.checksum(origin.target_path / "before") == later
        gone(driver, origin)
        restart = copies.pop()
        driver.unpublish(restart)
        driver.unstage(restart)
        driver.stage(restart)
        driver.publish(restart)
        assert durable_file.checksum(restart.target_path / "before") == later
        gone(driver, restart)
        driver.delete_snapshot(snapshot)
        gone(driver, copies.pop())
        until(lambda: not residue(ceph), f"{fs}: something is left in the pool")


def a_snapshot_under_writes(driver, run_dir, pool, ceph):
    """It has what was flushed before the call, and its filesystem recovers as from a power cut."""
    for fs, size in SIZES.items():
        origin = made(driver, Volume(f"busy-{fs}", size, fs=fs, provisioning="thin"))
        flushed = durable_file.write(origin.target_path / "flushed")
        done = threading.Event()
        writer = threading.Thread(target=write_until, args=(origin.target_path, done))
        writer.start()
        snapshot = driver.snapshot(origin, f"snap-{fs}")
        done.set()
        writer.join()
        copy = Volume(f"copy-{fs}", size, fs=fs, provisioning="thin")
        driver.create(copy, snapshot=snapshot)
        driver.stage(copy)
        driver.publish(copy)
        assert durable_file.checksum(copy.target_path / "flushed") == flushed
        driver.delete_snapshot(snapshot)
        gone(driver, origin)
        gone(driver, copy)


def write_until(directory, done):
    for number in range(1000):
        if done.is_set():
            return
        path = directory / f"during-{number % 4}"
        durable_file.write(path, chunks=1)


def a_chain_of_clones(driver, run_dir, pool, ceph):
    """Deeper than is useful: the kernel maps each of them, because none has many parents."""
    volumes = [made(driver, Volume("level-0", 64 * MIB, provisioning="thin"))]
    data = durable_file.write(volumes[0].target_path / "data")
    for level in range(1, 7):
        clone = Volume(f"level-{level}", 64 * MIB, provisioning="thin")
        until(lambda: is_created(driver, clone, volumes[-1]), "the clone does not become complete")
        driver.stage(clone)
        driver.publish(clone)
        assert durable_file.checksum(clone.target_path / "data") == data
        volumes.append(clone)
    assert [parents(ceph, volume) for volume in volumes] == [0, 1, 2, 3, 0, 1, 2]
    for volume in volumes:
        gone(driver, volume)
    until(lambda: not residue(ceph), "something is left in the pool")


def is_created(driver, clone, source):
    return driver.try_create(clone, clone_of=source)


def parents(ceph, volume):
    count = 0
    image = recorded(ceph, volume)["image_name"]
    while parent := json.loads(ceph.rbd("info", "--format", "json", f"rbd/{image}")).get("parent"):
        image = parent["image"]
        count += 1
    return count


def a_mover_writes_a_block_device(driver, run_dir, pool, ceph):
    """And pods mount it as the filesystem that is on it."""
    origin = made(driver, Volume("origin", 64 * MIB, provisioning="thin"))
    data = durable_file.write(origin.target_path / "data")
    driver.unpublish(origin)
    driver.unstage(origin)
    snapshot = driver.snapshot(origin, "snap")
    exposed = Volume("exposed", 64 * MIB, fs="", provisioning="thin")
    driver.create(exposed, snapshot=snapshot)
    target = made(driver, Volume("target", 128 * MIB, fs="", provisioning="thin"))
    driver.stage(exposed)
    driver.publish(exposed)
    with exposed.target_path.open("rb") as source, target.target_path.open("r+b") as to:
        while chunk := source.read(MIB):
            to.write(chunk)
        to.flush()
    gone(driver, exposed)
    driver.unpublish(target)
    driver.unstage(target)
    target.target_path.unlink(missing_ok=True)
    seen = Volume("seen", 128 * MIB, fs="ext4", provisioning="thin", id=target.id)
    driver.stage(seen)
    driver.publish(seen)
    assert durable_file.checksum(seen.target_path / "data") == data
    assert leftovers.filesystem_size(seen.target_path) > 100 * MIB, "it fills the volume"
    assert recorded(ceph, seen)["access_type"] == "mount"
    gone(driver, seen)
    driver.delete_snapshot(snapshot)
    driver.delete(origin.id)
