# SPDX-License-Identifier: Apache-2.0
"""Small disks for pools, made for the benchmark: the host's own filesystem may share no blocks."""
import mmap
import os
import pathlib
import subprocess

MKFS = {"xfs": ("mkfs.xfs", "-q", "-K"), "ext4": ("mkfs.ext4", "-q", "-F", "-E", "nodiscard")}
PIECE = mmap.mmap(-1, 4 << 20)  # aligned for direct I/O


def make(place, name: str, filesystem: str, gibibytes: int, mount: pathlib.Path) -> None:
    """Mounts a new disk there. The workplace unmounts and detaches it at its end.

    It is written once from end to end: the first write to a part of a sparse file takes twice as
    long as any later one, and the side that comes to new parts more often would seem slower.
    """
    image = place.directory / f"{name}.img"
    descriptor = os.open(image, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_DIRECT, 0o600)
    try:
        for _ in range((gibibytes << 30) // len(PIECE)):
            os.write(descriptor, PIECE)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    subprocess.run([*MKFS[filesystem], image], check=True)
    device = subprocess.run(["losetup", "--find", "--show", "--direct-io=on", image], check=True,
                            capture_output=True, text=True).stdout.strip()
    mount.mkdir()
    subprocess.run(["mount", device, mount], check=True)
