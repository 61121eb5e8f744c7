# SPDX-License-Identifier: Apache-2.0
"""A program that writes to several volumes in one order, to be found again in their snapshots."""

import concurrent.futures
import contextlib
import itertools
import os
import struct

RECORD = struct.Struct("<Q504x")
MOST = 1 << 20  # bytes of numbers that are looked at


@contextlib.contextmanager
def appending(*logs):
    """Meanwhile numbers are appended to the files or devices in turn, each durably before the next
    one. The files are there from the beginning."""
    ended = []
    files = [os.open(log, os.O_WRONLY | (0 if log.is_block_device() else os.O_CREAT), 0o600)
             for log in logs]

    def write():
        try:
            for number in itertools.count(1):
                for file in files:
                    os.pwrite(file, RECORD.pack(number), (number - 1) * RECORD.size)
                    os.fsync(file)
                if ended:
                    return
        finally:
            for file in files:
                os.close(file)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        writer = pool.submit(write)
        try:
            yield
        finally:
            ended.append(True)
        writer.result()


def count(log):
    """How many numbers it has; none before the last one is missing."""
    with open(log, "rb") as file:
        data = file.read(MOST)
    numbers = [number for (number,) in RECORD.iter_unpack(data) if number]
    assert numbers == list(range(1, len(numbers) + 1)), f"a number is missing in {log}"
    return len(numbers)


def check_in_order(counts):
    """The counts of the logs in the order in which they are written are of one instant."""
    first, last = counts[0], counts[-1]
    assert sorted(counts, reverse=True) == list(counts), f"cut apart: {counts}"
    assert first - last <= 1, f"cut apart: {counts}"
