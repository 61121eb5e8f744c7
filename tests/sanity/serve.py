# SPDX-License-Identifier: Apache-2.0
"""A holdfast server with a socket, state directory and pool below one work directory."""

import socket
import subprocess
import time

LOG = "server.log"
READY_SECONDS = 30
STOP_SECONDS = 30


class Server:
    """Starts at once; every method returns a problem as a sentence, or None."""

    def __init__(self, binary, directory, filesystem):
        self.socket = directory / "csi.sock"
        (directory / "pool").mkdir()
        with open(directory / LOG, "wb") as log:
            self.process = subprocess.Popen(
                [binary, "serve", "--role=all", f"--endpoint=unix://{self.socket}",
                 "--node-id=sanity-node", f"--state-dir={directory}/state",
                 f"--pool=default=file:{directory}/pool,fs={filesystem}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=directory,
                start_new_session=True)

    def wait_until_listening(self):
        """Waits until the socket takes connections; readiness itself is for csi-sanity to await."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                return "the server ended before it listened"
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(str(self.socket)) == 0:
                    return None
            time.sleep(0.02)
        return f"the server did not listen on {self.socket} within {READY_SECONDS} s"

    def stop(self):
        """Sends SIGTERM and waits for a clean end."""
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
