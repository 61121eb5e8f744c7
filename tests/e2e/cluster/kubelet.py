# SPDX-License-Identifier: Apache-2.0
"""The kubelet of one node."""

import json

from cluster import network
from cluster.control_plane import DNS_DOMAIN
from cluster.processes import Process
from cluster.runtime import SOCKET


def configuration(address, authority, resolv_conf):
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": address, "failSwapOn": False, "protectKernelDefaults": False,
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                           "x509": {"clientCAFile": str(authority.certificate)}},
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        # Containers get cgroups, pods none: these machines have cgroup v1 and no systemd.
        "failCgroupV1": False, "cgroupDriver": "cgroupfs", "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        # The nodes share one machine's disk and memory, so nothing may be evicted because of them.
        "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
        "evictionHard": {"memory.available": "0%", "nodefs.available": "0%",
                         "nodefs.inodesFree": "0%", "imagefs.available": "0%"},
        "clusterDNS": [network.DNS_SERVICE], "clusterDomain": DNS_DOMAIN,
        "resolvConf": str(resolv_conf), "volumePluginDir": "/var/lib/kubelet/volume-plugins",
        "featureGates": {"KubeletCrashLoopBackOffMax": True},
        "crashLoopBackOff": {"maxContainerRestartPeriod": "1s"},
        # Tests wait for actions that depend on these periods.
        "syncFrequency": "5s", "volumeStatsAggPeriod": "5s", "nodeStatusUpdateFrequency": "4s",
        "nodeStatusReportFrequency": "1m0s",
    }


class Kubelet:
    PID_FILE = "/run/kubelet.pid"  # of the node

    def __init__(self, number, namespace, tools, authority):
        self.namespace = namespace
        directory, name = namespace.directory, namespace.name
        resolv_conf = directory / "resolv.conf"
        resolv_conf.write_text("")
        config = directory / "kubelet.json"
        config.write_text(json.dumps(configuration(network.node_address(number), authority,
                                                   resolv_conf)))
        kubeconfig = authority.kubeconfig(f"kubelet-{name}",
                                          f"/O=system:nodes/CN=system:node:{name}")
        self.log = directory / "kubelet.log"
        self.command = ["sh", "-c", f'echo $$ >{self.PID_FILE}; exec "$@"', "sh",
                        tools / "kubelet", "--config", config, "--kubeconfig", kubeconfig,
                        "--hostname-override", name, "--node-ip", network.node_address(number),
                        "--cert-dir", directory / "pki"]
        self.process = None

    def start(self):
        self.process = Process(self.command, self.log, self.namespace.enter).start()

    def stop(self):
        self.process.stop()

    def kill(self):
        self.process.kill()
