# SPDX-License-Identifier: Apache-2.0
"""The caps of the two Ceph users in docs/ceph.md: each side's caps suffice, and the node has fewer.

tests/e2e-rbd tests the node's kernel with these caps in a cluster.
"""

import subprocess

import pytest

import ceph_users
import cluster as cluster_module
import csi_client
import driver as driver_module
import driver_fixtures
import link_files
from csi_client import refused
from pytest_run import REPOSITORY
from rbd_driver import image_of, residue

SIZE = 64 * driver_module.MIB
NAMESPACE = "caps"


@pytest.fixture(params=["", NAMESPACE])
def place(request, ceph):
    """The Ceph pool, or a namespace in it."""
    if not request.param:
        return "rbd"
    ceph.rbd("namespace", "create", f"rbd/{NAMESPACE}")
    request.addfinalizer(lambda: ceph.rbd("namespace", "remove", f"rbd/{NAMESPACE}"))
    return f"rbd/{NAMESPACE}"


@pytest.fixture
def pools(ceph, place):
    """The --pool flag of each side, each with its own user."""
    flags = {}
    for side in ("controller", "node"):
        user = f"{side}-{place.replace('/', '-')}"
        keyring = ceph.make_user(user, *ceph_users.caps(side, *place.split("/")))
        flags[side] = (f"--pool=ceph=rbd:{place},monitors={ceph.monitors},user={user},"
                       f"keyring={keyring}")
    return flags


@pytest.fixture
def linked(directory, ceph, pools, place):
    authority = link_files.Authority(directory / "ca")
    controller = cluster_module.Controller(
        driver_fixtures.binary(), directory / "controller",
        authority.issue("controller", directory / "controller-tls"), [pools["controller"]])
    (directory / "n1").mkdir()
    node = cluster_module.Node(driver_fixtures.binary(), directory / "n1", "n1", controller.port,
                               authority.issue("n1", directory / "n1-tls"), "", [pools["node"]])
    made = cluster_module.Cluster(directory, authority, controller.start(), {"n1": node})
    yield made
    problems = [node.server.stop() if node.server.process else None, *node.leftovers(),
                controller.server.stop()]
    assert not list(filter(None, problems)), controller.log()[-6000:]
    assert residue(ceph, place.partition("/")[2]) == []


@pytest.mark.slice
def test_they_suffice(linked, ceph, place, directory):
    volume = linked.call("CreateVolume", name="pvc-1", capacity_range=csi_client.at_least(SIZE),
                         volume_capabilities=[csi_client.capability("mount", "ext4")],
                         parameters={"provisioning": "thin", "pool": "ceph"}).volume
    linked.call("ControllerExpandVolume", volume_id=volume.volume_id,
                capacity_range=csi_client.at_least(2 * SIZE))
    condition = linked.call("ControllerGetVolume",
                            volume_id=volume.volume_id).status.volume_condition
    assert not condition.abnormal and "not known" not in condition.message, condition.message
    assert len(linked.call("ListVolumes").entries) == 1
    assert linked.call("GetCapacity", parameters={
        "provisioning": "thin", "pool": "ceph"}).available_capacity > 0
    node = linked.nodes["n1"]
    node.start()
    staging = directory / "staging"
    staging.mkdir()
    # Everything but the kernel's part, which this machine lacks or another test has: record, image.
    with refused("FAILED_PRECONDITION", "this kernel has no rbd"):
        node.call("NodeStageVolume", volume_id=volume.volume_id, staging_target_path=str(staging),
                  volume_capability=csi_client.capability("mount", "ext4"))
    linked.call("DeleteVolume", volume_id=volume.volume_id)


def test_the_nodes_user_makes_and_removes_no_images(linked, ceph, place):
    volume = linked.call("CreateVolume", name="pvc-1", capacity_range=csi_client.at_least(SIZE),
                         volume_capabilities=[csi_client.capability("mount", "ext4")],
                         parameters={"provisioning": "thin", "pool": "ceph"}).volume
    image = image_of(ceph, volume.volume_id, place.partition("/")[2])
    path = f"{place}/{image}"
    for words in (("rbd", "create", "--size", "1M", f"{place}/made"), ("rbd", "rm", path),
                  ("rbd", "rename", path, f"{place}/renamed"), ("rbd", "trash", "mv", path),
                  ("rados", "-p", "rbd", "put", "mine", "/etc/hostname")):
        done = as_node(ceph, place, *words)
        assert done.returncode != 0 and "not permitted" in done.stderr, (words, done)
    assert as_node(ceph, place, "rbd", "info", path).returncode == 0, "the user is right"
    assert ceph.images(place) == [image]
    linked.call("DeleteVolume", volume_id=volume.volume_id)


def as_node(ceph, place, program, *words):
    user = f"node-{place.replace('/', '-')}"
    return subprocess.run(
        [program, "-c", ceph.configuration, "--id", user, "--keyring",
         ceph.directory / f"{user}.keyring", *words], capture_output=True, text=True, check=False)


def test_they_are_those_of_the_documents():
    text = " ".join((REPOSITORY / "docs" / "ceph.md").read_text().replace("\\\n", "").split())
    for side in ceph_users.SIDES:
        wanted = " ".join(f"{service} '{cap}'" for service, cap in
                          ceph_users.caps(side, "kubernetes"))
        assert f"client.holdfast-{side} {wanted}" in text
