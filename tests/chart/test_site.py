# SPDX-License-Identifier: Apache-2.0
"""What a site adds to the chart: names, a mirror of images, labels, flags, OpenShift."""

import pytest

import value_sets
from rendering import render

MIRROR = "mirror.example.com:5000/copies"
SIDECARS = {"provisioner", "resizer", "snapshotter", "attacher", "health-monitor", "registrar"}


@pytest.fixture(name="site")
def site_fixture():
    return render("node.sidecars=true", "snapshots.enabled=true", "attachRequired=true",
                  text=value_sets.SITE)


def containers(rendered):
    return [container for component in ("controller", "node")
            for container in rendered.pod(component)["containers"]]


def test_every_object_has_the_name_that_is_wanted(site):
    named = [found for found in site.objects if found["kind"] not in (
        "StorageClass", "VolumeSnapshotClass", "CSIDriver")]
    assert len(named) > 10
    assert {found["metadata"]["name"].split("-")[0] for found in named} == {"storage"}
    assert "--link-controller=storage-controller.holdfast-system.svc:9443" in site.flags("node")
    subject = "--link-token-subject=system:serviceaccount:holdfast-system:storage-node"
    assert subject in site.flags("controller")
    assert site.pod("node")["serviceAccountName"] == "storage-node"


def test_all_images_come_from_the_mirror(site):
    images = {container["name"]: container["image"] for container in containers(site)}
    assert images.keys() == SIDECARS | {"holdfast"}
    assert all(image.startswith(f"{MIRROR}/") for image in images.values()), images
    assert images["holdfast"].startswith(f"{MIRROR}/holdfast:")
    assert images["holdfast"].endswith(f"@{value_sets.DIGEST}")
    assert images["provisioner"].startswith(f"{MIRROR}/sig-storage/csi-provisioner:v")
    test = site.one("Pod")["spec"]["containers"][0]["image"]
    assert test.startswith(f"{MIRROR}/library/busybox:")


@pytest.mark.parametrize("given, image", [
    ("holdfast", "mirror/holdfast"), ("team/holdfast", "mirror/team/holdfast"),
    ("localhost/holdfast", "mirror/holdfast"), ("localhost:5000/a/holdfast", "mirror/a/holdfast"),
    ("registry.example.com/a/holdfast", "mirror/a/holdfast")])
def test_a_mirror_replaces_the_registry_alone(given, image):
    rendered = render(f"image.repository={given}", "imageRegistry=mirror", "image.tag=v1")
    assert rendered.container("node", "holdfast")["image"] == f"{image}:v1"


def test_flags_and_variables_come_after_those_of_the_chart(site):
    for component in ("controller", "node"):
        driver = site.container(component, "holdfast")
        assert driver["args"][-1] == "--log-format=text"
        assert driver["env"][-1] == {"name": "GRPC_TRACE", "value": "http"}
        assert len(driver["args"]) > 5 and len(driver["env"]) > 1
    for container in containers(site):
        if container["name"] in SIDECARS:
            assert container["args"][-1] == "--v=5"
            assert len(container["args"]) > 1


def test_labels_and_annotations_are_where_they_are_wanted(site):
    made = site.one("StorageClass")["metadata"]
    assert made["labels"]["tier"] == "fast"
    assert made["annotations"] == {"storageclass.kubernetes.io/is-default-class": "true",
                                   "example.com/owner": "storage"}
    for kind in ("Deployment", "DaemonSet"):
        assert site.one(kind)["spec"]["template"]["metadata"]["labels"]["cost-center"] == "7"
    for account in site.all("ServiceAccount"):
        assert account["metadata"]["annotations"] == {"example.com/role": "storage"}
    assert not [account for account in render().all("ServiceAccount")
                if "annotations" in account["metadata"]]


def test_openshift_chooses_the_users_and_lets_the_nodes_be_privileged():
    rendered = render("openshift=true")
    for pod in (rendered.pod("controller"), rendered.one("Pod")["spec"]):
        assert not {"runAsUser", "runAsGroup", "fsGroup"} & pod["securityContext"].keys()
    binding = rendered.one("RoleBinding", "holdfast-node-privileged")
    assert binding["roleRef"]["name"] == "system:openshift:scc:privileged"
    assert [subject["name"] for subject in binding["subjects"]] == ["holdfast-node"]
    assert "openshift" not in render().text
