# SPDX-License-Identifier: Apache-2.0
"""The mount namespace of a test run, so that the host sees none of its mounts."""

import os
import sys

INSIDE = "--in-namespace"


def what_the_host_lacks():
    """Returns why mounts and loop devices cannot be used here, with the remedy; or None."""
    if os.geteuid() != 0:
        return "mounts and loop devices need root: run as root"
    if not os.path.exists("/dev/loop-control"):
        return "/dev/loop-control is missing: modprobe loop, or use a machine with loop devices"
    return None


def enter(script):
    """Runs the script again, with the same arguments and INSIDE, in a new namespace."""
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable,
                          os.path.abspath(script), *sys.argv[1:], INSIDE])
