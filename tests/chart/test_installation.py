# SPDX-License-Identifier: Apache-2.0
"""Helm and kubectl with a real API server: it accepts everything, and upgrades keep
certificates."""

import json
import subprocess

import pytest

import api_server
from go_tools import REPOSITORY
from rendering import NAMESPACE
from value_sets import VALUE_SETS

# Kinds whose definitions only their own projects install.
NEEDS_OTHERS = {"cert-manager", "Prometheus operator and Grafana"}
NEEDS_SNAPSHOTS = {name for name in VALUE_SETS if name.startswith("snapshots")}


def certificates(server):
    secrets = json.loads(server.kubectl("get", "secrets", "-n", NAMESPACE, "-o", "json").stdout)
    return {secret["metadata"]["name"]: secret["data"] for secret in secrets["items"]
            if "link" in secret["metadata"]["name"]}


@pytest.mark.parametrize("name", sorted(
    VALUE_SETS.keys() - NEEDS_OTHERS - NEEDS_SNAPSHOTS - {"attaching"}))
def test_the_api_server_takes_every_way_to_install(release, name):
    release.upgrade(**VALUE_SETS[name])


@pytest.mark.parametrize("name", sorted(NEEDS_SNAPSHOTS))
def test_the_api_server_takes_every_way_to_have_snapshots(release, snapshot_api, name):
    release.upgrade(**VALUE_SETS[name])


def test_attaching_is_changed_with_a_new_driver_object(release):
    """As values.yaml says."""
    with pytest.raises(AssertionError, match="immutable"):
        release.upgrade(**VALUE_SETS["attaching"])
    release.server.kubectl("delete", "csidriver", "csi.holdfast.dev")
    release.upgrade(**VALUE_SETS["attaching"])


def test_an_upgrade_keeps_the_certificates(release):
    before = certificates(release.server)
    assert before.keys() == {"holdfast-link-controller", "holdfast-link-node"}
    release.upgrade(["logLevel=debug"])
    assert certificates(release.server) == before


def test_deleting_one_certificate_renews_both(release):
    before = certificates(release.server)
    release.server.kubectl("delete", "secret", "holdfast-link-node", "-n", NAMESPACE)
    release.upgrade()
    after = certificates(release.server)
    assert after.keys() == before.keys()
    assert len({data["ca.crt"] for data in after.values()}) == 1
    for name, data in after.items():
        assert data["tls.crt"] != before[name]["tls.crt"]


def test_the_notes_name_what_is_installed(release):
    notes = release.server.helm("get", "notes", "holdfast", "--namespace", NAMESPACE).stdout
    for word in ("csi.holdfast.dev", "helm test -n holdfast-system holdfast", "holdfast-xfs",
                 "deployment/holdfast-controller", "daemonset/holdfast-node"):
        assert word in notes


def test_the_notes_name_the_secrets_of_pools_in_ceph(release):
    release.upgrade(**VALUE_SETS["pools in Ceph"])
    notes = release.server.helm("get", "notes", "holdfast", "--namespace", NAMESPACE).stdout
    assert "  fast: userKey in ceph-controller for client.holdfast-controller, in ceph-n" in notes
    assert "modprobe rbd" in notes
    release.upgrade(**VALUE_SETS["users of pools in Ceph by their classes"])
    notes = release.server.helm("get", "notes", "holdfast", "--namespace", NAMESPACE).stdout
    assert "  fast: userID and userKey in the Secrets that its StorageClasses name" in notes


def test_uninstalling_leaves_nothing_of_the_release(release):
    release.uninstall()
    kinds = ("clusterroles,clusterrolebindings,csidrivers,storageclasses,roles,rolebindings,"
             "secrets,serviceaccounts,services,networkpolicies,deployments,daemonsets")
    left = release.server.kubectl("get", kinds, "-A", "-l", "app.kubernetes.io/name=holdfast",
                                  "-o", "name")
    assert left.stdout == ""
    release.upgrade()


def may(server, account, verb, resource, *where):
    said = server.kubectl("auth", "can-i", verb, resource, *where,
                          f"--as=system:serviceaccount:{NAMESPACE}:{account}", check=False)
    return said.stdout.strip() == "yes"


def test_rights_follow_the_provisioner(release):
    controller, node = "holdfast-controller", "holdfast-node"
    here = ("-n", NAMESPACE)
    assert may(release.server, controller, "create", "persistentvolumes")
    assert may(release.server, controller, "get", "/openid/v1/jwks")
    assert may(release.server, controller, "create", "csistoragecapacities", *here)
    assert not may(release.server, controller, "create", "csistoragecapacities", "-n", "default")
    assert not may(release.server, controller, "get", "secrets", *here)
    assert not may(release.server, node, "get", "persistentvolumes")
    release.upgrade(["provisioning=nodes"])
    assert not may(release.server, controller, "create", "persistentvolumes")
    assert may(release.server, node, "create", "persistentvolumes")


def test_rights_follow_the_secrets_of_classes(release):
    controller, node = "holdfast-controller", "holdfast-node"

    def readable(account, verb="get"):
        named = [(NAMESPACE, "fast-controller"), (NAMESPACE, "wide"), (NAMESPACE, "other"),
                 ("default", "wide"), ("default", "fast-node"), ("default", "fast-controller")]
        return [(where, name) for where, name in named
                if may(release.server, account, verb, f"secret/{name}", "-n", where)]
    assert readable(controller) == []
    release.upgrade(**VALUE_SETS["users of pools in Ceph by their classes"])
    assert readable(controller) == [(NAMESPACE, "fast-controller"), ("default", "wide")]
    assert readable(node) == readable(controller, "list") == readable(controller, "update") == []
    assert not may(release.server, controller, "list", "secrets", "-n", "default")
    release.upgrade(["storageClasses=null"])
    assert readable(controller) == []


def test_kubectl_installs_the_plain_manifests(server):
    directory = REPOSITORY / "deploy" / "kubernetes"
    secrets = subprocess.run([directory / "make-link-certificates"], check=True,
                             capture_output=True, text=True).stdout
    server.kubectl("apply", "-f", directory / "00-namespace.yaml")
    server.kubectl("apply", "-f", "-", text=secrets)
    server.kubectl("apply", "-f", directory)
    # Without the namespace, because nothing here could empty it.
    for path in set(directory.glob("*.yaml")) - {directory / "00-namespace.yaml"}:
        server.kubectl("delete", "-f", path)
    server.kubectl("delete", "-f", "-", text=secrets)
