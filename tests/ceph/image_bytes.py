# SPDX-License-Identifier: Apache-2.0
"""The bytes of images, written and read without a device of the kernel."""

import hashlib
import os
import subprocess
import tempfile


def write(ceph, image, size, directory):
    """Puts random bytes in the place of the image's first ones, and returns them."""
    data = os.urandom(size)
    change(ceph, image, [(0, data)], directory)
    return data


def change(ceph, image, changes, directory):
    """Writes bytes at offsets, in ascending order; of a number so many bytes are discarded."""
    with tempfile.NamedTemporaryFile(dir=directory) as diff:  # the image stays the same one
        diff.write(diff_of(ceph.image_bytes(image), changes))
        diff.flush()
        ceph.rbd("import-diff", "--no-progress", diff.name, f"rbd/{image}")


def diff_of(image_size, changes):
    """As librbd's documentation of the format has it (doc/dev/rbd-diff.rst)."""
    def number(value):
        return value.to_bytes(8, "little")

    def part(offset, what):
        if isinstance(what, int):
            return b"z" + number(offset) + number(what)
        return b"w" + number(offset) + number(len(what)) + what
    return (b"rbd diff v1\n" + b"s" + number(image_size)
            + b"".join(part(*one) for one in changes) + b"e")


def read(ceph, name):
    """All bytes of an image, or of a snapshot of one."""
    command = ["rbd", "-c", str(ceph.configuration), "export", "--no-progress", f"rbd/{name}", "-"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def checksum(ceph, name):
    return hashlib.sha256(read(ceph, name)).hexdigest()
