# SPDX-License-Identifier: Apache-2.0
"""Every way to install produces objects that Kubernetes accepts: the oldest and the newest tested
version."""

import os
import subprocess

import pytest

import json_schemas
from go_tools import KUBERNETES, REPOSITORY
from rendering import CHART, Refused, render
from value_sets import VALUE_SETS

# Kinds of other projects, which Kubernetes' OpenAPI does not describe.
FOREIGN = "Certificate,Issuer,PodMonitor,PrometheusRule"


def validate(manifest, version):
    """Checks each object against the schema of its kind; unknown fields are errors."""
    where = f"{os.environ['HOLDFAST_SCHEMAS']}/{version}/{json_schemas.PATTERN}"
    checked = subprocess.run(
        [os.environ["KUBECONFORM"], "-summary", "-skip", FOREIGN, "-schema-location", where],
        input=manifest, capture_output=True, text=True, check=False)
    return checked.returncode, checked.stdout + checked.stderr


def render_set(name, version=KUBERNETES[-1]):
    values = VALUE_SETS[name]
    return render(*values.get("values", ()), version=version, text=values.get("text", ""))


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("name", VALUE_SETS)
def test_kubernetes_takes_what_the_chart_gives(name, version):
    code, said = validate(render_set(name, version).text, version)
    assert code == 0, said


@pytest.mark.parametrize("version", KUBERNETES)
def test_the_check_finds_a_misspelt_field_and_a_wrong_type(version):
    text = render().text
    for wrong in (text.replace("serviceAccountName:", "serviceaccountName:"),
                  text.replace("replicas: 1", "replicas: one")):
        assert wrong != text
        assert validate(wrong, version)[0] != 0


@pytest.mark.parametrize("version", KUBERNETES)
def test_kubernetes_takes_the_plain_manifests(version):
    directory = REPOSITORY / "deploy" / "kubernetes"
    text = "---\n".join(path.read_text() for path in sorted(directory.glob("*.yaml")))
    secrets = subprocess.run([directory / "make-link-certificates"], check=True,
                             capture_output=True, text=True).stdout
    code, said = validate(f"{text}---\n{secrets}", version)
    assert code == 0, said


def test_the_plain_manifests_are_in_step_with_the_chart():
    tools = os.path.dirname(os.environ["HELM"])
    checked = subprocess.run([REPOSITORY / "scripts" / "manifests", "--check"],
                             env={**os.environ, "HOLDFAST_TOOLS_DIR": tools},
                             capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_lint_finds_nothing():
    linted = subprocess.run([os.environ["HELM"], "lint", "--strict", "--kube-version",
                             KUBERNETES[-1], CHART], capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout


def test_older_kubernetes_is_refused():
    with pytest.raises(Refused, match="kubeVersion"):
        render(version="v1.32.0")
