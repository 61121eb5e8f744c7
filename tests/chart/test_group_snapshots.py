# SPDX-License-Identifier: Apache-2.0
"""Snapshots of several volumes: when they are on, and what is installed for them."""

import pytest

import value_sets
from rendering import Refused, render

SNAPSHOT = "snapshot.storage.k8s.io/v1/VolumeSnapshot"
API = "groupsnapshot.storage.k8s.io/v1"
KIND = f"{API}/VolumeGroupSnapshot"
GATE = "--feature-gates=CSIVolumeGroupSnapshot=true"
READ = ["get", "list", "watch"]


def rights_on_groups(rendered):
    roles = [role for role in rendered.all("ClusterRole")
             if role["metadata"]["name"] == "holdfast-snapshotter"]
    return [(resource, rule["verbs"]) for role in roles for rule in role["rules"]
            if rule["apiGroups"] == ["groupsnapshot.storage.k8s.io"]
            for resource in rule["resources"]]


def are_on(rendered):
    """Returns whether they are on; all that belongs to them is there or none of it."""
    snapshotter = "snapshotter" in rendered.containers("controller")
    said = {snapshotter and GATE in rendered.flags("controller", "snapshotter"),
            bool(rendered.all("VolumeGroupSnapshotClass")), bool(rights_on_groups(rendered))}
    [said] = said
    if not said:
        assert "groupsnapshot" not in rendered.text
    return said


@pytest.mark.parametrize("values, apis, on", [
    ([], [], False), ([], [SNAPSHOT], False), ([], [SNAPSHOT, KIND], True), ([], [KIND], False),
    # An older cluster has the API in other versions.
    ([], [SNAPSHOT, "groupsnapshot.storage.k8s.io/v1beta2/VolumeGroupSnapshot"], False),
    (["snapshots.groups=false"], [SNAPSHOT, KIND], False),
    (["snapshots.groups=true"], [SNAPSHOT], True),
    (["snapshots.groups=true"], [], False),  # without snapshots there is no sidecar
    (["snapshots.groups=true", "snapshots.enabled=true"], [], True),
    (["snapshots.enabled=false"], [SNAPSHOT, KIND], False)])
def test_the_values_and_the_cluster_decide(values, apis, on):
    assert are_on(render(*values, apis=apis)) is on


def test_rights_of_the_sidecar_are_these():
    """Those of external-snapshotter, without an `update` that it never sends."""
    assert rights_on_groups(render(text=value_sets.GROUP_SNAPSHOTS)) == [
        ("volumegroupsnapshotclasses", READ),
        ("volumegroupsnapshotcontents", [*READ, "patch"]),
        ("volumegroupsnapshotcontents/status", ["update", "patch"])]


def test_there_is_one_default_class():
    [made] = render("snapshots.enabled=true", "snapshots.groups=true",
                    "driverName=disks.example.com").all("VolumeGroupSnapshotClass")
    assert made["apiVersion"] == API
    assert made["metadata"]["name"] == "holdfast"
    assert made["metadata"]["annotations"] == {
        "groupsnapshot.storage.kubernetes.io/is-default-class": "true"}
    assert (made["driver"], made["deletionPolicy"]) == ("disks.example.com", "Delete")
    assert "parameters" not in made


def test_classes_are_as_given():
    rendered = render(text=value_sets.GROUP_SNAPSHOTS)
    kept = rendered.one("VolumeGroupSnapshotClass", "kept")
    assert kept["deletionPolicy"] == "Retain"
    assert "annotations" not in kept["metadata"]
    backups = rendered.one("VolumeGroupSnapshotClass", "backups")
    assert backups["parameters"] == {"maxFreeze": "500ms"}
    assert backups["metadata"]["annotations"] == {
        "groupsnapshot.storage.kubernetes.io/is-default-class": "true",
        "example.com/purpose": "nightly"}
    assert backups["metadata"]["labels"]["velero.io/csi-volumegroupsnapshot-class"] == "true"


@pytest.mark.parametrize("classes, said", [
    ("[{name: a}, {name: a}]", "two classes are named 'a'"),
    ("[{name: a, default: true}, {name: b, default: true}]", "both 'a' and 'b' are the default"),
    ("[{name: a, parameters: {consistency: crash}}]", "consistency"),
    ("[{name: a, annotations: {groupsnapshot.storage.kubernetes.io/is-default-class: 'true'}}]",
     "set default instead")])
def test_classes_that_cannot_be_are_refused(classes, said):
    with pytest.raises(Refused, match=said):
        render("snapshots.enabled=true", "snapshots.groups=true",
               text=f"groupSnapshotClasses: {classes}")
