# SPDX-License-Identifier: Apache-2.0
"""Unauthenticated peers at the link's port: thousands of connections on loopback, each up to a
certain step.

As a program: KIND COUNT SOURCE PORT TLS_DIRECTORY. Opens COUNT connections and holds them, says
"opened", and keeps replacing the oldest by new ones until its input ends, for ten minutes at most.
"""

import collections
import contextlib
import itertools
import pathlib
import select
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

WORKERS = 8
LONGEST_SECONDS = 600
STEP_SECONDS = 5  # for a handshake, or for a peer to wait

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, WINDOW_UPDATE = 0, 1, 4, 8
END_HEADERS = 4
FIRST_WINDOW = 65535
PATH = "/holdfast.link.v1.Link/Connect"
HUGE = 64 << 20


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name, value):
    return b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def request(stream):
    """The headers that begin a call."""
    fields = ((":method", "POST"), (":scheme", "https"), (":path", PATH),
              (":authority", "localhost"), ("content-type", "application/grpc"),
              ("te", "trailers"))
    return frame(HEADERS, END_HEADERS, stream, b"".join(literal(*field) for field in fields))


def submessage(number, content):
    size = len(content)
    varint = b""
    while size > 127:
        varint += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + varint + bytes([size]) + content


def register_of_empty_pools(size):
    """A Register of that many bytes, two for each pool."""
    return submessage(1, submessage(5, b"\x0a\x00" * (size // 2)))


def message(content, claimed=None):
    return struct.pack(">BI", 0, len(content) if claimed is None else claimed) + content


class Flood:
    """Each kind is a method that brings a connection to where it stays."""

    def __init__(self, source, port, tls):
        self.source = source
        self.port = port
        self.context = ssl.create_default_context(cafile=tls / "ca.crt")
        self.context.load_cert_chain(tls / "tls.crt", tls / "tls.key")
        self.context.set_alpn_protocols(["h2"])
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        hello = self.context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        with contextlib.suppress(ssl.SSLWantReadError):
            hello.do_handshake()
        self.hello_bytes = outgoing.read()

    def silent(self):
        connection = socket.socket()
        # Closed by a reset: thousands of ports would else stay in TIME_WAIT.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.settimeout(STEP_SECONDS)
        connection.bind((self.source, 0))
        connection.connect(("127.0.0.1", self.port))
        return connection

    def hello(self):
        connection = self.silent()
        connection.sendall(self.hello_bytes)
        return connection

    def handshake(self):
        connection = self.context.wrap_socket(self.silent(), server_hostname="localhost")
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0))
        return connection

    def stream(self):
        connection = self.handshake()
        connection.sendall(request(1))
        return connection

    def half_message(self):
        return self.push(message(b"\x0a", claimed=HUGE) + bytes(HUGE // 8))

    def many_streams(self):
        connection = self.handshake()
        with contextlib.suppress(OSError):
            for number in range(1, 1000, 2):
                connection.sendall(request(number))
        return connection

    def large_register(self):
        return self.push(message(register_of_empty_pools(4_000_000)))

    def small_register(self):
        return self.push(message(register_of_empty_pools(60_000)))

    def push(self, content):
        """Sends as much of it as the other end's windows allow."""
        connection = self.stream()
        windows = {0: FIRST_WINDOW, 1: FIRST_WINDOW}
        received = b""
        sent = 0
        with contextlib.suppress(OSError):
            while sent < len(content):
                room = min(16384, *windows.values(), len(content) - sent)
                if room > 0:
                    connection.sendall(frame(DATA, 0, 1, content[sent:sent + room]))
                    sent += room
                    windows[0] -= room
                    windows[1] -= room
                elif not connection.pending() and not is_readable(connection):
                    break
                else:
                    if not (more := connection.recv(16384)):
                        break
                    received = take_windows(received + more, windows)
        return connection


def is_readable(connection):
    """Within a second. Not by select(), which knows no descriptor above 1023."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(1000))


def take_windows(received, windows):
    """Adds the credit that WINDOW_UPDATE and SETTINGS frames grant; returns the remaining bytes."""
    while len(received) >= 9:
        size = int.from_bytes(received[:3], "big")
        if len(received) < 9 + size:
            break
        kind, stream = received[3], int.from_bytes(received[5:9], "big")
        payload, received = received[9:9 + size], received[9 + size:]
        if kind == WINDOW_UPDATE and stream in windows:
            windows[stream] += int.from_bytes(payload, "big")
    return received


def work(flood, kind, held, opened, deadline):
    while time.monotonic() < deadline:
        try:
            held.append(getattr(flood, kind)())
        except OSError:  # it was turned away
            time.sleep(0.001)
        next(opened)
        while len(held) > held.maxlen - 2 * WORKERS:
            held.popleft().close()


def main(kind, count, source, port, tls):
    flood = Flood(source, int(port), pathlib.Path(tls))
    count = int(count)
    held = collections.deque(maxlen=count + 2 * WORKERS)
    opened = itertools.count()
    deadline = time.monotonic() + LONGEST_SECONDS
    for _ in range(WORKERS):
        threading.Thread(target=work, args=(flood, kind, held, opened, deadline),
                         daemon=True).start()
    while int(repr(opened)[6:-1]) < count and time.monotonic() < deadline:
        if select.select([sys.stdin], [], [], 0.05)[0]:
            return
    print("opened", flush=True)
    select.select([sys.stdin], [], [], max(0, deadline - time.monotonic()))


@contextlib.contextmanager
def flooding(kind, count, port, tls, source="127.0.0.2"):
    """A flood that lasts as long as the context; it begins when `count` were opened."""
    with subprocess.Popen([sys.executable, "-B", __file__, kind, str(count), source, str(port),
                           str(tls)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"opened\n"
            yield process
            assert process.poll() is None, "the flood ended too early"
        finally:
            process.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
