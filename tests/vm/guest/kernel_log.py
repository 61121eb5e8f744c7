"""The kernel's complaints, which no scenario may cause, not even by a power cut."""

import os
import re

TROUBLE = re.compile(r"BUG:|WARNING: CPU|Oops|I/O error|EXT4-fs error|XFS .*[Cc]orrupt"
                     r"|BTRFS (error|critical)|hung task|blocked for more than")
_excused = []


def excuse(words):
    """From now on, messages that match do not count."""
    _excused.append(re.compile(words))


def assert_content():
    found = [line for line in messages() if TROUBLE.search(line)
             and not any(words.search(line) for words in _excused)]
    assert not found, f"the kernel complained: {found}"


def messages():
    descriptor = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            yield os.read(descriptor, 8192).decode(errors="replace")
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)
