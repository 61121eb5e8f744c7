# SPDX-License-Identifier: Apache-2.0
"""Things that a test run may leave on the host: mounts, loop devices, processes, volumes."""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import signal
import subprocess
import time

import mount_table

PR_SET_CHILD_SUBREAPER = 36
PR_SET_PDEATHSIG = 1
CLONE_NEWNS = 0x20000
FITHAW = 0xC0045878
SETTLE_SECONDS = 5  # a detach is completed by the kernel once its last opener, like udev, closes
RELEASE_ROUNDS = 3
SMALLEST_VOLUME_FILE = 64 << 20  # bytes; records and logs are far smaller, images far larger


def prctl(option, value):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def adopt_orphans():
    """Makes every orphan of our children our own child, so that none can hide (prctl(2))."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def unshare_mounts():
    """Gives this process, which still has one thread, a private mount namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare CLONE_NEWNS")


def die_with_parent():
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def mounts_under(directory):
    """Returns the mount points below a directory, the newest first."""
    return [mount.point for mount in mount_table.read()
            if mount.point.startswith(f"{directory}/")][::-1]


def loop_backings():
    """Returns the path of the backing file, even if unlinked, of every bound loop device."""
    backings = {}
    for entry in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            backings[f"/dev/{entry.parts[3]}"] = entry.read_text().rstrip("\n")
        except OSError:  # detached meanwhile
            continue
    return backings


def loops_under(directory):
    """Returns the loop devices whose backing file lies below a directory."""
    return [device for device, backing in loop_backings().items()
            if backing.startswith(f"{directory}/")]


def children():
    """Returns the command lines of our living children by process id; reaps the dead ones."""
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # ended meanwhile
            continue
        pid = int(entry.name)
        if parent == os.getpid() and os.waitpid(pid, os.WNOHANG)[0] == 0:
            found[pid] = command
    return found


def volumes_under(directory):
    """Returns files of a volume's size, whatever the pool calls them."""
    return [str(path) for path in (directory / "pool").rglob("*")
            if path.is_file() and path.stat().st_size >= SMALLEST_VOLUME_FILE]


def leftovers(directory, expected=()):
    """Returns a sentence for each thing left behind, after a moment for it to disappear. `expected`
    are sentences that do not count."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        found = ([f"mount left: {point}" for point in mounts_under(directory)]
                 + [f"loop device left: {device}" for device in loops_under(directory)]
                 + [f"process left: {pid} {command}" for pid, command in children().items()]
                 + [f"volume left: {path}" for path in volumes_under(directory)])
        found = [line for line in found if line not in expected]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def thaw(point):
    """A filesystem that is frozen at its last unmount keeps its device busy."""
    with contextlib.suppress(OSError):  # not frozen, or no filesystem that can be
        root = os.open(point, os.O_RDONLY)
        try:
            fcntl.ioctl(root, FITHAW, 0)
        finally:
            os.close(root)


def release(directory):
    """Removes what leftovers() would report, except volumes, which are deleted with the
    directory."""
    for pid in children():
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    # A loop device can hold a mount below it, and a mount a loop device.
    for _ in range(RELEASE_ROUNDS):
        for point in mounts_under(directory):
            thaw(point)
            subprocess.run(["umount", point], check=False)
        for device in loops_under(directory):
            # Being read-only would stick to the number.
            subprocess.run(["blockdev", "--setrw", device], check=False)
            subprocess.run(["losetup", "--detach", device], check=False)
