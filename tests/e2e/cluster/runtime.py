# SPDX-License-Identifier: Apache-2.0
"""containerd on one node, with routed pod networking."""

import json

from cluster import images, network
from cluster.processes import Process, until

SOCKET = "/run/containerd/containerd.sock"

CONFIG = """version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{directory}/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


class Runtime:
    def __init__(self, number, namespace):
        self.namespace = namespace
        directory = namespace.directory
        config = directory / "containerd.toml"
        config.write_text(CONFIG.format(socket=SOCKET, pause=images.PAUSE, directory=directory))
        (directory / "net.d").mkdir()
        (directory / "net.d" / "pods.conflist").write_text(json.dumps(pod_network(number)))
        self.command = ["containerd", "--config", config]
        self.process = None

    def start(self):
        self.process = Process(self.command, self.namespace.directory / "containerd.log",
                               self.namespace.enter).start()

        def answers():
            self.process.check()
            return self.namespace.path(SOCKET).exists() and self.ctr("version")
        until(answers, "containerd does not answer")

    def ctr(self, *words):
        return self.namespace.run("ctr", "--address", SOCKET, "--namespace", "k8s.io", *words)

    def import_image(self, archive):
        self.ctr("images", "import", archive)


def pod_network(number):
    ranges = [[{"subnet": network.pod_network(number)}]]
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [
        {"type": "ptp", "ipMasq": False, "ipam": {
            "type": "host-local", "ranges": ranges, "dataDir": "/run/cni-addresses",
            "routes": [{"dst": "0.0.0.0/0"}]}},
        {"type": "loopback"}]}
