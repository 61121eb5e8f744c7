# SPDX-License-Identifier: Apache-2.0
"""The namespaces that a run lives in, and the things that could outlive them: loop devices, cgroups
and files."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from cluster.disk import locks_on, loop_devices
from cluster.processes import only_child

PROGRAMS = ("etcd", "containerd", "runc", "ip", "iptables", "losetup", "mkfs.xfs", "openssl",
            "nsenter", "go", "cc", "dropbear")
SUITE = pathlib.Path(__file__).resolve().parents[1]
LOGS = SUITE.parents[1] / "build" / "e2e" / "logs"
PID_FILE = "pid"
CGROUPS = pathlib.Path("/sys/fs/cgroup")
FAIL, CANNOT_RUN = 1, 77


def what_the_host_lacks():
    """Returns why a cluster cannot run here, with the remedy; or None."""
    if os.geteuid() != 0:
        return "namespaces, mounts and loop devices need root: run as root"
    if missing := [program for program in PROGRAMS if not shutil.which(program)]:
        return f"{', '.join(missing)} missing: run scripts/install-deps e2e"
    if not os.path.exists("/dev/loop-control"):
        return "/dev/loop-control is missing: modprobe loop, or use a machine with loop devices"
    return None


def run_inside(script, words, upstream=False):
    """Runs the script again, with the same arguments and --inside DIRECTORY, as the first process
    of new namespaces: every process, mount and network of the cluster ends with it."""
    if missing := what_the_host_lacks():
        print(f"e2e: skipped: {missing}", file=sys.stderr)
        return CANNOT_RUN
    options = ["--upstream"] if upstream else []
    subprocess.run([SUITE / "build-tools", *options], check=True)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-e2e-", dir="/var/tmp"))
    command = ["unshare", "--fork", "--kill-child", "--pid", "--mount", "--net", "--uts", "--ipc",
               "--mount-proc", "--propagation", "private", sys.executable, os.path.abspath(script),
               *words, "--inside", str(directory)]
    process = subprocess.Popen(command)
    (directory / PID_FILE).write_text(str(only_child(process.pid)))
    signal.signal(signal.SIGTERM, lambda *_: os.kill(first_process(directory), signal.SIGTERM))
    signal.signal(signal.SIGINT, lambda *_: None)  # the terminal signals the inside
    code = process.wait()
    problems = leftovers(directory)
    for problem in problems:
        print(f"e2e: the cluster left {problem}", file=sys.stderr)
    keep_logs(directory)
    remove(directory)
    return code if code or not problems else FAIL


def first_process(directory):
    """Returns the number of the script inside, as the machine counts."""
    return int((directory / PID_FILE).read_text())


def loops_of(directory):
    """Returns the loop devices that show files of the directory, the ones on top of them first."""
    devices = loop_devices()
    disks = [name for name, _, _, file in devices if file.startswith(f"{directory}/")]
    numbers = {f"7:{name.removeprefix('/dev/loop')}" for name in disks}
    volumes = [name for name, on, _, _ in devices if on in numbers]
    return [lock for volume in volumes for lock in locks_on(volume)] + volumes + disks


def cgroups_of(directory):
    found = [path for path in CGROUPS.glob(f"*/{directory.name}") if path.is_dir()]
    return [path for top in found for path in sorted([top, *top.rglob("*/")], reverse=True)]


def leftovers(directory):
    """Returns what outlived the namespaces; the cgroups' empty directories always do."""
    return loops_of(directory)


def remove(directory):
    for device in loops_of(directory):
        subprocess.run(["losetup", "--detach", device], check=False)
    for cgroup in cgroups_of(directory):
        cgroup.rmdir()
    shutil.rmtree(directory)


def keep_logs(directory):
    """Copies the logs of the last run to build/e2e/logs."""
    shutil.rmtree(LOGS, ignore_errors=True)
    for log in directory.glob("*/*.log"):
        into = LOGS / log.parent.name
        into.mkdir(parents=True, exist_ok=True)
        shutil.copy(log, into)
