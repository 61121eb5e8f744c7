# SPDX-License-Identifier: Apache-2.0
"""Becomes another program, and holds each of its state-changing system calls until it is released.

    launch_trapped.py SOCKET PROGRAM [ARGUMENT...]

The listener of the filter is sent over the Unix socket to the process that releases calls
(trap.Trap). Children inherit the filter."""

import os
import socket
import sys

import seccomp

import system_calls


def install_filter():
    """Returns the listener's descriptor. A filter applies to its own process at once, so from here
    on no trapped call may be made before the listener has been sent."""
    trapped = seccomp.SyscallFilter(seccomp.ALLOW)
    trapped.set_attr(seccomp.Attr.CTL_NNP, 0)  # otherwise programs would lose privileges at execve
    for name, condition in system_calls.trapped():
        trapped.add_rule(seccomp.NOTIFY, name, *[seccomp.Arg(*part) for part in condition])
    trapped.load()
    return trapped.get_notify_fd()


def main():
    place, program = sys.argv[1], sys.argv[2:]
    with socket.socket(socket.AF_UNIX) as supervisor:
        supervisor.connect(place)
        listener = install_filter()
        socket.send_fds(supervisor, [b"listener"], [listener])
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
