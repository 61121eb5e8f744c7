# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition instead of a time."""

import time

SECONDS = 60


def until(condition, what, seconds=SECONDS):
    """Waits until the condition holds, and returns its result."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)
    return value
