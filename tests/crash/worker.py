# SPDX-License-Identifier: Apache-2.0
"""A process that runs cases one after the other, in its own world."""

import itertools
import os
import signal

import case
import host
import pool_disk
import world

binary = root = None
worlds = {}  # by the filesystem of the pool's disk
numbers = itertools.count()


def prepare(binary_path, directory):
    """Called once in each process."""
    global binary, root
    binary, root = binary_path, directory
    os.setsid()  # an interruption at the terminal is the parent's, which cleans up
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    host.adopt_orphans()
    host.die_with_parent()
    host.unshare_mounts()
    boot_id = root / f"boot-id-{os.getpid()}"
    boot_id.write_text(world.BOOT_ID.read_text())
    pool_disk.run("mount", "--bind", boot_id, world.BOOT_ID)


def carry_out(wanted):
    """After a problem the world is created again."""
    filesystem = case.host_filesystem(wanted)
    if filesystem not in worlds:
        worlds[filesystem] = world.World(binary, root / f"world-{os.getpid()}-{next(numbers)}",
                                         filesystem)
    result = case.run(worlds[filesystem], wanted)
    if result.problem:
        ended = worlds.pop(filesystem)
        try:
            ended.remove()
        except (AssertionError, OSError) as error:
            result.problem += f"\nand what it left cannot be removed: {error}"
    return result
