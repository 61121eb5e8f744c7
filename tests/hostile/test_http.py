# SPDX-License-Identifier: Apache-2.0
"""Peers that reach the health and metrics port: their bytes, time and connections are bounded, and
health is answered in the meantime."""

import contextlib
import pathlib
import re
import socket
import threading
import time

import driver_fixtures
import pytest
from driver import Driver
from link_files import free_port
from observed import get

CONNECTIONS = 1000  # of each kind in turn, together
MIB = 1 << 20
SECONDS = 60
MANY_MIB = 150
MORE_MEMORY = 24 * MIB
REQUEST = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
HEADER = b"X-Filler: " + b"y" * 7000 + b"\r\n"


@pytest.fixture
def observed(directory):
    driver = Driver(driver_fixtures.binary(), directory)
    driver.port = free_port()
    driver.server.command += [f"--health-address=127.0.0.1:{driver.port}",
                              f"--metrics-address=127.0.0.1:{driver.port}"]
    driver.start()
    yield driver
    assert driver.server.stop() is None


def memory(driver):
    status = pathlib.Path(f"/proc/{driver.server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024


def silent():
    while True:
        yield b""


def dripping():
    yield b"GET /healthz HTTP/1.1\r\n"
    while True:
        yield b"X"


def endless_headers():
    yield b"GET /metrics HTTP/1.1\r\n"
    while True:
        yield HEADER


def many_requests():
    while True:
        yield REQUEST * 50


def endless_body():
    yield b"POST /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"1000\r\n" + b"z" * 0x1000 + b"\r\n"


KINDS = {"silent": silent, "dripping": dripping, "endless headers": endless_headers,
         "many requests": many_requests, "endless body": endless_body}


class Peer:
    def __init__(self, port, kind):
        self.port, self.kind = port, kind
        self.socket = None

    def connect(self):
        self.close()
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.connect_ex(("127.0.0.1", self.port))
        self.bytes = self.kind()

    def send(self):
        """Sends its next piece, from the start on a new connection if the old one is over."""
        try:
            self.socket.send(next(self.bytes))
        except BlockingIOError:
            pass
        except OSError:
            self.connect()

    def close(self):
        if self.socket:
            self.socket.close()


@contextlib.contextmanager
def attack(port, kinds):
    """CONNECTIONS peers. Each sends a piece in each round, and connects again when it is
    disconnected."""
    peers = [Peer(port, kinds[number % len(kinds)]) for number in range(CONNECTIONS)]
    over, begun = threading.Event(), threading.Event()

    def run():
        for peer in peers:
            peer.connect()
        begun.set()
        while not over.wait(0.2):
            for peer in peers:
                peer.send()

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(SECONDS)
    try:
        yield
    finally:
        over.set()
        thread.join()
        for peer in peers:
            peer.close()


@pytest.mark.parametrize("name", [*KINDS, "all of them"])
def test_health_is_answered_among_a_thousand_hostile_connections(observed, name):
    get(observed.port, "/metrics")
    before = memory(observed)
    with attack(observed.port, list(KINDS.values()) if name == "all of them" else [KINDS[name]]):
        took = []
        for _ in range(20):
            start = time.monotonic()
            assert get(observed.port, "/healthz") == (200, "ok\n")
            took.append(time.monotonic() - start)
            assert get(observed.port, "/metrics")[0] == 200
        assert observed.call("Probe").ready.value
    print(f"{name}: healthz within {max(took) * 1000:.0f} ms, "
          f"memory {before >> 10} -> {memory(observed) >> 10} KiB")
    assert memory(observed) < before + MORE_MEMORY


def test_headers_without_end(observed):
    """A peer that sends more than a few KiB is disconnected."""
    before = memory(observed)
    sent = 0
    with socket.create_connection(("127.0.0.1", observed.port), timeout=SECONDS) as peer:
        peer.sendall(b"GET /metrics HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionError):
            while sent < MANY_MIB * MIB:
                peer.sendall(HEADER)
                sent += len(HEADER)
    assert sent < MANY_MIB * MIB
    assert memory(observed) < before + MORE_MEMORY


def answer_to(port, data):
    """The status line and the body; empty if the connection is closed without an answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as peer:
        peer.sendall(data)
        with contextlib.suppress(OSError):  # it may have been answered and closed by now
            peer.shutdown(socket.SHUT_WR)
        received = b""
        with contextlib.suppress(ConnectionError):
            while piece := peer.recv(1 << 16):
                received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    return head.partition(b"\r\n")[0].decode(), body.decode()


def test_what_is_no_request(observed):
    port = observed.port
    assert answer_to(port, b"GET /healthz HTTP/1.1\r\n\r\n") == ("HTTP/1.1 200 OK", "ok\n")
    assert answer_to(port, b"HEAD /healthz HTTP/1.1\r\n\r\n") == ("HTTP/1.1 200 OK", "")
    assert answer_to(port, b"GET /healthz?verbose HTTP/1.0\r\n\r\n") == ("HTTP/1.1 200 OK", "ok\n")
    assert answer_to(port, b"GET /nothing HTTP/1.1\r\n\r\n")[0].startswith("HTTP/1.1 404 ")
    assert answer_to(port, b"DELETE /healthz HTTP/1.1\r\n\r\n")[0].startswith("HTTP/1.1 405 ")
    assert answer_to(port, b"nonsense\r\n\r\n")[0].startswith("HTTP/1.1 400 ")
    assert answer_to(port, b"GET /healthz HTTP/1.1\r\n" + HEADER + b"\r\n")[0].startswith(
        "HTTP/1.1 431 ")
    assert answer_to(port, b"GET /healthz HT") == ("", "")
    one = b"GET /healthz HTTP/1.1\r\n\r\n"
    assert answer_to(port, one * 3)[0] in ("HTTP/1.1 200 OK", "")
