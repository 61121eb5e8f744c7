"""Things that a driver must not leave behind: loop devices, mounts, files in the pool, occupied
space."""

import dataclasses
import os
import pathlib
import time
import uuid

UUID_OFFSETS = {"ext4": 1024 + 0x68, "xfs": 32, "btrfs": (64 << 10) + 32}
# Directories and inodes of the data disk's own filesystem; far below the smallest volume.
SPACE_TOLERANCE = 16 << 20
SPACE_LIMIT_S = 20


def mounts():
    """Mount points and sources of the guest."""
    lines = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return sorted((line.split()[4], line.split(" - ")[1].split()[1]) for line in lines)


def mount_source(mount_point):
    """The device that is mounted last on `mount_point`."""
    sources = [source for point, source in mounts() if point == str(mount_point)]
    assert sources, f"nothing is mounted on {mount_point}"
    return sources[-1]


def filesystem_uuid(mount_point, kind):
    """From the superblock, because a blkid for each stage is slow on an emulated processor."""
    with open(mount_source(mount_point), "rb") as device:
        device.seek(UUID_OFFSETS[kind])
        return str(uuid.UUID(bytes=device.read(16)))


def filesystem_size(mount_point):
    stat = os.statvfs(mount_point)
    return stat.f_blocks * stat.f_frsize


def attached_loops():
    found = pathlib.Path("/sys/block").glob("loop*/loop/backing_file")
    return sorted(path.read_text(encoding="utf-8").strip() for path in found)


def tree(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def free_space(directory):
    os.sync()  # blocks that wait for their allocation are not counted as used
    stat = os.statvfs(directory)
    return stat.f_bfree * stat.f_frsize


@dataclasses.dataclass
class Baseline:
    """The state without any volume, to be found again when all volumes are deleted."""
    pool: pathlib.Path
    tree: list
    free: int

    @staticmethod
    def take(pool):
        return Baseline(pool, tree(pool), free_space(pool))

    def assert_restored(self):
        assert not attached_loops(), f"loop devices left: {attached_loops()}"
        left = [mount for mount in mounts() if mount[0].startswith("/data/")]
        assert not left, f"mounts left: {left}"
        found = tree(self.pool)
        assert found == self.tree, f"pool holds {found}, without volumes it held {self.tree}"
        await_free_space(self.pool, self.free)


def await_free_space(directory, wanted):
    """xfs and btrfs free the blocks of a deleted file some time later."""
    end = time.monotonic() + SPACE_LIMIT_S
    while (free := free_space(directory)) < wanted - SPACE_TOLERANCE:
        assert time.monotonic() < end, f"{wanted - free} bytes did not become free again"
        time.sleep(0.2)
