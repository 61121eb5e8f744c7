# SPDX-License-Identifier: Apache-2.0
"""The driver in the cluster: installed, upgraded, its pods found, its command asked."""

import contextlib
import json
import os
import pathlib
import signal
import urllib.request

import yaml

from cluster.processes import until

NAMESPACE = "holdfast-system"
COMPONENT = "app.kubernetes.io/component"
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CHART = REPOSITORY / "charts" / "holdfast"
VALUES = pathlib.Path(__file__).resolve().parent / "values.yaml"
RELEASE = "holdfast"
REPOSITORY_NAME = "docker.io/library/holdfast"
METRICS_PORT = 9809
CONTAINER = "holdfast"


class Installation:
    def __init__(self, cluster, values=(VALUES,)):
        self.cluster = cluster
        self.api = cluster.api
        self.values = [f"--values={file}" for file in values]

    def install(self, **values):
        """Installs the chart, or upgrades it with these values instead of those in the files."""
        self.apply(**values)
        self.wait_until_ready()

    def apply(self, **values):
        """As install(), for a cluster in which not every pod will be ready."""
        changes = [f"--set-json={name}={json.dumps(value)}"
                   for name, value in {**self.cluster.sidecars.values(), **values}.items()]
        self.cluster.helm("upgrade", "--install", RELEASE, CHART, "--namespace", NAMESPACE,
                          "--create-namespace", *self.values, *changes)

    def pools(self):
        """Returns the value of that name."""
        return yaml.safe_load(VALUES.read_text())["pools"]

    def uninstall(self):
        self.cluster.helm("uninstall", RELEASE, "--namespace", NAMESPACE, "--wait")
        until(lambda: not self.pods("controller") + self.pods("node"), "the pods do not go")

    def upgrade(self):
        """Replaces every pod of the driver with one of another image tag."""
        for node in self.cluster.nodes.values():
            node.runtime.ctr("images", "tag", "--force", self.image(), f"{REPOSITORY_NAME}:next")
        self.install(**{"image.tag": "next"})
        until(lambda: self.images() == {"holdfast:next"}, "pods keep the old image", 180)
        self.wait_until_ready()
        self.install()
        until(lambda: "holdfast:next" not in self.images(), "pods keep the other image", 180)
        self.wait_until_ready()

    def image(self):
        """Returns the name under which the nodes know the driver's image."""
        names = next(iter(self.cluster.nodes.values())).runtime.ctr("images", "list", "--quiet")
        return next(name for name in names.splitlines() if f"/{CONTAINER}:" in name
                    and not name.endswith(":next"))

    def images(self):
        return {container["image"] for pod in self.pods("controller") + self.pods("node")
                for container in pod["spec"]["containers"] if container["name"] == CONTAINER}

    def wait_until_ready(self):
        until(self.is_ready, lambda: "the driver is not ready:\n" + self.cluster.kubectl(
            "get", "pods", "-n", NAMESPACE, "-o", "wide"), 120)

    def is_ready(self):
        pods = self.pods("controller") + self.pods("node")
        return (len(pods) == 1 + len(self.cluster.nodes) and all(map(is_ready, pods))
                and all(self.is_registered(name) for name in self.cluster.nodes))

    def is_registered(self, node):
        found = self.api.find("CSINode", node)
        return bool(found and found["spec"].get("drivers"))

    def pods(self, component):
        return self.api.list("Pod", NAMESPACE, labelSelector=f"{COMPONENT}={component}")

    def controller_pod(self):
        return self.pods("controller")[0]

    def node_pod(self, node):
        return next(pod for pod in self.pods("node") if pod["spec"].get("nodeName") == node)

    def node_without_controller(self):
        away = self.controller_pod()["spec"]["nodeName"]
        return next(name for name in self.cluster.nodes if name != away)

    def controller_log(self):
        return self.api.logs(self.controller_pod()["metadata"]["name"], CONTAINER, NAMESPACE)

    def delete_controller(self):
        """Deletes the controller's pod and waits for the next one to be made."""
        before = self.controller_pod()["metadata"]
        self.api.delete("Pod", before["name"], NAMESPACE)
        until(lambda: any(pod["metadata"]["uid"] != before["uid"]
                          for pod in self.pods("controller")), "the controller's pod does not go")

    def delete_node_pod(self, node, seconds=60):
        """Deletes the driver's pod of a node and waits until it is gone."""
        before = self.node_pod(node)["metadata"]
        self.api.delete("Pod", before["name"], NAMESPACE)
        until(lambda: before["uid"] not in {found["metadata"]["uid"]
                                            for found in self.pods("node")},
              "the driver's pod does not go", seconds)

    def kill_driver(self, node):
        self.kill(lambda: self.node_pod(node), CONTAINER)

    def kill_controller(self):
        self.kill(self.controller_pod, CONTAINER)

    def kill_sidecar(self, name):
        self.kill(self.controller_pod, name)

    def kill(self, pod, container):
        """Kills a container as the kernel does when memory ends; returns when kubelet has started
        it again."""
        before = status_of(pod(), container)["restartCount"]
        for pid in processes_of(pod(), container):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

        def is_back():
            status = status_of(pod(), container)
            return status["restartCount"] > before and status["ready"]
        until(is_back, f"{container} is not started again", 120)

    def metric(self, pod, name):
        """Returns the value of a metric without labels; None while the pod does not answer."""
        url = f"http://{pod['status'].get('podIP')}:{METRICS_PORT}/metrics"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return None
        return next((float(line.split()[1]) for line in lines if line.startswith(f"{name} ")), None)

    def wait_until_linked(self):
        """A controller that has just started knows no node before."""
        until(lambda: self.linked_nodes() == len(self.cluster.nodes), "not every node is linked", 120)

    def linked_nodes(self):
        return self.metric(self.controller_pod(), "holdfast_link_nodes")

    def volume_count(self):
        return sum(len(self.ask(node, "volumes")) for node in self.cluster.nodes)

    def ask(self, node, verb):
        """Returns the list that a verb of the node's holdfast command prints."""
        return json.loads(self.cluster.kubectl(
            "exec", "-n", NAMESPACE, self.node_pod(node)["metadata"]["name"], "-c", CONTAINER,
            "--", "holdfast", verb, "--output=json"))[verb]

    def free(self, node):
        """Returns the size of the largest thick volume that the node's default pool promises."""
        return next(int(pool["thick_available_bytes"]) for pool in self.ask(node, "pools")
                    if pool["name"] == "default")


def status_of(pod, container):
    return next(found for found in pod["status"]["containerStatuses"]
                if found["name"] == container)


def processes_of(pod, container):
    """Returns the process ids of a running container, as this namespace counts."""
    identity = status_of(pod, container)["containerID"].removeprefix("containerd://")
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if identity in (process / "cgroup").read_text():
                found.append(int(process.name))
        except (FileNotFoundError, ProcessLookupError):  # ended meanwhile
            continue
    return found


def is_ready(pod):
    return "deletionTimestamp" not in pod["metadata"] and any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in pod["status"].get("conditions", []))
