"""Where the figures were taken."""
import os
import pathlib
import platform
import re
import subprocess

QUIET = 0.7  # load average above which the figures are marked


def describe(directory: pathlib.Path) -> dict:
    cpu = re.search(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    total = re.search(r"^MemTotal:\s*(\d+)", _read("/proc/meminfo"), re.MULTILINE)
    name = re.search(r'^PRETTY_NAME="(.+)"$', _read("/etc/os-release"), re.MULTILINE)
    filesystem = subprocess.run(["findmnt", "-n", "-o", "FSTYPE,OPTIONS", "-T", directory],
                                capture_output=True, text=True, check=False).stdout.split()
    return {"cpu": cpu.group(1) if cpu else platform.machine(), "cores": os.cpu_count(),
            "memory_gib": round(int(total.group(1)) / 2**20) if total else 0,
            "system": name.group(1) if name else "Linux", "kernel": platform.release(),
            "filesystem": " ".join(filesystem)}


def load() -> float:
    """Of the last minute; our own work counts too, so it is taken before the start."""
    return round(os.getloadavg()[0], 2)


def _read(path: str) -> str:
    return pathlib.Path(path).read_text(encoding="utf-8")
