# SPDX-License-Identifier: Apache-2.0
"""Things that may lie on an image and are not Holdfast's to overwrite. Each writes to a path."""

import os
import struct
import zlib

from pool_disk import run


def put(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset, os.SEEK_END if offset < 0 else os.SEEK_SET)
        file.write(data)


def dos_partition_table(path):
    entry = struct.pack("<B3sB3sII", 0x80, b"\x20\x21\0", 0x83, b"\xfe\xff\xff", 2048, 32768)
    put(path, 446, entry + bytes(48) + b"\x55\xaa")


def gpt_header(own, other, last, entries_at, entries):
    """UEFI specification 2.10, section 5.3.2."""
    fields = [b"EFI PART", 0x10000, 92, 0, 0, own, other, 34, last - 33, os.urandom(16), entries_at,
              128, 128, zlib.crc32(entries)]
    layout = "<8sIIIIQQQQ16sQIII"
    fields[3] = zlib.crc32(struct.pack(layout, *fields))
    return struct.pack(layout, *fields)


def gpt(path):
    last = os.stat(path).st_size // 512 - 1
    entries = (os.urandom(32) + struct.pack("<QQ", 2048, 32767) + bytes(80)).ljust(128 * 128, b"\0")
    put(path, 446, struct.pack("<B3sB3sII", 0, b"\0\2\0", 0xEE, b"\xff\xff\xff", 1, last)
        + bytes(48) + b"\x55\xaa")
    put(path, 512, gpt_header(1, last, last, 2, entries))
    put(path, 1024, entries)
    put(path, (last - 32) * 512, entries)
    put(path, last * 512, gpt_header(last, 1, last, last - 32, entries))


def gpt_backup_only(path):
    gpt(path)
    put(path, 0, bytes(1 << 20))


def luks(path):
    """The header of LUKS1 (LUKS On-Disk Format Specification 1.2.3, figure 1)."""
    names = b"aes".ljust(32, b"\0") + b"xts-plain64".ljust(32, b"\0") + b"sha256".ljust(32, b"\0")
    put(path, 0, b"LUKS\xba\xbe" + struct.pack(">H", 1) + names + struct.pack(">II", 4096, 64)
        + os.urandom(52) + struct.pack(">I", 1000) + b"8cb5fb6a-4ff5-4f47-b4f4-6fd9ed3b0d10")


def lvm_physical_volume(path):
    """The label of LVM2: sector 1, type at offset 24."""
    put(path, 512, b"LABELONE" + struct.pack("<QII", 1, 0, 32) + b"LVM2 001" + b"a" * 32)


def md_raid_1_2(path):
    """A version-1.2 superblock, 4 KiB from the start (linux/raid/md_p.h)."""
    put(path, 4096, struct.pack("<II", 0xA92B4EFC, 1) + os.urandom(56) + bytes(192))


def swap(path):
    run("mkswap", "--quiet", path)


def ext2(path):
    run("mke2fs", "-q", "-F", "-t", "ext2", path)


def xfs_superblock(path):
    put(path, 0, b"XFSB" + struct.pack(">I", 4096) + os.urandom(500))


def btrfs_superblock(path):
    put(path, 65536 + 64, b"_BHRfS_M" + os.urandom(100))


def zfs_label(path):
    for offset in range(128 << 10, 256 << 10, 1024):
        put(path, offset, struct.pack("<Q", 0x00BAB10C) + os.urandom(64))


def iso9660(path):
    put(path, 32768, b"\x01CD001\x01" + os.urandom(2041))


def squashfs(path):
    put(path, 0, b"hsqs" + os.urandom(92))


def vfat(path):
    parameters = struct.pack("<HBHBHHBHHHII", 512, 4, 4, 2, 512, 0, 0xF8, 64, 32, 2, 0, 131072)
    put(path, 0, b"\xeb\x3c\x90mkfs.fat" + parameters
        + b"\x80\x00\x29" + os.urandom(4) + b"NO NAME    FAT16   " + bytes(448) + b"\x55\xaa")


def bcache(path):
    put(path, 4096 + 24, bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81") + os.urandom(64))


def raw_data(path):
    put(path, 0, os.urandom(4096))


def a_byte_at_the_start(path):
    put(path, 0, b"\x01")


def a_byte_at_the_end(path):
    put(path, -1, b"\x01")


ALL = (dos_partition_table, gpt, gpt_backup_only, luks, lvm_physical_volume, md_raid_1_2, swap,
       ext2, xfs_superblock, btrfs_superblock, zfs_label, iso9660, squashfs, vfat, bcache,
       raw_data, a_byte_at_the_start, a_byte_at_the_end)
