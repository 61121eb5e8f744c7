# SPDX-License-Identifier: Apache-2.0
"""Decides over every changing system call of a driver and its children, in the order they come.

The kernel (seccomp_unotify(2)) holds each call until it is answered here. strace could inject the
same faults, but it counts for each thread and each call apart, slows all other calls down, cannot
kill the driver at a call of its child, and cannot hold a call until a caller has given up.
"""

import dataclasses
import errno
import fcntl
import os
import pathlib
import re
import select
import signal
import struct
import threading

import system_calls

# linux/seccomp.h
NOTIF = struct.Struct("=QII iIQ 6Q")
RESPONSE = struct.Struct("=Qqi I")
RECEIVE = 0xC0502100
SEND = 0xC0182101
GO_ON = 1  # SECCOMP_USER_NOTIF_FLAG_CONTINUE
LONGEST_PATH = 512
ADDRESS_FAMILY = 2  # bytes before the path of a sockaddr_un
POLL_MILLISECONDS = 1000

NAMES = system_calls.number_to_name()


@dataclasses.dataclass(frozen=True)
class Point:
    """One changing system call."""
    name: str
    detail: str
    program: str  # empty: the driver itself

    def __str__(self):
        return f"{self.program + ': ' if self.program else ''}{self.name} {self.detail}".rstrip()


@dataclasses.dataclass(frozen=True)
class Fault:
    """The fault at the `at`-th changing call, counted from 1, or at the `nth` call with that
    text."""
    at: int | str = 0
    # kill: the driver; kill-child; kill-all: the driver and its children, as a container ends;
    # stop: the driver (SIGSTOP); hold; or the name of an error
    action: str = "none"
    nth: int = 1

    def strikes(self, points):
        """Whether at the last of these."""
        if self.action == "kill-child" and not points[-1].program:
            return False
        if isinstance(self.at, int):
            return self.at == len(points)
        texts = [str(point) for point in points]
        return texts[-1] == self.at and texts.count(self.at) == self.nth


class Trap:
    """Thread-safe. `driver` is a process id; calls that are not watched pass. The programs that the
    driver starts are added to `programs`."""

    def __init__(self, listener, driver, programs, fault=None):
        self.listener, self.driver = listener, driver
        self.lock = threading.Lock()
        self.programs = programs
        self.watched, self.points, self.fault, self.struck = False, [], Fault(), None
        self.held = None
        self.holding, self.settled = threading.Event(), threading.Event()
        if fault:
            self.watch(fault)
        self.thread = threading.Thread(target=self.answer_all, daemon=True)
        self.thread.start()

    def watch(self, fault):
        """From now on the calls are counted, and one of them meets the fault."""
        with self.lock:
            self.watched, self.points, self.fault, self.struck = True, [], fault, None
            self.holding.clear()

    def end_watch(self):
        """Returns the calls that were made, and that which met the fault, or None."""
        with self.lock:
            self.watched = False
        self.let_go()
        return self.points, self.struck

    def has_struck(self):
        """Whether the fault has been met since watch()."""
        with self.lock:
            return self.watched and self.struck is not None

    def let_go(self):
        """Lets the held call continue."""
        with self.lock:
            held, self.held = self.held, None
        if held:
            self.respond(held, flags=GO_ON)

    def stop(self, identifier):
        """The signal interrupts the driver's own call, which comes again when it continues."""
        os.kill(self.driver, signal.SIGSTOP)
        if self.struck.program:
            self.respond(identifier, flags=GO_ON)
        self.holding.set()

    def close(self):
        """Call when the driver has ended."""
        self.thread.join()
        os.close(self.listener)

    # The thread.

    def answer_all(self):
        poller = select.poll()
        poller.register(self.listener, select.POLLIN)
        while True:
            for _, events in poller.poll(POLL_MILLISECONDS):
                if events & select.POLLIN:
                    self.answer_one()
                elif events & select.POLLHUP:  # no process is left under the filter
                    return

    def answer_one(self):
        buffer = bytearray(NOTIF.size)
        try:
            fcntl.ioctl(self.listener, RECEIVE, buffer)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):  # killed meanwhile
                return
            raise
        identifier, thread, _, number, _, _, *arguments = NOTIF.unpack(buffer)
        name = NAMES[number]
        action = self.decide(identifier, thread, name, arguments)
        if action == "none":
            self.respond(identifier, flags=GO_ON)
        elif action in ("kill", "kill-child"):
            victim = self.driver if action == "kill" else thread
            os.kill(victim, signal.SIGKILL)
        elif action == "kill-all":
            # Its death is a sign for its children, so they come first.
            for victim in (*children_of(self.driver), self.driver):
                os.kill(victim, signal.SIGKILL)
        elif action == "stop":
            self.stop(identifier)
        elif action != "hold":
            self.respond(identifier, error=-getattr(errno, action))

    def decide(self, identifier, thread, name, arguments):
        with self.lock:
            if name == "execve" and thread != self.driver:
                self.programs.append(text_at(thread, arguments[0]))
            if not self.watched:
                return "none"
            point = self.describe(thread, name, arguments)
            if point is None:
                return "none"
            self.points.append(point)
            if self.struck or not self.fault.strikes(self.points):
                return "none"
            self.struck = point
            if self.fault.action == "hold":
                self.held = identifier
                self.holding.set()
            return self.fault.action

    def describe(self, thread, name, arguments):
        """The call as a point, or None if it changes nothing."""
        own = os.path.exists(f"/proc/{self.driver}/task/{thread}")
        detail = ""
        if name in system_calls.WRITES:
            detail = path_of_descriptor(thread, arguments[0])
            if not detail.startswith("/") or detail == "/dev/null":
                return None  # a pipe, a socket, an event counter
        elif name == "ioctl":
            request = arguments[1] & 0xFFFFFFFF
            if request in system_calls.LOOKS:
                return None
            detail = system_calls.CHANGES.get(request, hex(request))
        elif name == "bind":
            detail = text_at(thread, arguments[1] + ADDRESS_FAMILY)
            if not detail.startswith("/"):
                return None  # only a Unix socket has a name in a filesystem
        elif name in system_calls.PATHS:
            detail = text_at(thread, arguments[system_calls.PATHS[name]])
        if name == "execve" and thread == self.driver:
            return None  # the driver's own start
        program = "" if own else "child" if name == "execve" else program_of(thread)
        return Point(name, without_numbers(detail.rpartition("/")[2]), program)

    def respond(self, identifier, error=0, flags=0):
        try:
            fcntl.ioctl(self.listener, SEND, RESPONSE.pack(identifier, 0, error, flags))
        except OSError as problem:
            if problem.errno != errno.ENOENT:  # killed meanwhile
                raise


def without_numbers(text):
    """The same text whatever the number of the loop device and the id of the volume."""
    text = re.sub(r"^loop\d+$", "loop device", text)
    text = re.sub(r"^.*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.\d{8}T\d{6}Z)?", "volume", text)
    return re.sub(r"^#\d+.*", "unnamed file", text)


def program_of(thread):
    try:
        return pathlib.Path(f"/proc/{thread}/comm").read_text().strip()
    except OSError:
        return "?"


def children_of(parent):
    tasks = pathlib.Path(f"/proc/{parent}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def path_of_descriptor(thread, descriptor):
    try:
        return os.readlink(f"/proc/{thread}/fd/{descriptor}")
    except OSError:
        return ""


def text_at(thread, address):
    """The string at an address of a process."""
    try:
        with open(f"/proc/{thread}/mem", "rb", buffering=0) as memory:
            text = os.pread(memory.fileno(), LONGEST_PATH, address)
            return text.partition(b"\0")[0].decode(errors="replace")
    except OSError:
        return "?"
