# SPDX-License-Identifier: Apache-2.0
"""A directory as kubelet's is: what is mounted in it reaches other mount name spaces."""

import contextlib
import subprocess


@contextlib.contextmanager
def shared(directory):
    subprocess.run(["mount", "--bind", directory, directory], check=True)
    try:
        subprocess.run(["mount", "--make-shared", directory], check=True)
        yield
    finally:
        subprocess.run(["umount", directory], check=True)
