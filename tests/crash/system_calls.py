# SPDX-License-Identifier: Apache-2.0
"""Which system calls change something on disk or in the kernel, and how each of them can fail."""

import os

import seccomp

O_TMPFILE_ALONE = 0o20000000  # os.O_TMPFILE also contains O_DIRECTORY
CLONE_VM = 0x100  # a thread, or posix_spawn(3); without it a fork(2)
STANDARD_STREAMS = 2
WRITES = ("write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "copy_file_range",
          "splice", "io_submit", "fallocate", "ftruncate", "fsync", "fdatasync", "sync_file_range")
OPENS = {"openat": 2, "open": 1}  # the argument that holds the flags
OTHERS = ("creat", "truncate", "sync", "syncfs", "msync", "mkdir", "mkdirat", "rmdir", "rename",
          "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat",
          "mknod", "mknodat", "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown",
          "fchownat", "setxattr", "fsetxattr", "lsetxattr", "removexattr", "fremovexattr",
          "utimensat", "mount", "umount2", "open_tree", "move_mount", "mount_setattr", "fsopen",
          "fsconfig", "fsmount", "ioctl", "bind", "vfork", "execve")

# Requests of ioctl(2) that only look; any other counts as a change.
LOOKS = {
    0x4C05: "LOOP_GET_STATUS64", 0x4C03: "LOOP_GET_STATUS", 0x80081272: "BLKGETSIZE64",
    0x1260: "BLKGETSIZE", 0x125E: "BLKROGET", 0x1268: "BLKSSZGET", 0x127B: "BLKPBSZGET",
    0x1278: "BLKIOMIN", 0x1279: "BLKIOOPT", 0x127A: "BLKALIGNOFF", 0x127C: "BLKDISCARDZEROES",
    0x127E: "BLKROTATIONAL", 0x80081270: "BLKBSZGET", 0x5401: "TCGETS", 0x5413: "TIOCGWINSZ",
    0x301: "HDIO_GETGEO", 0x80086601: "FS_IOC_GETFLAGS", 0x8100587E: "XFS_IOC_FSGEOMETRY",
    0x80705864: "XFS_IOC_FSGEOMETRY_V1", 0x8400941F: "BTRFS_IOC_FS_INFO",
    0xD000941E: "BTRFS_IOC_DEV_INFO", 0x541B: "FIONREAD", 0x5421: "FIONBIO",
    0x80081280: "BLKGETDISKSEQ", 0x80101282: "BLKGETZONESZ", 0x80041284: "BLKGETZONESZ",
    0x80041285: "BLKGETNRZONES", 0xC020660B: "FS_IOC_FIEMAP", 0x801C581F: "FS_IOC_FSGETXATTR",
    0x5382: "SCSI_IOCTL_GET_IDLUN", 0x80280215: "IOC_OPAL_GET_STATUS", 0x5331: "CDROM_GET_CAPABILITY",
    0x5395: "CDROM_LAST_WRITTEN",
}
CHANGES = {
    0x4C0A: "LOOP_CONFIGURE", 0x4C00: "LOOP_SET_FD", 0x4C01: "LOOP_CLR_FD",
    0x4C04: "LOOP_SET_STATUS64", 0x4C07: "LOOP_SET_CAPACITY", 0x4C80: "LOOP_CTL_ADD",
    0x4C81: "LOOP_CTL_REMOVE", 0x4C82: "LOOP_CTL_GET_FREE", 0x125D: "BLKROSET",
    0x1277: "BLKDISCARD", 0x127D: "BLKSECDISCARD", 0x127F: "BLKZEROOUT", 0x1261: "BLKFLSBUF",
    0x40081271: "BLKBSZSET", 0xC0045877: "FIFREEZE", 0xC0045878: "FITHAW",
    0x40086602: "FS_IOC_SETFLAGS", 0x40086610: "EXT4_IOC_RESIZE_FS",
    0x4010586E: "XFS_IOC_FSGROWFSDATA", 0x50009403: "BTRFS_IOC_RESIZE",
    0x40049409: "FICLONE", 0x90009427: "BTRFS_IOC_DEVICES_READY", 0x50009404: "BTRFS_IOC_SCAN_DEV",
}

# Errors that a call can really return, from its manual page and from the behaviour of filesystems
# and drivers. A call without an entry can fail with EIO.
ERRORS = {
    "openat": ("EIO", "ENOSPC", "ENOMEM"),
    "write": ("EIO", "ENOSPC", "EINTR"),
    "pwrite64": ("EIO", "ENOSPC", "EINTR"),
    "fsync": ("EIO", "ENOSPC"),
    "fallocate": ("EIO", "ENOSPC", "EINTR"),
    "fsetxattr": ("EIO", "ENOSPC"),
    "ftruncate": ("EIO", "EINTR"),
    "mkdirat": ("EIO", "ENOSPC", "ENOMEM"),
    "renameat": ("EIO", "ENOSPC", "ENOMEM"),
    "bind": ("EIO", "ENOSPC"),
    "unlinkat": ("EIO", "ENOMEM", "EBUSY"),
    "mknod": ("EIO", "ENOSPC"),
    "mount": ("EIO", "ENOMEM", "EBUSY"),
    "umount2": ("ENOMEM", "EBUSY"),
    "open_tree": ("ENOMEM",),
    "move_mount": ("ENOMEM", "EBUSY"),
    "mount_setattr": ("ENOMEM", "EBUSY"),
    "ioctl": ("EIO", "ENOMEM", "EBUSY", "EINTR"),
    "ioctl FICLONE": ("EIO", "ENOSPC", "EINTR"),
    "vfork": ("ENOMEM", "EAGAIN"),
    "clone": ("ENOMEM", "EAGAIN"),
    "execve": ("EIO", "ENOMEM"),
}
OTHERWISE = ("EIO",)

# The argument that points at a path worth telling.
PATHS = {"fsetxattr": 1, "openat": 1, "open": 0, "mkdirat": 1, "renameat": 1, "unlinkat": 1,
         "mknod": 0, "mount": 0, "umount2": 0, "open_tree": 1, "execve": 0, "unlink": 0, "mkdir": 0, "rename": 0}
ALL_ERRORS = sorted({error for errors in (*ERRORS.values(), OTHERWISE) for error in errors})


def trapped():
    """(name, condition) pairs for the filter; conditions are arguments of seccomp.Arg."""
    for name in WRITES:
        yield name, [(0, seccomp.GT, STANDARD_STREAMS)]
    for name, argument in OPENS.items():
        for flag in (os.O_CREAT, os.O_TRUNC, O_TMPFILE_ALONE):
            yield name, [(argument, seccomp.MASKED_EQ, flag, flag)]
    yield "clone", [(0, seccomp.MASKED_EQ, CLONE_VM, 0)]
    for name in OTHERS:
        yield name, []


def number_to_name():
    native = seccomp.Arch()
    names = {name for name, _ in trapped()}
    return {seccomp.resolve_syscall(native, name): name for name in names}


def errors_of(call):
    """`call` is a name, perhaps with what it is about."""
    return ERRORS.get(call, ERRORS.get(call.split()[0], OTHERWISE))
