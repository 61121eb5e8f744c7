# SPDX-License-Identifier: Apache-2.0
"""Exchanges a directory and a symbolic link under one name, as fast as the kernel can, while calls
run that use the name."""

import contextlib
import subprocess
import sys

import mount_table
from pool_disk import run

PROGRAM = """
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, RENAME_EXCHANGE = -100, 2
one, other = (os.fsencode(path) for path in sys.argv[1:3])
print("ready", flush=True)
while True:
    done = libc.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE)
    if done != 0 and ctypes.get_errno() != errno.EBUSY:  # a mount point stays where it is
        sys.exit(f"renameat2: errno {ctypes.get_errno()}")
"""


@contextlib.contextmanager
def flipping(name, link_to):
    """While inside, `name` (a directory) is by turns itself and a link to `link_to`."""
    spare = name.with_name(name.name + ".spare")
    spare.symlink_to(link_to)
    flipper = subprocess.Popen([sys.executable, "-c", PROGRAM, name, spare],
                               stdout=subprocess.PIPE, text=True)
    try:
        assert flipper.stdout.readline() == "ready\n"
        yield
        assert flipper.poll() is None, "the names could not be exchanged any more"
    finally:
        flipper.kill()
        flipper.wait()
        flipper.stdout.close()
        if mount_table.is_mount_point(spare):
            # On the very directory that was checked, which then went by the other name.
            run("umount", spare)
        if name.is_symlink():
            name.unlink()
            spare.rename(name)
        else:
            spare.unlink()
