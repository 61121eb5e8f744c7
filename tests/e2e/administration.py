# SPDX-License-Identifier: Apache-2.0
"""What an administrator does: kubectl, with the plugin in the release."""

import json
import os
import pathlib
import subprocess

KUBECTL_HOLDFAST = pathlib.Path(__file__).resolve().parents[2] / "deploy/kubectl/kubectl-holdfast"


def _environment(cluster):
    return {**os.environ, "KUBECONFIG": str(cluster.control_plane.admin),
            "PATH": f"{cluster.tools}:{os.environ['PATH']}"}


def objects(cluster, kinds="persistentvolumes,volumesnapshotcontents"):
    """As kubectl prints them."""
    return subprocess.run(["kubectl", "get", kinds, "--all-namespaces", "--output", "json"],
                          env=_environment(cluster), text=True, stdout=subprocess.PIPE,
                          check=True).stdout


def holdfast(cluster, *words, given=None):
    """`kubectl holdfast`, with that text on its standard input."""
    return subprocess.run([KUBECTL_HOLDFAST, *words], env=_environment(cluster), input=given,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def listed(cluster, verb, *flags):
    """The entries of a list, which is complete."""
    done = holdfast(cluster, *verb.split(), *flags, "--output=json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)[verb.split()[0]]


def audited(cluster, *flags):
    """The result of `holdfast audit`."""
    return holdfast(cluster, "audit", *flags, "-", given=objects(cluster))


def run_script(cluster, text):
    """Runs commands that were printed to be run."""
    done = subprocess.run(["sh", "-euc", text], env=_environment(cluster), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout


def apply(cluster, text):
    """Creates the objects of a JSON text."""
    done = subprocess.run(["kubectl", "apply", "--filename", "-"], env=_environment(cluster),
                          input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    assert done.returncode == 0, done.stdout
