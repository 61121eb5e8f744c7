"""Files with random content whose checksum is acknowledged only when they are on the disk."""

import hashlib
import os

CHUNK = 1 << 20


def write(path, chunks=1, durable=True):
    """Writes `chunks` MiB, flushes file and directory if `durable`, and returns the SHA-256."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for _ in range(chunks):
            data = os.urandom(CHUNK)
            digest.update(data)
            file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    if durable:
        flush_directory(path.parent)
    return digest.hexdigest()


def overwrite(path, chunk):
    """Writes and flushes one MiB of a device, at so many; returns the SHA-256."""
    data = os.urandom(CHUNK)
    with path.open("r+b", buffering=0) as device:
        device.seek(chunk * CHUNK)
        written = device.write(data)
        assert written == CHUNK, f"{written} bytes written"
        os.fsync(device.fileno())
    return hashlib.sha256(data).hexdigest()


def chunk_checksum(path, chunk):
    with path.open("rb") as device:
        device.seek(chunk * CHUNK)
        return hashlib.sha256(device.read(CHUNK)).hexdigest()


def flush_directory(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def checksum(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
