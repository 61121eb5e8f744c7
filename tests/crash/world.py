# SPDX-License-Identifier: Apache-2.0
"""A disk with a pool, its driver and kubelet, in a separate directory, and the conditions that must
hold whenever no call is running."""

import fcntl
import json
import os
import pathlib
import shutil
import struct
import time
import uuid

import content
import driver
import extents
import host
import kubelet
import pool_disk
import trapped_driver

# For volumes and for the state directory. Nothing is written to a disk earlier than necessary, so
# that a power cut loses what was not made durable.
DISKS = {"pool": 1536 * driver.MIB, "state": 64 * driver.MIB}
SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN, XFS_IOC_GOINGDOWN
NO_LOG_FLUSH = struct.pack("I", 2)
MOUNT_OPTIONS = {"ext4": ("-o", "commit=900"), "btrfs": ("-o", "commit=900"), "xfs": ()}
BOOT_ID = pathlib.Path("/proc/sys/kernel/random/boot_id")
RELEASE_SECONDS = 20
COPY_MARK = "trusted.holdfast.copied"
# Blocks of its own trees, which it frees at its own pace; every image has more.
SLACK = {"xfs": 64 << 10}
PROVISIONINGS = ("thin", "thick")
ACCOUNTS_SECONDS = 20  # until the blocks of a copy are its own, beside other work
EXPECTED_IN_STATE = {"lock", "pools", "stages", "lost+found"}


class World:
    def __init__(self, binary, directory, host_filesystem):
        """`host_filesystem` is the filesystem of the pool's disk."""
        self.binary, self.directory = binary, directory
        directory.mkdir()
        self.disks = [
            self.make_disk(name, host_filesystem if name == "pool" else "ext4") for name in DISKS]
        # btrfs moves space between data and metadata at its own pace.
        self.exact_room = host_filesystem != "btrfs"
        self.shares_blocks = host_filesystem in ("xfs", "btrfs")
        self.slack = SLACK.get(host_filesystem, 0)
        self.driver = trapped_driver.TrappedDriver(binary, directory)
        self.kubelet = kubelet.Kubelet(directory / "kubelet", self.driver.call)
        self.capacity = {}

    def make_disk(self, name, filesystem):
        return pool_disk.PoolDisk(self.directory / f"{name}.img", DISKS[name], filesystem,
                                  self.directory / name, *MOUNT_OPTIONS[filesystem])

    # A case's begin and end.

    def begin(self):
        """Starts afresh on an empty pool, which has been used before."""
        self.driver.server.programs.clear()
        self.driver.cut = None
        (self.directory / "server.log").unlink(missing_ok=True)
        self.driver.start()
        self.capacity = self.read_capacity()

    def begin_anew(self):
        """Leaves the driver stopped, with a pool that was never used."""
        problem = self.driver.server.stop()
        assert problem is None, problem
        for place in (self.driver.pool, self.directory / "state"):
            for path in place.iterdir():
                if path.name != "lost+found":
                    (shutil.rmtree if path.is_dir() else os.unlink)(path)

    def write_out(self):
        """As the kernel does after a while."""
        for disk in self.disks:
            pool_disk.run("sync", "--file-system", disk.mount_point)

    def cut_power(self):
        """The machine goes down at once, when the driver has ended, and boots again."""
        for disk in self.disks:
            shut_down(disk)
        take_down(self.directory)
        for disk in self.disks:
            if (kept := kept_image(disk)).exists():
                kept.replace(disk.image)
            disk.device = pool_disk.attach(disk.image)
            disk.mount()
        boot_anew()

    def check_clean(self):
        """After the deletion nothing is left, and the pool's space is free again."""
        self.check_capacity()
        usage = self.usage()
        promised = (usage.thick_provisioned_bytes, usage.thin_provisioned_bytes, usage.volumes)
        assert promised == (0, 0, 0), f"promised without volumes: {promised}"
        deadline = time.monotonic() + host.SETTLE_SECONDS  # the reconciler may be looking
        while opened := self.driver.opened():
            assert time.monotonic() < deadline, f"still open: {opened}"
            time.sleep(0.01)
        problem = self.driver.server.stop()
        left = ([problem] if problem else []) + self.leftovers()
        assert not left, "\n".join(left)

    def leftovers(self):
        """A sentence for each remaining thing, with the driver stopped."""
        own = [sentence for disk in self.disks
               for sentence in (f"mount left: {disk.mount_point}",
                                f"loop device left: {disk.device}")]
        found = host.leftovers(self.directory, own)
        found += self.driver.leftovers()
        state = self.directory / "state"
        found += [f"file left: {path}" for path in state.iterdir()
                  if path.name not in EXPECTED_IN_STATE]
        found += [f"file left: {path}" for path in (state / "pools").iterdir()
                  if path.suffix != ".json"]
        return found

    def programs_started(self, names):
        programs = self.driver.server.programs
        return sum(pathlib.Path(program).name in names for program in programs)

    def remove(self):
        """Ends all of it, whatever state it is in."""
        if self.driver.server.process:
            self.driver.server.kill()
        take_down(self.directory)
        shutil.rmtree(self.directory)

    # Space.

    def read_capacity(self):
        return {how: self.driver.call("GetCapacity", parameters={"provisioning": how}
                                      ).available_capacity for how in PROVISIONINGS}

    def check_capacity(self):
        """The same as in the beginning, as soon as the reconciler has emptied the trash."""
        deadline = time.monotonic() + host.SETTLE_SECONDS
        while self.exact_room and not self.is_free_again(found := self.read_capacity()):
            assert time.monotonic() < deadline, f"capacity {found}, before: {self.capacity}"
            time.sleep(0.01)

    def is_free_again(self, found):
        return all(abs(found[how] - self.capacity[how]) <= self.slack for how in found)

    def usage(self):
        return self.driver.client.admin("ListPools").pools[0]

    def check_accounts(self):
        """The driver's state in memory matches records, images and filesystem; after a copy as soon
        as a thick one has storage of its own."""
        deadline = time.monotonic() + ACCOUNTS_SECONDS
        while (wrong := self.wrong_accounts()) and self.shares_blocks:
            # After a fault, which a background task has met, the driver is restarted first.
            assert time.monotonic() < deadline and not self.driver.trap.has_struck(), wrong
            time.sleep(0.05)
        assert not wrong, wrong

    def wrong_accounts(self):
        before, usage = None, None
        while (now := self.read_records()) != before:  # a mounted filesystem writes by itself
            before, usage = now, self.usage()
        promised, debt, volumes = now
        found = {"thick": usage.thick_provisioned_bytes, "thin": usage.thin_provisioned_bytes}
        if (found, usage.volumes) != (promised, volumes):
            return (f"the ledger has {found} in {usage.volumes} volumes, records {promised} in "
                    f"{volumes}")
        if not self.exact_room:
            return ""
        room = usage.free_bytes - usage.reserve_bytes - sum(debt.values())
        room -= room % 4096
        available = {"thick": usage.thick_available_bytes, "thin": usage.thin_available_bytes}
        if available == {"thick": room, "thin": room}:
            return ""
        return f"the ledger offers {available}; room, records and st_blocks leave {room}"

    def read_records(self):
        """The provisioned space and the unallocated part of it, by provisioning, and the number of
        volumes."""
        promised, debt = dict.fromkeys(PROVISIONINGS, 0), dict.fromkeys(PROVISIONINGS, 0)
        volumes = 0
        in_trash = list((self.driver.pool / "trash").glob("*.*/record.json"))  # with all their space
        for path in (*(self.driver.pool / "volumes").glob("*/record.json"), *in_trash):
            if path in in_trash and is_being_purged(path):
                continue
            record = json.loads(path.read_text())
            assert record["grow_to_bytes"] == 0, f"a growth was not finished: {record}"
            image = path.parent / "image"
            allocated = image.stat().st_blocks * 512
            how, is_snapshot = record["provisioning"], record.get("role") == "snapshot"
            # Nothing is written to a snapshot.
            size = allocated if is_snapshot else record["capacity_bytes"]
            promised[how] += size
            # An origin counts with all of its blocks, a copy only with its own.
            shared = extents.shared(image) if is_unfinished_copy(image) else 0
            debt[how] += max(0, size - allocated + shared)
            assert how == "thin" or allocated >= size, f"{allocated} of {size} thick bytes"
            volumes += not is_snapshot and path not in in_trash and "trashed" not in record
        return promised, debt, volumes


def is_being_purged(path):
    """An entry of the trash whose bytes are going, or gone."""
    try:
        return (json.loads(path.read_text())["state"] == "deleting"
                or not (path.parent / "image").exists())
    except FileNotFoundError:
        return True


def is_unfinished_copy(image):
    """It has not had blocks of its own since it was made."""
    return COPY_MARK in os.listxattr(image) and os.getxattr(image, COPY_MARK) == b"complete"


def kept_image(disk):
    """The contents at the cut of a disk without SHUTDOWN."""
    return disk.image.with_suffix(".cut")


def keep_image(disk):
    """Copies the disk's state at one moment: repeats the copy until nothing was written during
    it."""
    kept = kept_image(disk)
    while not kept.exists() or content.fingerprint(kept) != content.fingerprint(disk.image):
        pool_disk.run("cp", "--sparse=always", disk.image, kept)


def shut_down(disk):
    """From now on nothing reaches the disk, not even the filesystem's journal."""
    if disk.filesystem == "btrfs":
        keep_image(disk)
        return
    root = os.open(disk.mount_point, os.O_RDONLY)
    try:
        fcntl.ioctl(root, SHUTDOWN, NO_LOG_FLUSH)
    finally:
        os.close(root)


def take_down(directory):
    """Unmounts and detaches all there is below a directory."""
    deadline = time.monotonic() + RELEASE_SECONDS
    while host.mounts_under(directory) + host.loops_under(directory):
        assert time.monotonic() < deadline, "cannot be taken down"
        host.release(directory)
        time.sleep(0.1)


def boot_anew():
    """Another boot id, for this process and its children (worker.prepare made it a file)."""
    BOOT_ID.write_text(f"{uuid.uuid4()}\n")
