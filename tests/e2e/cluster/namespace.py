# SPDX-License-Identifier: Apache-2.0
"""The namespaces of one node: network, processes, mounts, cgroups, host name. Killing their first
process is the node's crash."""

import pathlib

from cluster.processes import Process, run, until

STATE_DIRECTORIES = ("kubelet", "containerd", "cni", "log")  # survive a crash of the node
# Settings that a kubelet insists on: it finds the values here, and the machine keeps its own.
SYSCTLS = {"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10",
           "kernel/panic_on_oops": "1", "kernel/keys/root_maxkeys": "1000000",
           "kernel/keys/root_maxbytes": "25000000"}

SETUP = """set -e
hostname {name}
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /var/lib
mkdir /var/lib/kubelet /var/lib/containerd /var/lib/cni
mount --bind {directory}/kubelet /var/lib/kubelet
mount --bind {directory}/containerd /var/lib/containerd
mount --bind {directory}/cni /var/lib/cni
mount --bind {directory}/log /var/log
{disk_mounts}
{cgroup_mounts}
for sysctl in {sysctls}; do
  mount --bind {directory}/sysctl/$sysctl /proc/sys/$sysctl
done
mount --make-rshared /
"""


class Namespace:
    def __init__(self, name, directory, tools, disks, cgroups):
        self.name = name
        self.cgroups = cgroups
        self.directory = directory
        self.disks = disks  # by the path that each is mounted at
        for sub in STATE_DIRECTORIES:
            (directory / sub).mkdir()
        for sysctl, value in SYSCTLS.items():
            file = directory / "sysctl" / sysctl
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{value}\n")
        self.init = Process(
            [tools / "pause"], directory / "init.log",
            enter=[*cgroups.enter, "unshare", "--fork", "--kill-child", "--pid", "--mount", "--net",
                   "--uts", "--ipc", "--cgroup", "--mount-proc", "--propagation", "private"])

    def start(self):
        self.init.start()
        assert self.pid
        self.wait_for_proc()
        disks = "\n".join(f"mkdir -p {path}\nmount {disk.device} {path}"
                          for path, disk in self.disks.items())
        script = SETUP.format(name=self.name, directory=self.directory, disk_mounts=disks,
                              sysctls=" ".join(SYSCTLS),
                              cgroup_mounts="\n".join(self.cgroups.mount_commands()))
        self.run("sh", "-c", script)

    def wait_for_proc(self):
        """The child exists before unshare has mounted /proc for it; then it runs pause."""
        until(lambda: pathlib.Path(f"/proc/{self.pid}/comm").read_text() == "pause\n",
              f"the first process of {self.name} does not start", 10, 0.005)

    @property
    def pid(self):
        return self.init.pid

    @property
    def enter(self):
        return [*self.cgroups.enter, "nsenter", "--target", self.pid, "--mount", "--net", "--pid",
                "--uts", "--ipc", "--cgroup", "--"]

    def run(self, *command):
        return run(*self.enter, *command)

    def path(self, inside):
        """Returns where a path of the node is seen from outside."""
        return pathlib.Path(f"/proc/{self.pid}/root") / str(inside).lstrip("/")

    def crash(self):
        """The node gets no notice, and only its disks survive."""
        self.init.kill()
        self.cgroups.clear()
        for disk in self.disks.values():
            disk.release()
