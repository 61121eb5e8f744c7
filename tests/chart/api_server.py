# SPDX-License-Identifier: Apache-2.0
"""A real API server with its etcd and nothing else: it accepts and stores objects, and nothing acts
on them."""

import os
import pathlib
import shutil
import subprocess

from cluster import until
from go_tools import REPOSITORY
from link_files import Authority, free_port

ADMIN_GROUP = "system:masters"
START_SECONDS = 120
PROGRAMS = ("kube-apiserver", "kubectl", "csi-provisioner", "csi-resizer", "csi-attacher",
            "csi-snapshotter")


def programs():
    """Returns the directory of Kubernetes' programs that the cluster tests build."""
    found = subprocess.run([REPOSITORY / "tests/e2e/build-tools", "--print"], check=True,
                           capture_output=True, text=True).stdout
    return pathlib.Path(found.strip())


def what_is_missing():
    """Returns why there can be no API server here, with the remedy; or None."""
    if not shutil.which("etcd"):
        return "etcd is missing: apt-get install etcd-server"
    for name in PROGRAMS:
        if not (programs() / name).exists():
            return f"{name} is not built: run tests/e2e/build-tools"
    return None


class ApiServer:
    def __init__(self, directory):
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"
        self.processes = {}

    def start(self):
        etcd, peer, port = free_port(), free_port(), free_port()
        self.run("etcd", ["etcd", f"--data-dir={self.directory}/etcd", "--log-level=error",
                          f"--listen-client-urls=http://127.0.0.1:{etcd}",
                          f"--advertise-client-urls=http://127.0.0.1:{etcd}",
                          f"--listen-peer-urls=http://127.0.0.1:{peer}"])
        self.run("kube-apiserver", self.command(f"http://127.0.0.1:{etcd}", port))
        self.write_kubeconfig(port)
        until(self.is_ready, "the API server does not become ready", START_SECONDS)

    def command(self, etcd, port):
        files = Authority(self.directory / "ca").issue("127.0.0.1", self.directory / "tls")
        key = self.directory / "service-account.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        (self.directory / "tokens.csv").write_text(f"admin,admin,admin,{ADMIN_GROUP}\n")
        return [programs() / "kube-apiserver", f"--etcd-servers={etcd}", f"--secure-port={port}",
                "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
                "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
                f"--tls-cert-file={files}/tls.crt", f"--tls-private-key-file={files}/tls.key",
                f"--token-auth-file={self.directory}/tokens.csv", "--authorization-mode=RBAC",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
                "--allow-privileged=true", f"--cert-dir={self.directory}"]

    def run(self, name, command):
        with open(self.directory / f"{name}.log", "wb") as log:
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log,
                                                    cwd=self.directory)

    def write_kubeconfig(self, port):
        self.kubeconfig.write_text(f"""apiVersion: v1
kind: Config
current-context: test
contexts: [{{name: test, context: {{cluster: test, user: admin}}}}]
clusters: [{{name: test, cluster: {{server: "https://localhost:{port}",
  certificate-authority: {self.directory}/ca/ca.crt}}}}]
users: [{{name: admin, user: {{token: admin}}}}]
""")

    def is_ready(self):
        for name, process in self.processes.items():
            log = (self.directory / f"{name}.log").read_text(errors="replace")
            assert process.poll() is None, f"{name} ended: {log[-4000:]}"
        return self.kubectl("get", "--raw=/readyz", check=False).returncode == 0

    def tool(self, program, *words, text="", check=True):
        done = subprocess.run([program, *words], input=text, capture_output=True, text=True,
                              env={**os.environ, "KUBECONFIG": str(self.kubeconfig),
                                   "HOME": str(self.directory)}, check=False)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def kubectl(self, *words, **options):
        return self.tool(programs() / "kubectl", *words, **options)

    def helm(self, *words, **options):
        return self.tool(os.environ["HELM"], *words, **options)

    def stop(self):
        for process in reversed(self.processes.values()):
            process.terminate()
            process.wait()
