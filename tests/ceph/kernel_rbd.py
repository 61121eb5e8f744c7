# SPDX-License-Identifier: Apache-2.0
"""A fake of the kernel's rbd in sysfs, mounted over /sys/bus of this mount namespace, for kernels
without rbd. Its devices are loop devices, so that a driver can format and mount them."""

import fcntl
import os
import pathlib
import re
import shutil
import subprocess

FEATURES = "0x3f"  # that the module of Debian 12 knows, of those that images here have
FIRST_INDEX = 7400  # of /dev/rbdN, which no other test has


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout.strip()


# linux/loop.h: two calls, and the position of the label in their argument.
LOOP_SET_STATUS64, LOOP_GET_STATUS64 = 0x4C04, 0x4C05
STATUS_SIZE, LABEL_AT, LABEL_SIZE = 232, 56, 64


def label(loop, image):
    """Makes the driver find the image's volume behind a device that is really a loop device."""
    text = f"holdfast:{re.search('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', image)[0]}:kernel"
    with open(loop, "rb") as device:
        status = bytearray(STATUS_SIZE)
        fcntl.ioctl(device, LOOP_GET_STATUS64, status)
        status[LABEL_AT:LABEL_AT + LABEL_SIZE] = text.encode().ljust(LABEL_SIZE, b"\0")
        fcntl.ioctl(device, LOOP_SET_STATUS64, status)


class KernelRbd:
    def __init__(self, directory, ceph):
        self.ceph = ceph
        self.bus = directory / "bus"
        self.devices = self.bus / "rbd" / "devices"
        self.backing = directory / "rbd-backing"
        self.loops = {}  # by index
        self.devices.mkdir(parents=True)
        self.backing.mkdir()
        (self.bus / "rbd" / "supported_features").write_text(FEATURES)
        for name in ("add_single_major", "remove_single_major"):
            (self.bus / "rbd" / name).write_text("")
        run("mount", "--bind", self.bus, "/sys/bus")

    def show(self, image, client_address, node=True):
        """A device of that image, whose kernel client has that address; returns its index. Without
        a node the host has it, and this container's /dev does not."""
        index = FIRST_INDEX + len(self.loops)
        info = self.ceph.image_info(image)
        path = self.backing / str(index)
        with path.open("wb") as file:
            file.truncate(info["size"])
        loop = run("losetup", "--find", "--show", path)
        if image.startswith("holdfast-"):
            label(loop, image)
        self.loops[index] = loop
        number = os.stat(loop).st_rdev
        if node:
            os.mknod(f"/dev/rbd{index}", 0o60600, number)
        shown = self.devices / str(index)
        shown.mkdir()
        values = {"name": image, "pool": "rbd", "pool_ns": "", "current_snap": "-",
                  "cluster_fsid": self.ceph.cluster_id(), "pool_id": self.ceph.pool_id(),
                  "image_id": info["id"], "client_addr": client_address,
                  "major": os.major(number), "minor": os.minor(number), "refresh": ""}
        for name, value in values.items():
            (shown / name).write_text(f"{value}\n")
        return index

    def hide(self, index):
        shutil.rmtree(self.devices / str(index), ignore_errors=True)
        node = pathlib.Path(f"/dev/rbd{index}")
        if node.exists():
            node.unlink()
        loop = self.loops.pop(index, None)
        if loop:
            run("losetup", "--detach", loop)

    def unmapped(self):
        """The index that the driver asked the kernel to unmap last, or None."""
        found = re.findall(r"\d+", (self.bus / "rbd" / "remove_single_major").read_text())
        return int(found[-1]) if found else None

    def end(self):
        for index in list(self.loops):
            self.hide(index)
        run("umount", "/sys/bus")
