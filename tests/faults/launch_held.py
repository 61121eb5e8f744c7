# SPDX-License-Identifier: Apache-2.0
"""Becomes another program, and holds its accesses to paths and filesystems until they are released.

    launch_held.py SOCKET PROGRAM [ARGUMENT...]

The listener of the filter is sent over the Unix socket to the process that releases calls
(hung_pool.Holder)."""

import os
import socket
import sys

import seccomp


def main():
    place, program = sys.argv[1], sys.argv[2:]
    with socket.socket(socket.AF_UNIX) as supervisor:
        supervisor.connect(place)
        held = seccomp.SyscallFilter(seccomp.ALLOW)
        held.set_attr(seccomp.Attr.CTL_NNP, 0)
        held.add_rule(seccomp.NOTIFY, "newfstatat")
        held.load()
        socket.send_fds(supervisor, [b"listener"], [held.get_notify_fd()])
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
