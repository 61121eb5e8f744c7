# SPDX-License-Identifier: Apache-2.0
"""kubectl-holdfast finds the controller of a chart that is installed anywhere, and runs holdfast in it."""

import json
import os
import subprocess

import pytest

from go_tools import REPOSITORY
from rendering import render

SCRIPT = REPOSITORY / "deploy/kubectl/kubectl-holdfast"
# A cluster has no kubelet here that could run anything in a pod: this notes what it would be asked.
STAND_IN = """#!/usr/bin/python3
import json, os, sys
if sys.argv[1] == "get":
    selector = sys.argv[sys.argv.index("--selector") + 1]
    wanted = dict(pair.split("=") for pair in selector.split(","))
    for there in json.loads(os.environ[sys.argv[2].upper()]):
        named = "--namespace" not in sys.argv or (
            sys.argv[sys.argv.index("--namespace") + 1] == there["namespace"])
        if named and wanted.items() <= there["labels"].items():
            print(there["namespace"], there["name"])
else:
    print(json.dumps(sys.argv[1:]))
    sys.exit(7)
"""


def deployments(release, namespace):
    rendered = render(release=release)
    return [{**found["metadata"], "namespace": namespace} for found in rendered.all("Deployment")]


@pytest.fixture
def run(tmp_path):
    stand_in = tmp_path / "kubectl"
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)

    def begin(there, *words, **environment):
        return subprocess.run(
            [SCRIPT, *words], env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}",
                                   "DEPLOYMENTS": json.dumps(there), **environment},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
    return begin


def test_it_runs_holdfast_in_the_controllers_pod(run):
    done = run(deployments("depot", "storage"), "volumes", "--namespace", "a b", "--output=json")
    assert json.loads(done.stdout) == [
        "exec", "--namespace", "storage", "deployment/depot-controller", "--container", "holdfast", "--",
        "holdfast", "volumes", "--namespace", "a b", "--output=json"]
    assert done.returncode == 7, "the exit code is that of holdfast"


@pytest.mark.parametrize("words", [("audit", "-"), ("audit", "--adopt", "-"),
                                   ("delete-volumes", "--pvs=-", "default:n1:x")])
def test_standard_input_is_passed_on_to_what_reads_it(run, words):
    done = run(deployments("depot", "storage"), *words)
    assert json.loads(done.stdout) == [
        "exec", "--stdin", "--namespace", "storage", "deployment/depot-controller", "--container",
        "holdfast", "--", "holdfast", *words]


def test_without_a_controller_it_says_what_it_looks_for(run):
    done = run([])
    assert (done.returncode, done.stdout) == (1, "")
    assert "app.kubernetes.io/component=controller" in done.stderr


def test_of_several_installations_one_is_chosen(run):
    there = deployments("depot", "storage") + deployments("other", "elsewhere")
    done = run(there, "nodes")
    assert done.returncode == 1 and "HOLDFAST_NAMESPACE" in done.stderr
    assert "storage" in done.stderr and "elsewhere" in done.stderr
    done = run(there, "nodes", HOLDFAST_NAMESPACE="elsewhere")
    assert json.loads(done.stdout)[1:4] == ["--namespace", "elsewhere", "deployment/other-controller"]


@pytest.mark.parametrize("values", [(), ("provisioning=nodes",), ("node.sidecars=true",)])
def test_the_drivers_containers_know_their_socket(values):
    rendered = render(*values)
    for component in ("controller", "node"):
        container = rendered.container(component, "holdfast")
        endpoint, = [entry["value"] for entry in container["env"]
                     if entry["name"] == "CSI_ENDPOINT"]
        path = endpoint.removeprefix("unix://")
        assert any(path.startswith(mount["mountPath"] + "/") for mount in container["volumeMounts"])
        assert not [flag for flag in container["args"] if flag.startswith("--endpoint")]


def test_sidecars_name_what_they_work_for():
    for values, component in (((), "controller"), (("provisioning=nodes",), "node")):
        rendered = render("snapshots.enabled=true", *values)
        assert "--extra-create-metadata" in rendered.flags(component, "provisioner")
        assert "--extra-create-metadata" in rendered.flags("controller", "snapshotter")
    assert render().one("CSIDriver")["spec"]["podInfoOnMount"] is True
