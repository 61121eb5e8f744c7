# SPDX-License-Identifier: Apache-2.0
"""The blocks that an image shares with others, see fiemap in the kernel's documentation."""

import fcntl
import struct

FIEMAP = 0xC020660B
HEADER = struct.Struct("=QQIIII")  # start, length, flags, mapped, count, reserved
EXTENT = struct.Struct("=QQQ16xI12x")  # logical, physical, length, flags
COUNT = 128
LAST, SHARED = 0x1, 0x2000


def of(path):
    """Yields (length, flags) of each extent of a file."""
    with open(path, "rb") as file:
        start = 0
        while True:
            buffer = bytearray(HEADER.pack(start, 2**64 - 1 - start, 0, 0, COUNT, 0)
                               + bytes(COUNT * EXTENT.size))
            fcntl.ioctl(file, FIEMAP, buffer)
            mapped = HEADER.unpack_from(buffer)[3]
            for index in range(mapped):
                logical, _, length, flags = EXTENT.unpack_from(
                    buffer, HEADER.size + index * EXTENT.size)
                yield length, flags
                if flags & LAST:
                    return
                start = logical + length
            if not mapped:
                return


def shared(path):
    """How many bytes of a file lie in blocks that it shares."""
    return sum(length for length, flags in of(path) if flags & SHARED)
