# SPDX-License-Identifier: Apache-2.0
"""/proc/self/mountinfo, see proc(5)."""

import dataclasses
import pathlib
import re


@dataclasses.dataclass(frozen=True)
class Mount:
    device: str  # major:minor
    root: str
    point: str
    options: str
    filesystem: str
    source: str


def unescape(text):
    return re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), text)


def read():
    mounts = []
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        words = line.split()
        separator = words.index("-")
        mounts.append(Mount(words[2], unescape(words[3]), unescape(words[4]), words[5],
                            words[separator + 1], unescape(words[separator + 2])))
    return mounts


def mounts_at(path):
    """Every mount at a path, the visible one last."""
    return [mount for mount in read() if mount.point == str(path)]


def is_mount_point(path):
    return bool(mounts_at(path))


def other_mounts_of(path):
    """Other mounts of the filesystem that is mounted at a path: kubelet's GetDeviceMountRefs."""
    own = {(mount.device, mount.root) for mount in mounts_at(path)}
    return [mount for mount in read()
            if (mount.device, mount.root) in own and mount.point != str(path)]
