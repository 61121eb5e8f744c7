# SPDX-License-Identifier: Apache-2.0
"""The driver accepts the command lines that the chart generates, and its two sides find each other.

Only the pod's own values are replaced by the machine's: paths, ports, the cluster's keys.
"""

import base64
import os
import pathlib
import subprocess

import pytest

import csi_client
import mount_namespace
import observed
import service_account
from cluster import until
from link_files import free_port
from rendering import NAMESPACE, render
from serve import LOG, Server
from shared_mount import shared

NODE = "n1"
HOST = f"holdfast-controller.{NAMESPACE}.svc"
pytestmark = pytest.mark.skipif(bool(mount_namespace.what_the_host_lacks()),
                                reason=str(mount_namespace.what_the_host_lacks()))


class Pod(Server):
    """The driver's container of a rendered pod, as a process with its own directory."""

    def __init__(self, rendered, component, directory, replaced):
        directory.mkdir()
        super().__init__(os.environ["HOLDFAST_BINARY"], directory, [])
        self.health = free_port()
        self.flags = {}
        for flag in rendered.flags(component)[1:]:
            name, _, value = flag.partition("=")
            self.flags[name] = value
        self.flags |= {"--endpoint": f"unix://{self.socket}", "--state-dir": directory / "state",
                       "--health-address": f"127.0.0.1:{self.health}", **replaced}
        self.command = [os.environ["HOLDFAST_BINARY"], "serve",
                        *(f"{name}={value}" for name, value in self.flags.items())]

    def log(self):
        return (self.directory / LOG).read_text(errors="replace")


def write_secret(rendered, name, directory):
    directory.mkdir()
    for file, value in rendered.one("Secret", name)["data"].items():
        (directory / file).write_bytes(base64.b64decode(value))
    return directory


@pytest.fixture
def link_host(tmp_path):
    """Makes the Service's name resolve to loopback, only in this mount namespace."""
    hosts = tmp_path / "hosts"
    hosts.write_text(f"{pathlib.Path('/etc/hosts').read_text()}\n127.0.0.1 {HOST}\n")
    subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
    yield
    subprocess.run(["umount", "/etc/hosts"], check=True)


@pytest.fixture
def start_pod():
    """Starts pods; afterwards each must end when it is asked to."""
    pods = []

    def begin(pod):
        pods.append(pod)
        assert pod.start() is None, pod.log()
        return pod

    yield begin
    problems = [problem for pod in reversed(pods) if (problem := pod.stop())]
    assert not problems, "\n".join([*problems, *(pod.log() for pod in pods)])


@pytest.fixture
def kubelet(tmp_path):
    """kubelet's directory; names are short, because a socket's path is."""
    (tmp_path / "k").mkdir()
    with shared(tmp_path / "k"):
        (tmp_path / "k/r").mkdir()
        yield tmp_path / "k"


@pytest.fixture
def start(tmp_path, link_host, kubelet, start_pod):
    """Starts the pods of a rendered chart; returns the controller and the node."""
    def begin(rendered):
        port, issuer = free_port(), service_account.Issuer(tmp_path / "issuer")
        issuer.publish()
        controller = Pod(rendered, "controller", tmp_path / "controller", {
            "--link-listen": f"127.0.0.1:{port}", "--link-token-keys": issuer.keys,
            "--link-tls": write_secret(rendered, "holdfast-link-controller", tmp_path / "tls-c")})
        token = tmp_path / "token"
        token.write_text(issuer.token(NODE, aud=[controller.flags["--link-token-audience"]],
                                      sub=controller.flags["--link-token-subject"]))
        (tmp_path / "pool").mkdir()
        node = Pod(rendered, "node", tmp_path / "node", {
            "--node-id": NODE, "--pool": f"default=file:{tmp_path}/pool",
            "--link-controller": f"{HOST}:{port}", "--link-token": token,
            "--link-tls": write_secret(rendered, "holdfast-link-node", tmp_path / "tls-n"),
            **({"--kubelet-registration-dir": kubelet / "r"} if "--kubelet-registration-dir" in
               " ".join(rendered.flags("node")) else {})})
        return start_pod(controller), start_pod(node)

    return begin


def knows_capacity(pod):
    try:
        return csi_client.Client(pod.socket).call("GetCapacity").available_capacity > 0
    except csi_client.grpc.RpcError as error:
        assert csi_client.code_of(error) == "UNAVAILABLE", error
        return False


def answers_ok(pod, path):
    try:
        return observed.get(pod.health, path)[0] == 200
    except OSError:  # the socket is served a moment earlier
        return False


@pytest.mark.parametrize("values", [[], ["node.sidecars=true"], ["provisioning=nodes"],
                                    ["provisioning=nodes", "node.sidecars=true"]], ids=str)
def test_the_pods_of_the_chart_find_each_other(start, values):
    controller, node = start(render("storageClasses=null", *values))
    until(lambda: knows_capacity(controller), "the node is not linked:\n" + controller.log())
    for path in ("/healthz", "/readyz"):
        until(lambda path=path: answers_ok(controller, path), f"{path} of the controller")
        until(lambda path=path: answers_ok(node, path), f"{path} of the node")


def test_a_node_that_provisions_answers_for_its_own_pools(start):
    _, node = start(render("provisioning=nodes"))
    until(lambda: knows_capacity(node), "the node does not know its capacity")


def test_the_controller_starts_while_the_clusters_keys_cannot_be_had(tmp_path, start_pod):
    rendered = render()
    tls = write_secret(rendered, "holdfast-link-controller", tmp_path / "tls")
    pod = start_pod(Pod(rendered, "controller", tmp_path / "controller", {
        "--link-listen": f"127.0.0.1:{free_port()}", "--link-tls": tls}))
    assert pod.flags["--link-token-keys"].startswith("https://kubernetes.default.svc/")
    until(lambda: answers_ok(pod, "/healthz"), "/healthz of the controller")
