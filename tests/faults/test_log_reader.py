# SPDX-License-Identifier: Apache-2.0
"""The log's reader stops reading: no call waits for it, and the log lines are there later."""

import fcntl
import json
import os
import subprocess
import threading

import grpc
import pytest

import csi_client
import driver as driver_module
import driver_fixtures
import frozen
import serve

F_SETPIPE_SZ = 1031
PIPE_BYTES = 4096
CALL_SECONDS = 10
CALLS = 400
MANY_CALLS = 6000
UNKNOWN = "x" * 120  # never created by Holdfast, so its deletion succeeds at once


class Server(serve.Server):
    """Its log is written to a pipe, `log_end`."""

    def launch(self):
        self.log_end, end = os.pipe()
        fcntl.fcntl(end, F_SETPIPE_SZ, PIPE_BYTES)
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=end,
            cwd=self.directory, start_new_session=True)
        os.close(end)


class Reader:
    """Reads the log to its end from now on."""

    def __init__(self, end):
        self.end, self.text = end, b""
        self.thread = threading.Thread(target=self.read_all)
        self.thread.start()

    def read_all(self):
        while data := os.read(self.end, 1 << 16):
            self.text += data
        os.close(self.end)

    def lines(self):
        self.thread.join()
        return [json.loads(line) for line in self.text.decode().splitlines()]


@pytest.fixture
def unread(directory):
    driver = driver_module.Driver(driver_fixtures.binary(), directory)
    ours = Server(driver_fixtures.binary(), directory, [f"default=file:{driver.pool}"])
    driver.server = ours
    driver.start()
    yield driver
    if ours.process.poll() is None:
        ours.kill()


def call_often(driver, count):
    method = csi_client.METHODS["DeleteVolume"]
    with grpc.insecure_channel(driver.client.target,
                               options=csi_client.CHANNEL_OPTIONS) as channel:
        invoke = csi_client.invoker(channel, method)
        for _ in range(count):
            invoke(csi_client.request(method, {"volume_id": UNKNOWN}), timeout=CALL_SECONDS)


def requests_in(lines):
    return [line["request"] for line in lines if line.get("method") == "DeleteVolume"]


def test_calls_are_answered_and_their_lines_come_later(unread):
    call_often(unread, CALLS)
    reader = Reader(unread.server.log_end)
    assert unread.server.stop() is None
    lines = reader.lines()
    requests = requests_in(lines)
    assert len(requests) == CALLS
    assert requests == sorted(requests)
    assert lines[-1]["message"] == "stopped"


def test_what_finds_no_room_is_counted(unread):
    call_often(unread, MANY_CALLS)
    reader = Reader(unread.server.log_end)
    # Lines of the stop would be dropped as well.
    frozen.await_that(lambda: b"log lines were dropped" in reader.text, "nothing was dropped")
    assert unread.server.stop() is None
    lines = reader.lines()
    dropped = [int(line["message"].split()[0]) for line in lines
               if "log lines were dropped" in line["message"]]
    assert len(requests_in(lines)) + sum(dropped) == MANY_CALLS
    assert dropped and 0 < sum(dropped) < MANY_CALLS


def test_a_stop_does_not_wait_for_the_reader(unread):
    call_often(unread, CALLS)
    assert unread.server.stop() is None
    os.close(unread.server.log_end)


def test_an_error_at_the_start_is_told(directory):
    """The last lines of a process that ends at once."""
    driver = driver_module.Driver(driver_fixtures.binary(), directory)
    ours = Server(driver_fixtures.binary(), directory, [f"default=file:{directory}/nowhere"])
    driver.server = ours
    ours.launch()
    with os.fdopen(ours.log_end) as log:
        text = log.read()
    assert ours.process.wait() == 1
    assert "nowhere" in text.splitlines()[-1]
