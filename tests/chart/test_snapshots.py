# SPDX-License-Identifier: Apache-2.0
"""Snapshots: when they are on, and what is installed for them."""

import pytest

import value_sets
from rendering import NAMESPACE, render

API = "snapshot.storage.k8s.io/v1"
KIND = f"{API}/VolumeSnapshot"
CORE = {"holdfast", "provisioner", "resizer"}
READ = ["get", "list", "watch"]
EVENTS = ("", "events", ["list", "watch", "create", "update", "patch"])


def are_on(rendered):
    """Returns whether snapshots are on; all that belongs to them is there or none of it."""
    roles = {role["metadata"]["name"].split("-", 1)[1]: role for role in rendered.all("ClusterRole")}
    said = {"snapshotter" in rendered.containers("controller"),
            bool(rendered.all("VolumeSnapshotClass")),
            "snapshotter" in roles,
            "volumesnapshots" in str(roles["provisioner"])}
    [said] = said
    if not said:
        assert "snapshot" not in rendered.text
    return said


@pytest.mark.parametrize("value, apis, on", [
    ("auto", [], False), ("auto", [KIND], True),
    # The group alone is not enough: an older cluster has it in another version.
    ("auto", ["snapshot.storage.k8s.io/v1beta1/VolumeSnapshot"], False),
    ("auto", [f"{API}/VolumeSnapshotClass"], False),
    ("true", [], True), ("true", [KIND], True), ("false", [], False), ("false", [KIND], False)])
def test_the_value_and_the_cluster_decide(value, apis, on):
    assert are_on(render(f"snapshots.enabled={value}", apis=apis)) is on


@pytest.mark.parametrize("apis, on", [([], False), ([KIND], True)])
def test_by_default_the_cluster_decides(apis, on):
    assert are_on(render(apis=apis)) is on


@pytest.mark.parametrize("name", [name for name in value_sets.VALUE_SETS if "snap" not in name])
def test_every_way_to_install_can_have_them(name):
    values = value_sets.VALUE_SETS[name]
    assert are_on(render(*values.get("values", ()), text=values.get("text", ""), apis=[KIND]))


def test_the_sidecar_is_called_like_the_others():
    rendered = render("snapshots.enabled=true")
    assert rendered.containers("controller") == ["holdfast", "provisioner", "resizer",
                                                 "snapshotter"]
    sidecar = rendered.container("controller", "snapshotter")
    assert sidecar["image"] == "registry.k8s.io/sig-storage/csi-snapshotter:v8.7.0"
    assert sidecar["args"] == ["--csi-address=/csi/csi.sock", "--timeout=60s", "--leader-election",
                               "--extra-create-metadata", "--kube-api-qps=50",
                               "--kube-api-burst=100"]
    resizer = rendered.container("controller", "resizer")
    for field in ("securityContext", "resources", "volumeMounts"):
        assert sidecar[field] == resizer[field]


def test_the_sidecar_is_as_given():
    sidecar = render("snapshots.enabled=true", "snapshotter.image=mirror/s:1",
                     "snapshotter.resources.limits.memory=1Gi").container(
                         "controller", "snapshotter")
    assert sidecar["image"] == "mirror/s:1"
    assert sidecar["resources"]["limits"] == {"memory": "1Gi"}


def test_the_sidecar_stays_with_the_controller_if_the_nodes_provision():
    rendered = render("snapshots.enabled=true", "provisioning=nodes")
    assert rendered.containers("controller") == ["holdfast", "resizer", "snapshotter"]
    assert "snapshotter" not in rendered.containers("node")
    assert "--node-deployment" not in rendered.flags("controller", "snapshotter")


def rights(rendered, purpose):
    """Returns (group, resource, verbs) of each right, and the account that has them."""
    name = f"holdfast-{purpose}"
    [subject] = rendered.one("ClusterRoleBinding", name)["subjects"]
    assert subject["namespace"] == NAMESPACE
    return [(group, resource, rule["verbs"]) for rule in rendered.one("ClusterRole", name)["rules"]
            for group in rule["apiGroups"] for resource in rule["resources"]], subject["name"]


def test_rights_of_the_sidecar_are_these():
    """Those of external-snapshotter without groups of snapshots, and without an `update` that it
    never sends."""
    assert rights(render("snapshots.enabled=true"), "snapshotter") == ([
        ("snapshot.storage.k8s.io", "volumesnapshotclasses", READ),
        ("snapshot.storage.k8s.io", "volumesnapshotcontents", [*READ, "patch"]),
        ("snapshot.storage.k8s.io", "volumesnapshotcontents/status", ["update", "patch"]),
        EVENTS], "holdfast-controller")


@pytest.mark.parametrize("values, account", [
    ([], "holdfast-controller"), (["provisioning=nodes"], "holdfast-node")])
def test_the_provisioner_has_two_more_rights(values, account):
    without, _ = rights(render(*values), "provisioner")
    found, bound = rights(render("snapshots.enabled=true", *values), "provisioner")
    assert [right for right in found if right not in without] == [
        ("snapshot.storage.k8s.io", "volumesnapshots", [*READ, "update"]),
        ("snapshot.storage.k8s.io", "volumesnapshotcontents", ["get"])]
    assert bound == account


def test_nothing_else_has_rights_on_snapshots():
    rendered = render("snapshots.enabled=true", "attachRequired=true", "healthMonitor.enabled=true")
    holders = {role["metadata"]["name"] for role in rendered.all("ClusterRole")
               + rendered.all("Role") if "snapshot" in str(role["rules"])}
    assert holders == {"holdfast-snapshotter", "holdfast-provisioner"}


def test_there_is_one_default_class():
    [made] = render("snapshots.enabled=true", "driverName=disks.example.com").all(
        "VolumeSnapshotClass")
    assert made["apiVersion"] == API
    assert made["metadata"]["name"] == "holdfast"
    assert made["metadata"]["annotations"] == {
        "snapshot.storage.kubernetes.io/is-default-class": "true"}
    assert (made["driver"], made["deletionPolicy"]) == ("disks.example.com", "Delete")
    assert "parameters" not in made


def test_classes_are_as_given():
    rendered = render(text=value_sets.SNAPSHOTS)
    kept = rendered.one("VolumeSnapshotClass", "kept")
    assert kept["deletionPolicy"] == "Retain"
    assert "annotations" not in kept["metadata"]
    backups = rendered.one("VolumeSnapshotClass", "backups")
    assert backups["deletionPolicy"] == "Delete"
    assert backups["parameters"] == {"consistency": "frozen", "maxFreeze": "500ms"}
    assert backups["metadata"]["annotations"] == {
        "snapshot.storage.kubernetes.io/is-default-class": "true",
        "k10.kasten.io/is-snapshot-class": "true"}
    assert backups["metadata"]["labels"] == {
        **kept["metadata"]["labels"], "velero.io/csi-volumesnapshot-class": "true"}


def test_classes_bring_the_users_of_their_pools():
    rendered = render(text=value_sets.SNAPSHOTS_WITH_SECRETS)
    prefix = "csi.storage.k8s.io/snapshotter"
    assert {made["metadata"]["name"]: made.get("parameters")
            for made in rendered.all("VolumeSnapshotClass")} == {
        "local": None,
        "fast": {f"{prefix}-secret-name": "fast-snapshots",
                 f"{prefix}-secret-namespace": NAMESPACE,
                 f"{prefix}-list-secret-name": "fast-snapshots",
                 f"{prefix}-list-secret-namespace": NAMESPACE},
        "wide": {"consistency": "crash",
                 f"{prefix}-secret-name": "wide", f"{prefix}-secret-namespace": "default",
                 f"{prefix}-list-secret-name": "wide",
                 f"{prefix}-list-secret-namespace": "default"}}


def test_there_can_be_no_class():
    rendered = render("snapshots.enabled=true", "snapshotClasses=null")
    assert "snapshotter" in rendered.containers("controller")
    assert not rendered.all("VolumeSnapshotClass")


def test_the_chart_brings_neither_the_api_nor_its_controller():
    rendered = render("snapshots.enabled=true")
    assert not rendered.all("CustomResourceDefinition")
    assert "snapshot-controller" not in str(rendered.objects)


def test_snapshots_come_with_their_api(release, snapshot_api):
    """The fixture brought the API after the chart."""
    def classes():
        return release.server.kubectl("get", "volumesnapshotclasses", "-o", "name").stdout.split()

    def notes():
        return release.server.helm("get", "notes", "holdfast", "--namespace", NAMESPACE).stdout

    assert classes() == []
    assert (f"Snapshots are off, because the cluster does not have the API {API}: install the "
            "CRDs and the snapshot-controller of kubernetes-csi/external-snapshotter, once per "
            "cluster, and run helm upgrade.") in " ".join(notes().split())
    release.upgrade()
    assert classes() == [f"volumesnapshotclass.{API.partition('/')[0]}/holdfast"]
    assert ("Snapshots are on (classes: holdfast), and need the cluster's snapshot-controller, "
            "which this chart does not contain.") in " ".join(notes().split())
    release.upgrade(["snapshots.enabled=false"])
    assert classes() == []
    assert "Snapshots are" not in notes()
