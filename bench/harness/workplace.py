"""A private mount namespace, and a directory that is removed afterwards."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

_INSIDE = "HOLDFAST_BENCH_NAMESPACE"


def enter_namespace() -> None:
    """Starts this program again in its own mount namespace; returns there."""
    here = os.readlink("/proc/self/ns/mnt")
    outside = os.environ.get(_INSIDE)
    if outside and outside != here:
        return
    os.environ[_INSIDE] = here
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable,
                          *sys.argv])


def _mounts_below(directory: pathlib.Path) -> list[str]:
    with open("/proc/self/mountinfo", encoding="utf-8") as table:
        targets = [line.split()[4] for line in table]
    return [target for target in reversed(targets) if target.startswith(f"{directory}/")]


def _loops_below(directory: pathlib.Path) -> list[str]:
    """The loop devices whose images are in the directory; other loop devices are not touched."""
    loops = []
    for backing in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            image = backing.read_text(encoding="utf-8").strip()
        except OSError:
            continue  # detached in between
        if image.startswith(f"{directory}/"):
            loops.append(f"/dev/{backing.parts[3]}")
    return loops


class Workplace:
    """A context: `directory` on the filesystem to measure, `sockets` with a short path."""

    def __init__(self, parent: pathlib.Path):
        parent.mkdir(parents=True, exist_ok=True)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="work-", dir=parent.resolve()))
        self.sockets = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-bench-"))
        self._servers = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self._servers:
            server.stop()
        for target in _mounts_below(self.directory):
            subprocess.run(["umount", target], check=False)
        for device in _loops_below(self.directory):
            subprocess.run(["losetup", "-d", device], check=False)
        shutil.rmtree(self.sockets, ignore_errors=True)
        if _mounts_below(self.directory):
            sys.exit(f"something is still mounted below {self.directory}: it was left alone")
        shutil.rmtree(self.directory)

    def adopt(self, server):
        """Stops the server at the end, unless the caller did so before."""
        self._servers.append(server)
        return server
