# SPDX-License-Identifier: Apache-2.0
"""The chart's output for a set of values."""

import os
import subprocess

import yaml

from go_tools import KUBERNETES, REPOSITORY

CHART = REPOSITORY / "charts" / "holdfast"
NAMESPACE = "holdfast-system"


class Refused(Exception):
    """Helm did not take the values; the text is its reason."""


class Rendered:
    def __init__(self, text):
        self.text = text
        self.objects = [found for found in yaml.safe_load_all(text) if found]

    def all(self, kind):
        return [found for found in self.objects if found["kind"] == kind]

    def one(self, kind, name=None):
        [found] = [found for found in self.all(kind)
                   if name is None or found["metadata"]["name"] == name]
        return found

    def pod(self, component):
        """Returns the pod specification of the controller or the node."""
        kind = {"controller": "Deployment", "node": "DaemonSet"}[component]
        return self.one(kind)["spec"]["template"]["spec"]

    def container(self, component, name):
        [found] = [found for found in self.pod(component)["containers"] if found["name"] == name]
        return found

    def flags(self, component, name="holdfast"):
        return self.container(component, name)["args"]

    def containers(self, component):
        return [container["name"] for container in self.pod(component)["containers"]]


def render(*values, release="holdfast", version=KUBERNETES[-1], text="", apis=()):
    """Renders the chart; `values` are as for --set, `text` is a values file, `apis` are those of
    the cluster beyond Kubernetes' own."""
    settings = [word for value in values for word in ("--set", value)]
    settings += [word for api in apis for word in ("--api-versions", api)]
    done = subprocess.run(
        [os.environ["HELM"], "template", release, CHART, "--namespace", NAMESPACE,
         "--kube-version", version, "--values", "-", *settings],
        input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refused(done.stderr)
    return Rendered(done.stdout)
