"""A Kubernetes node: containerd and a kubelet in the guest, with a control plane on the host.

The host has written everything that they read below the run's directory, and node.json describes
it. They write in the guest; only their logs are written to the host, through a separate directory.
"""

import json
import pathlib
import subprocess
import time

MODULES = ("virtio_net", "veth", "overlay", "rbd")
STATE = pathlib.Path("/data")
DIRECTORIES = ("kubelet", "containerd", "cni", "holdfast")  # of /var/lib
DEVICE = "eth0"
LOGS = pathlib.Path("/run/logs")
CGROUPS = pathlib.Path("/sys/fs/cgroup")
LIMIT_S = 300


def run(run_dir):
    node = json.loads((run_dir / "node.json").read_text())
    command("modprobe", "-a", *MODULES)
    make_places()
    join_network(node)
    runtime = start(node["runtime"], "containerd")
    until(lambda: runtime.poll() is None and control_runtime(node, "version"),
          "containerd does not answer")
    for archive in node["archives"]:
        control_runtime(node, "images", "import", archive)
        print(f"kubernetes-node: {pathlib.Path(archive).name} imported", flush=True)
    kubelet = start(node["kubelet"], "kubelet")
    print("kubernetes-node: the kubelet is started", flush=True)
    raise RuntimeError(f"the kubelet ended with {kubelet.wait()}")


def make_places():
    LOGS.mkdir()
    command("mount", "-t", "9p", "-o", "trans=virtio,version=9p2000.L,cache=none", "logs", LOGS)
    for name in DIRECTORIES:
        (STATE / name).mkdir()
        place = pathlib.Path("/var/lib") / name
        place.mkdir(exist_ok=True)
        command("mount", "--bind", STATE / name, place)
    command("mount", "-t", "tmpfs", "tmpfs", "/var/log")
    command("mount", "-t", "cgroup2", "cgroup2", CGROUPS)
    available = (CGROUPS / "cgroup.controllers").read_text().split()
    (CGROUPS / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in available))
    command("mount", "--make-rshared", "/")


def join_network(node):
    command("hostname", node["name"])
    command("ip", "address", "add", node["address"], "dev", DEVICE)
    command("ip", "link", "set", DEVICE, "up")
    command("ip", "route", "add", "default", "via", node["gateway"])
    pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def start(words, name):
    with open(LOGS / f"{name}.log", "ab") as log:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def control_runtime(node, *words):
    done = subprocess.run([*node["control_runtime"], *words], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        print(f"kubernetes-node: ctr {words[0]}: {done.stderr.strip()}", flush=True)
    return done.returncode == 0


def command(*words):
    subprocess.run([str(word) for word in words], check=True)


def until(condition, problem):
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, problem
        time.sleep(0.5)
