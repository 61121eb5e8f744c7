"""The driver under test as a process."""
import os
import pathlib
import signal
import subprocess
import threading
import time

_TICK = 100  # of /proc/PID/stat, sysconf(_SC_CLK_TCK)


class Server:
    """Its pool is one of files below its directory, unless `pool` says another as in --pool.
    `environment` is added to that of this process."""

    def __init__(self, binary: pathlib.Path, tool: pathlib.Path, place, name: str, pool: str = "",
                 environment: dict[str, str] | None = None):
        self._binary = binary
        self._tool = tool
        self.directory = place.directory / name
        for part in ("pool", "mounts"):
            (self.directory / part).mkdir(parents=True)
        # Thin volumes are overcommitted many times here, because this is not what is measured.
        self._pool = pool or f"bench=file:{self.directory}/pool,reserve=1%,overcommit=100"
        self.socket = place.sockets / f"{name}.sock"
        self._environment = {**os.environ, **(environment or {})}
        self.process = None
        place.adopt(self)

    def start(self) -> float:
        """Returns the seconds from the start of the process to the first Probe that says ready."""
        waiter = subprocess.Popen(
            [self._tool, "ready", "--directory", self.directory, "--socket", self.socket],
            stdout=subprocess.PIPE, text=True)
        time.sleep(0.1)  # the waiter is up before the clock starts
        log = open(self.directory / "log", "ab")
        started = time.clock_gettime(time.CLOCK_MONOTONIC)
        self.process = subprocess.Popen(
            [self._binary, "serve", "--node-id=bench", f"--endpoint=unix://{self.socket}",
             f"--state-dir={self.directory}/state",
             f"--pool={self._pool}"],
            stderr=log, stdin=subprocess.DEVNULL, env=self._environment)
        log.close()
        while waiter.poll() is None and self.process.poll() is None:
            time.sleep(0.001)
        if self.process.poll() is not None:
            waiter.kill()
            log = (self.directory / "log").read_text(encoding="utf-8")
            raise RuntimeError(f"the driver does not start: {log[-1000:]}")
        answer, _ = waiter.communicate()
        if waiter.returncode != 0:
            raise RuntimeError("the driver does not become ready")
        return float(answer) - started

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process = None

    def status(self) -> dict[str, int]:
        """Threads, and kibibytes of resident memory: in total, and without file pages."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        fields = dict(line.split(":", 1) for line in text.splitlines())
        return {key: int(fields[key].split()[0]) for key in ("VmRSS", "RssAnon", "Threads")}

    def cpu_seconds(self) -> float:
        """For the process and the children that it has waited for."""
        text = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        fields = text.rsplit(")", 1)[1].split()
        return sum(int(field) for field in fields[11:15]) / _TICK


class ThreadWatch:
    """A context that sees the largest number of threads."""

    def __init__(self, server: Server):
        self._server = server
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.most = 0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def _watch(self):
        while not self._end.wait(0.02):
            self.most = max(self.most, self._server.status()["Threads"])
