# SPDX-License-Identifier: Apache-2.0
"""etcd, apiserver, controller manager, scheduler, snapshot-controller and cluster DNS as processes."""

import shutil

from cluster import network
from cluster.api import Api
from cluster.processes import Process, run, until
from cluster.sidecars import GROUP_GATE

SERVER = f"https://{network.CONTROL_PLANE}:443"
ISSUER = "https://kubernetes.default.svc.cluster.local"
ETCD = "127.0.0.1:2379"
DNS_DOMAIN = "cluster.local"

COREFILE = """.:53 {{
  bind {address}
  errors
  kubernetes {domain} {{
    kubeconfig {kubeconfig}
    ttl 1
  }}
}}
"""


class ControlPlane:
    def __init__(self, directory, tools, sidecars, authority):
        self.directory = directory
        self.tools = tools
        self.sidecars = sidecars
        self.authority = authority
        directory.mkdir()
        self.admin = authority.kubeconfig("admin", "/O=system:masters/CN=admin")
        self.api = Api(SERVER, authority)
        self.processes = {}
        self.data = directory / "etcd"
        self.data.mkdir()

    def start(self):
        self.start_etcd()
        self.start_apiserver()
        self.start_controller_manager()
        self.launch("kube-scheduler", "--leader-elect=false", "--kubeconfig",
                    self.authority.kubeconfig("scheduler", "/CN=system:kube-scheduler"))
        self.start_snapshot_controller()
        self.start_dns()
        until(lambda: self.api.find("ServiceAccount", "default"),
              "the default ServiceAccount does not come")

    def launch(self, program, *flags):
        path = program if program == "etcd" else self.sidecars.program(program)
        process = Process([path, *flags], self.directory / f"{program}.log")
        self.processes[program] = process.start()
        return process

    def start_etcd(self):
        if not self.data.is_mount():
            run("mount", "-t", "tmpfs", "-o", "mode=700", "tmpfs", self.data)
        self.launch("etcd", "--data-dir", self.data, f"--listen-client-urls=http://{ETCD}",
                    f"--advertise-client-urls=http://{ETCD}",
                    "--listen-peer-urls=http://127.0.0.1:2380", "--log-level=warn")

    def start_apiserver(self):
        authority = self.authority
        certificate, key = authority.issue("apiserver", "/CN=kube-apiserver", (
            f"IP:{network.CONTROL_PLANE}", f"IP:{network.API_SERVICE}", "DNS:kubernetes",
            "DNS:kubernetes.default", "DNS:kubernetes.default.svc",
            f"DNS:kubernetes.default.svc.{DNS_DOMAIN}"))
        client, client_key = authority.issue("kubelet-client", "/O=system:masters/CN=apiserver")
        apiserver = self.launch(
            "kube-apiserver", f"--etcd-servers=http://{ETCD}", "--secure-port=443",
            f"--advertise-address={network.CONTROL_PLANE}", "--endpoint-reconciler-type=none",
            f"--service-cluster-ip-range={network.SERVICES}", "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={authority.account_key}",
            f"--service-account-signing-key-file={authority.account_key}",
            f"--client-ca-file={authority.certificate}", f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}", f"--kubelet-client-certificate={client}",
            f"--kubelet-client-key={client_key}",
            "--kubelet-preferred-address-types=InternalIP")

        def ready():
            apiserver.check()
            return self.api.is_ready()
        until(ready, lambda: f"the apiserver is not ready:\n{apiserver.tail()}")

    def start_controller_manager(self):
        config = self.authority.kubeconfig("controller-manager",
                                           "/CN=system:kube-controller-manager")
        self.launch("kube-controller-manager", "--leader-elect=false", "--kubeconfig", config,
                    f"--service-account-private-key-file={self.authority.account_key}",
                    f"--root-ca-file={self.authority.certificate}",
                    "--use-service-account-credentials=true",
                    f"--flex-volume-plugin-dir={self.directory}/none")

    def start_snapshot_controller(self):
        run(self.tools / "kubectl", "--kubeconfig", self.admin, "apply", "--server-side",
            "--filename", self.sidecars.program("snapshot-crds"))
        self.launch("snapshot-controller", GROUP_GATE, "--kubeconfig", self.admin)

    def start_dns(self):
        corefile = self.directory / "Corefile"
        corefile.write_text(COREFILE.format(address=network.DNS_SERVICE, domain=DNS_DOMAIN,
                                            kubeconfig=self.admin))
        self.launch("coredns", "-conf", corefile)

    def backup(self):
        """Returns a copy of what etcd has."""
        copy = self.directory / "backup"
        self.processes["etcd"].stop()
        shutil.copytree(self.data, copy)
        self.start_etcd()
        until(self.api.is_ready, "the apiserver does not find etcd again")
        return copy

    def restart_with(self, backup=None):
        """Everything ends and starts again, with that copy of etcd, or with an empty one."""
        self.stop()
        shutil.rmtree(self.data / "member")
        if backup:
            shutil.copytree(backup, self.data, dirs_exist_ok=True)
        self.start()

    def stop(self):
        for process in reversed(self.processes.values()):
            process.kill()
