# SPDX-License-Identifier: Apache-2.0
"""A node's SSH server, for Kubernetes' suite: it restarts kubelets by `ssh NODE systemctl`, and
looks at mounts the same way."""

import shlex

from cluster import network
from cluster.processes import Process, run

USER = "root"

# A login finds these programs first.
PROGRAMS = {
    "sudo": """#!/bin/sh
case $1 in --version) echo "none: commands run as root already" ;; *) exec "$@" ;; esac
""",
    "systemctl": """#!/bin/sh
# The suite's systemd commands about the kubelet.
running() {{ kill -0 "$(cat {pid_file})" 2>/dev/null; }}
case "$*" in
  "stop kubelet") kill "$(cat {pid_file})" && while running; do sleep 0.1; done ;;
  "start kubelet") setsid {kubelet} </dev/null >>{log} 2>&1 & ;;
  "show kubelet --property ActiveState --value") running && echo active || echo inactive ;;
  *) echo "systemctl: unexpected: $*" >&2; exit 1 ;;
esac
""",
    "login": """#!/bin/sh
PATH={directory}/bin:$PATH exec bash -c "$SSH_ORIGINAL_COMMAND"
""",
}

# A root user with another home, where the server looks for keys.
SETUP = """set -e
sed 's,^root:\\(.*\\):[^:]*:\\([^:]*\\)$,root:\\1:{directory}:\\2,' /etc/passwd > {directory}/passwd
mount --bind {directory}/passwd /etc/passwd
"""


def make_key(directory):
    """Makes a key pair; returns the private key's file and the public key's line."""
    raw, key = directory / "ssh-key.dropbear", directory / "ssh-key"
    printed = run("dropbearkey", "-t", "ed25519", "-f", raw)
    run("dropbearconvert", "dropbear", "openssh", raw, key)
    return key, next(line for line in printed.splitlines() if line.startswith("ssh-"))


class Shell:
    def __init__(self, node, public_key):
        self.node = node
        self.directory = node.namespace.directory / "ssh"
        self.public_key = public_key
        self.process = None

    def start(self):
        self._write_home()
        namespace = self.node.namespace
        self.node.run("sh", "-c", SETUP.format(directory=self.directory))
        # An RSA key: dropbear 2022.83 offers that type whether it has such a key or not.
        run("dropbearkey", "-t", "rsa", "-f", self.directory / "host-key")
        address = f"{network.node_address(self.node.number)}:22"
        self.process = Process(
            ["dropbear", "-F", "-E", "-s", "-r", self.directory / "host-key", "-p", address,
             "-P", "/run/dropbear.pid"], self.directory / "dropbear.log", namespace.enter).start()

    def _write_home(self):
        keys = self.directory / ".ssh" / "authorized_keys"
        keys.parent.mkdir(parents=True, mode=0o700)
        keys.write_text(f'command="{self.directory}/bin/login" {self.public_key}\n')
        (self.directory / "bin").mkdir()
        kubelet = self.node.kubelet
        for name, text in PROGRAMS.items():
            program = self.directory / "bin" / name
            program.write_text(text.format(
                directory=self.directory, pid_file=kubelet.PID_FILE, log=kubelet.log,
                kubelet=shlex.join(str(word) for word in kubelet.command)))
            program.chmod(0o755)
