# SPDX-License-Identifier: Apache-2.0
"""The controller and the simulated nodes as processes."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import time

from service_account import AUDIENCE, SUBJECT, Issuer

_TICK = os.sysconf("SC_CLK_TCK")


def raise_file_limit() -> int:
    """Every node is a file descriptor, on both ends."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def use_of(pid: int) -> dict:
    """Figures of a process: kibibytes of memory (resident, and the part that is not file pages),
    threads, file descriptors, and processor time since its start."""
    process = pathlib.Path(f"/proc/{pid}")
    fields = dict(line.split(":", 1)
                  for line in (process / "status").read_text(encoding="utf-8").splitlines())
    found = {key: int(fields[key].split()[0]) for key in ("VmRSS", "RssAnon", "Threads")}
    times = (process / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[11:13]
    return {**found, "files": len(list((process / "fd").iterdir())),
            "cpu_seconds": sum(map(int, times)) / _TICK}


class Controller:
    """`holdfast serve --role=controller`, and a program that calls it. A context, in which it is
    started and ended any number of times."""

    def __init__(self, binary: pathlib.Path, directory: pathlib.Path, tls: pathlib.Path,
                 issuer: Issuer, port: int):
        directory.mkdir()
        self._log = directory / "log"
        self._calls = binary.parent / "bench/scale/bench-calls"
        self.socket = directory / "csi.sock"
        self._command = [
            binary, "serve", "--role=controller",
            f"--endpoint=unix://{self.socket}", f"--state-dir={directory}/state",
            f"--link-listen=127.0.0.1:{port}", f"--link-tls={tls}",
            f"--link-token-keys={issuer.keys}", f"--link-token-audience={AUDIENCE}",
            f"--link-token-subject={SUBJECT}"]
        self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self) -> float:
        """Returns CLOCK_MONOTONIC at the start."""
        self.socket.unlink(missing_ok=True)  # otherwise the old socket would be used
        started = time.monotonic()
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(self._command, stderr=log, stdin=subprocess.DEVNULL)
        while not self.socket.exists():
            if self._process.poll() is not None:
                raise RuntimeError(f"the controller does not start: {self.log()[-1000:]}")
            time.sleep(0.005)
        return started

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, with_signal: int) -> None:
        if self._process is not None:
            self._process.send_signal(with_signal)
            self._process.wait()
        self._process = None

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def call(self, scenario: str, **options) -> dict | float:
        """The output of bench-calls."""
        flags = [f"--{name}={value}" for name, value in options.items()]
        done = subprocess.run([self._calls, scenario, f"--socket={self.socket}", *flags],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"bench-calls {scenario} {' '.join(flags)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    @property
    def pid(self) -> int:
        return self._process.pid

    def use(self) -> dict:
        return use_of(self.pid)


class Nodes:
    """bench-nodes. A context like Controller."""

    def __init__(self, tools: pathlib.Path, authority: pathlib.Path, issuer: Issuer, port: int):
        self._command = [tools / "bench-nodes", f"--controller=127.0.0.1:{port}",
                         f"--authority={authority}", f"--issuer={issuer.keys.parent}"]
        self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, count: int, volumes: int, pushes: int = 0) -> None:
        self._process = subprocess.Popen(
            [*self._command, f"--nodes={count}", f"--volumes={volumes}", f"--pushes={pushes}"],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)

    def stop(self) -> dict:
        """The nodes' counts: dials, links, commands, pushes, and why streams ended."""
        if self._process is None:
            return {}
        process, self._process = self._process, None
        process.terminate()
        seen, _ = process.communicate()
        if process.returncode != 0:
            raise RuntimeError(f"bench-nodes ended with {process.returncode}")
        return json.loads(seen)
