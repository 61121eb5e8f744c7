# SPDX-License-Identifier: Apache-2.0
"""The link's certificates: both from one authority, with the names that the other side requires."""

import base64
import os
import subprocess

import pytest
import yaml

from go_tools import REPOSITORY
from rendering import NAMESPACE, render

HOST = f"depot-controller.{NAMESPACE}.svc"
YEARS_IN_SECONDS = 9 * 365 * 24 * 3600


def by_the_chart():
    return render(release="depot").all("Secret")


def by_the_script():
    made = subprocess.run([REPOSITORY / "deploy/kubernetes/make-link-certificates"], check=True,
                          env={**os.environ, "RELEASE": "depot"}, capture_output=True, text=True)
    return list(yaml.safe_load_all(made.stdout))


@pytest.fixture(params=[by_the_chart, by_the_script])
def directories(request, tmp_path):
    """Writes the Secrets as a pod sees them, one directory a side."""
    sides = {}
    for secret in request.param():
        side = secret["metadata"]["name"].removeprefix("depot-link-")
        sides[side] = tmp_path / side
        sides[side].mkdir()
        for name, value in secret["data"].items():
            (sides[side] / name).write_bytes(base64.b64decode(value))
    assert sides.keys() == {"controller", "node"}
    return sides


def openssl(*words):
    return subprocess.run(["openssl", *words], check=True, capture_output=True, text=True).stdout


def test_each_side_has_a_certificate_of_the_authority_that_the_other_trusts(directories):
    for side, other, purpose in (("controller", "node", "sslserver"),
                                 ("node", "controller", "sslclient")):
        openssl("verify", "-CAfile", directories[other] / "ca.crt", "-purpose", purpose,
                directories[side] / "tls.crt")


def test_the_controllers_certificate_names_the_host_that_nodes_dial(directories):
    assert f"--link-controller={HOST}:9443" in render(release="depot").flags("node")
    openssl("verify", "-CAfile", directories["node"] / "ca.crt", "-verify_hostname", HOST,
            directories["controller"] / "tls.crt")


def test_keys_belong_to_their_certificates_and_last(directories):
    for directory in directories.values():
        certificate, key = directory / "tls.crt", directory / "tls.key"
        assert openssl("x509", "-in", certificate, "-noout", "-pubkey") == \
            openssl("pkey", "-in", key, "-pubout")
        openssl("x509", "-in", certificate, "-noout", "-checkend", str(YEARS_IN_SECONDS))


def test_the_key_of_the_authority_is_nowhere():
    for secret in by_the_chart() + by_the_script():
        assert secret["data"].keys() == {"tls.crt", "tls.key", "ca.crt"}


def test_cert_manager_is_asked_for_the_same_names():
    chart = render("link.certificates=cert-manager", release="depot")
    assert not chart.all("Secret")
    names = {found["spec"]["secretName"]: found["spec"].get("dnsNames")
             for found in chart.all("Certificate")}
    assert names == {"depot-link-ca": None, "depot-link-controller": [HOST],
                     "depot-link-node": ["depot-node"]}
    mounted = {component: [volume["secret"]["secretName"] for volume in
                           chart.pod(component)["volumes"] if "secret" in volume]
               for component in ("controller", "node")}
    assert mounted == {"controller": ["depot-link-controller"], "node": ["depot-link-node"]}


def test_existing_secrets_are_mounted():
    chart = render("link.certificates=secret", "link.controllerSecret=y", "link.nodeSecret=n")
    assert not chart.all("Secret")
    assert "y" in [volume["secret"]["secretName"] for volume in chart.pod("controller")["volumes"]
                   if "secret" in volume]
