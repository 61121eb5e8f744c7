# SPDX-License-Identifier: Apache-2.0
"""Bytes that a test writes and compares."""

import errno
import hashlib
import os

CHUNK = 1 << 20


def write(path, size=4 * CHUNK, offset=0):
    """Writes random bytes to a file or device, durably, and returns their checksum."""
    data = os.urandom(size)
    descriptor = os.open(path, os.O_WRONLY | (0 if path.is_block_device() else os.O_CREAT), 0o600)
    try:
        os.pwrite(descriptor, data, offset)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return hashlib.sha256(data).hexdigest()


def checksum(path, size=None, offset=0):
    """The checksum of a file or device, or of `size` bytes of it."""
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        file.seek(offset)
        left = size
        while left is None or left > 0:
            chunk = file.read(CHUNK if left is None else min(CHUNK, left))
            if not chunk:
                break
            digest.update(chunk)
            left = None if left is None else left - len(chunk)
    return digest.hexdigest()


def fingerprint(path):
    """A checksum of a file's size and of all its bytes, quick for sparse files: zeros count alike
    whether they are stored or not."""
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(f"{size}".encode())
        offset = 0
        while offset < size:
            try:
                data = os.lseek(file.fileno(), offset, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # only a hole remains
                    break
                raise
            offset = data - data % CHUNK
            chunk = os.pread(file.fileno(), CHUNK, offset)
            if chunk.count(0) != len(chunk):
                digest.update(f" {offset} ".encode() + chunk)
            offset += CHUNK
    return digest.hexdigest()
