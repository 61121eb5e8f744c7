"""The harness itself: loop devices and online growth work, and a power cut is one.

After the cut every flushed file is there with its content, on the data disk and on a filesystem on
a loop device, and no file that was not flushed is.
"""

import contextlib
import itertools
import os
import pathlib
import subprocess

import durable_file
import ledger

MIB = 1 << 20
IMAGE = pathlib.Path("/data/image")
MOUNT_POINT = pathlib.Path("/run/loop")
KEPT, LOST = pathlib.Path("/data/kept"), pathlib.Path("/data/lost")


def work(_run_dir):
    for path in (KEPT, LOST):
        path.mkdir(exist_ok=True)
    with IMAGE.open("wb") as image:
        os.posix_fallocate(image.fileno(), 0, 64 * MIB)
    call("mkfs.ext4", "-q", "-E", "nodiscard", IMAGE)
    ledger.ack("start", "")
    with mounted():
        for number in itertools.count():
            write_round(str(number))


def write_round(name):
    ledger.begin("write", name)
    on_disk = durable_file.write(KEPT / name)
    on_loop = durable_file.write(MOUNT_POINT / f"{int(name) % 8}")
    ledger.ack("write", name, on_disk=on_disk, on_loop=on_loop)
    durable_file.write(LOST / name, durable=False)


def check(run_dir):
    told = ledger.read(run_dir)
    written = [entry for entry in told.acknowledged if entry["op"] == "write"]
    assert written, "nothing was acknowledged before the power cut"
    for entry in written:
        found = durable_file.checksum(KEPT / entry["volume"])
        assert found == entry["on_disk"], f"flushed file {entry['volume']} differs"
    survivors = [path for path in LOST.iterdir() if path.stat().st_size > 0]
    assert not survivors, f"not flushed and yet there, so this was no power cut: {survivors}"
    with mounted() as device:
        check_loop_files(written, told.interrupted)
        grow_online(device)
        check_loop_files(written, told.interrupted)
    clean_up()


def check_loop_files(written, interrupted):
    """Only the youngest of the files that share a name, and not the one being overwritten."""
    youngest = {int(entry["volume"]) % 8: entry for entry in written}
    if interrupted:
        youngest.pop(int(interrupted["volume"]) % 8, None)
    for number, entry in youngest.items():
        found = durable_file.checksum(MOUNT_POINT / str(number))
        assert found == entry["on_loop"], f"flushed file {number} on the loop device differs"


def grow_online(device):
    """Needs CAP_SYS_RESOURCE: the reason why this guest exists."""
    before = os.statvfs(MOUNT_POINT).f_blocks
    os.truncate(IMAGE, 128 * MIB)
    call("losetup", "--set-capacity", device)
    call("resize2fs", device)
    after = os.statvfs(MOUNT_POINT).f_blocks
    assert after > 1.8 * before, f"ext4 did not grow online: {before} to {after} blocks"


def clean_up():
    for path in (*KEPT.iterdir(), *LOST.iterdir(), IMAGE):
        path.unlink()


@contextlib.contextmanager
def mounted():
    device = call("losetup", "--find", "--show", IMAGE).strip()
    try:
        MOUNT_POINT.mkdir(exist_ok=True)
        call("mount", device, MOUNT_POINT)
        try:
            yield device
        finally:
            call("umount", MOUNT_POINT)
    finally:
        call("losetup", "--detach", device)


def call(*arguments):
    return subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True).stdout
