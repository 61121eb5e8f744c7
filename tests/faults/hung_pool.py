# SPDX-License-Identifier: Apache-2.0
"""A pool that does not answer: each access to its directory is held (seccomp_unotify(2)), as by a
disk that answers no read. A frozen filesystem would hold only writes."""

import errno
import fcntl
import os
import pathlib
import select
import socket
import struct
import sys
import threading

import driver as driver_module
import driver_fixtures
import link_files

LAUNCHER = pathlib.Path(__file__).resolve().parent / "launch_held.py"
SECONDS = 60
# linux/seccomp.h
NOTIF = struct.Struct("=QII iIQ 6Q")
RESPONSE = struct.Struct("=Qqi I")
RECEIVE = 0xC0502100
SEND = 0xC0182101
GO_ON = 1  # SECCOMP_USER_NOTIF_FLAG_CONTINUE
LONGEST_PATH = 512
POLL_MILLISECONDS = 200


class Holder:
    def __init__(self, listener, path):
        self.listener, self.path = listener, os.fsencode(path)
        self.lock = threading.Lock()
        self.is_on, self.held = False, []
        self.holding = threading.Event()
        self.thread = threading.Thread(target=self.answer_all, daemon=True)
        self.thread.start()

    def hold(self):
        with self.lock:
            self.is_on = True

    def wait_until_holding(self):
        assert self.holding.wait(SECONDS), "nobody has looked at the pool"

    def let_go(self):
        with self.lock:
            self.is_on, held, self.held = False, self.held, []
        for identifier in held:
            self.go_on(identifier)

    def answer_all(self):
        poller = select.poll()
        poller.register(self.listener, select.POLLIN)
        while True:
            for _, events in poller.poll(POLL_MILLISECONDS):
                if events & select.POLLIN:
                    self.answer_one()
                elif events & select.POLLHUP:  # no process is left under the filter
                    os.close(self.listener)
                    return

    def answer_one(self):
        buffer = bytearray(NOTIF.size)
        try:
            fcntl.ioctl(self.listener, RECEIVE, buffer)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):
                return
            raise
        identifier, thread, _, _, _, _, *arguments = NOTIF.unpack(buffer)
        with self.lock:
            if self.is_on and text_at(thread, arguments[1]) == self.path:
                self.held.append(identifier)
                self.holding.set()
                return
        self.go_on(identifier)

    def go_on(self, identifier):
        try:
            fcntl.ioctl(self.listener, SEND, RESPONSE.pack(identifier, 0, 0, GO_ON))
        except OSError as problem:
            if problem.errno not in (errno.ENOENT, errno.EBADF):  # ended meanwhile
                raise


def text_at(thread, address):
    try:
        with open(f"/proc/{thread}/mem", "rb", buffering=0) as memory:
            return os.pread(memory.fileno(), LONGEST_PATH, address).partition(b"\0")[0]
    except OSError:
        return b""


class HeldPools(driver_module.Driver):
    """The pools `default`, which can be held, and `second`; health and metrics at `port`."""

    def __init__(self, directory):
        super().__init__(driver_fixtures.binary(), directory)
        self.port, self.holder = link_files.free_port(), None
        second = directory / "second"
        second.mkdir()
        self.place = str(directory / "holder.sock")
        self.server.command = [
            sys.executable, "-B", str(LAUNCHER), self.place, *map(str, self.server.command),
            f"--pool=second=file:{second}", f"--health-address=127.0.0.1:{self.port}",
            f"--metrics-address=127.0.0.1:{self.port}"]

    def start(self):
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(self.place)
            door.listen()
            door.settimeout(SECONDS)
            self.server.launch()
            connection, _ = door.accept()
        with connection:
            _, (listener,), _, _ = socket.recv_fds(connection, 16, 1)
        self.holder = Holder(listener, self.pool)
        assert self.server.wait_until_listening() is None, self.log()
        while not self.is_ready():
            pass
        return self
