# SPDX-License-Identifier: Apache-2.0
"""A holdfast server whose socket, state and log lie in one work directory."""

import os
import signal
import socket
import subprocess
import time

LOG = "server.log"
READY_SECONDS = 30
STOP_SECONDS = 30


class Server:
    """start() and stop() return a problem as a sentence, or None."""

    def __init__(self, binary, directory, pools, node_id="test-node", role="all", flags=()):
        self.socket = directory / "csi.sock"
        self.directory = directory
        self.process = None
        self.command = [binary, "serve", f"--role={role}", f"--endpoint=unix://{self.socket}",
                        *([f"--node-id={node_id}"] if node_id else []),
                        f"--state-dir={directory}/state",
                        *(f"--pool={pool}" for pool in pools), *flags]

    def start(self):
        """Starts the server and waits until its socket accepts connections."""
        self.launch()
        return self.wait_until_listening()

    def launch(self):
        with open(self.directory / LOG, "ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                cwd=self.directory, start_new_session=True)

    def wait_until_listening(self):
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                return "the server ended before it listened"
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(os.fspath(self.socket)) == 0:
                    return None
            time.sleep(0.005)
        return f"the server did not listen on {self.socket} within {READY_SECONDS} s"

    def kill(self):
        """Kills the server as a crash would; its child programs continue."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """Sends SIGTERM and waits for a clean end. Does nothing for a server that was killed."""
        if self.process is None or self.process.returncode == -signal.SIGKILL:
            return None
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            return f"the server did not end within {STOP_SECONDS} s after SIGTERM"
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        return None if code == 0 else f"the server ended with {code}, want 0"
