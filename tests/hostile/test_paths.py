# SPDX-License-Identifier: Apache-2.0
"""Paths that lead elsewhere: existing links, and links that appear and disappear while a call
runs."""

import contextlib
import os

import grpc
import pytest

import csi_client
import mount_table
import surroundings
from csi_client import refused
from flipping import flipping
from kubelet import PersistentVolume
from pool_disk import run

ROUNDS = 100
LOOP_MAJOR = "7:"


@pytest.fixture
def canary(directory):
    """The links' target. It contains what a call may look for, and nothing in it may change."""
    path = directory / "canary"
    for name in ("mount", "globalmount", "volumes/kubernetes.io~csi/pv/mount", "dev"):
        (path / name).mkdir(parents=True)
        (path / name / "shadow").write_text("secret of the host")
    (path / "empty").mkdir(mode=0o711)
    (path / "file").touch(mode=0o640)
    before = surroundings.files_below(path)
    yield path
    assert surroundings.files_below(path) == before
    assert not [mount for mount in mount_table.read() if mount.point.startswith(f"{path}/")]


@pytest.fixture(params=["ext4", "block"])
def volume(request, driver, kubelet):
    access = "block" if request.param == "block" else "mount"
    handle = driver.create("pv", access=access).volume_id
    return PersistentVolume(handle, "pv", access, "" if access == "block" else "ext4")


def stage(kubelet, volume):
    (kubelet.stage_block if volume.access == "block" else kubelet.stage)(volume)


def unstage(kubelet, volume):
    (kubelet.unstage_block if volume.access == "block" else kubelet.unstage)(volume)


def publish(kubelet, volume, target):
    kubelet.call("NodePublishVolume", volume_id=volume.handle, target_path=str(target),
                 staging_target_path=str(kubelet.staging_path(volume)),
                 volume_capability=volume.capability())


def unpublish(kubelet, volume, target):
    kubelet.call("NodeUnpublishVolume", volume_id=volume.handle, target_path=str(target))


@pytest.fixture
def staged(kubelet, volume):
    stage(kubelet, volume)
    yield volume
    unstage(kubelet, volume)


@pytest.fixture
def pod(kubelet, staged):
    """The directory in which a target is made."""
    path = kubelet.root / "pods" / "uid" / "volumes" / "kubernetes.io~csi" / "pv"
    path.mkdir(parents=True)
    return path


@pytest.mark.parametrize("leads_to", ["empty", "mount", "file", "nowhere"])
def test_a_target_that_is_a_link(kubelet, staged, pod, canary, leads_to):
    target = pod / "mount"
    target.symlink_to(canary / leads_to)
    with refused("FAILED_PRECONDITION", "link"):
        publish(kubelet, staged, target)
    with refused("FAILED_PRECONDITION", "link"):
        unpublish(kubelet, staged, target)
    assert os.readlink(target) == str(canary / leads_to)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_target_below_a_link(kubelet, staged, pod, canary, depth):
    target = pod / "mount"
    component = target.parents[depth - 1]
    moved = component.with_name("moved")
    component.rename(moved)
    component.symlink_to(moved)
    for call in (publish, unpublish):
        with refused("INVALID_ARGUMENT", "target_path .* symbolic link"):
            call(kubelet, staged, target)
    component.unlink()
    component.symlink_to(canary)
    for call in (publish, unpublish):
        with refused("INVALID_ARGUMENT", "target_path .* symbolic link"):
            call(kubelet, staged, target)
    component.unlink()
    moved.rename(component)
    publish(kubelet, staged, target)
    unpublish(kubelet, staged, target)


def test_a_staging_path_that_is_a_link(driver, kubelet, volume, canary):
    staging = kubelet.staging_path(volume)
    staging.parent.mkdir(parents=True)
    staging.symlink_to(canary / "empty")
    if volume.access == "mount":
        with refused("FAILED_PRECONDITION", "link"):
            kubelet.node_stage(volume)
        with refused("FAILED_PRECONDITION", "not staged"):
            publish(kubelet, volume, kubelet.root / "target")
    staging.unlink()
    staging.parent.rmdir()
    staging.parent.symlink_to(canary)
    for call in (kubelet.node_stage, lambda volume: publish(kubelet, volume, kubelet.root / "t")):
        with refused("INVALID_ARGUMENT", "staging_target_path .* symbolic link"):
            call(volume)
    staging.parent.unlink()
    assert driver.loop(volume.handle) is None


REFUSALS = ("INVALID_ARGUMENT", "FAILED_PRECONDITION", "NOT_FOUND", "INTERNAL")


@contextlib.contextmanager
def luck():
    """Whether a call succeeds depends on the moment; if not, then by a plain refusal."""
    try:
        yield
    except grpc.RpcError as error:
        assert csi_client.code_of(error) in REFUSALS, error


def volumes_alone_are_mounted(kubelet, canary):
    """Nothing at all below the canary, and only volumes below kubelet's directory."""
    for mount in mount_table.read():
        assert not mount.point.startswith(f"{canary}/"), f"mounted at {mount.point}"
        if mount.point.startswith(f"{kubelet.root}/"):
            filesystem = mount.root == "/" and mount.device.startswith(LOOP_MAJOR)
            assert filesystem or mount.root.startswith("/loop"), f"{mount} shows the host"


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_links_raced_into_a_target_path(kubelet, staged, pod, canary, depth):
    target = pod / "mount"
    component = target.parents[depth - 1]
    leads_to = canary / "volumes" / "kubernetes.io~csi" / "pv" if depth == 1 else canary
    with flipping(component, leads_to):
        for _ in range(ROUNDS):
            with luck():
                publish(kubelet, staged, target)
            volumes_alone_are_mounted(kubelet, canary)
            with luck():
                unpublish(kubelet, staged, target)
    unpublish(kubelet, staged, target)
    assert not target.exists()


def test_a_target_raced_into_a_link(kubelet, staged, pod, canary):
    target = pod / "mount"
    target.mkdir()
    with flipping(target, canary / "empty"):
        for _ in range(ROUNDS):
            with luck():
                publish(kubelet, staged, target)
                break  # a mount point cannot be exchanged any more: the flipping is over
    unpublish(kubelet, staged, target)


def test_links_raced_into_the_staging_path_of_a_publish(kubelet, staged, pod, canary):
    """The published mount must be the volume, not the place that the path led to a moment later."""
    target = pod / "mount"
    published = 0
    with flipping(kubelet.staging_path(staged).parent, canary):
        for _ in range(ROUNDS):
            with luck():
                publish(kubelet, staged, target)
                published += 1
            volumes_alone_are_mounted(kubelet, canary)
            unpublish(kubelet, staged, target)
    assert published > 0, "no call met the staging directory: nothing was tried"


def test_links_raced_into_the_staging_path_of_a_stage(driver, kubelet, volume, canary):
    staging = kubelet.staging_path(volume)
    staging.mkdir(parents=True)
    with flipping(staging.parent, canary):
        for _ in range(ROUNDS):
            with luck():
                kubelet.node_stage(volume)
            assert not [mount for mount in mount_table.read()
                        if mount.point.startswith(f"{canary}/")]
            with luck():
                kubelet.call("NodeUnstageVolume", volume_id=volume.handle,
                             staging_target_path=str(staging))
    kubelet.call("NodeUnstageVolume", volume_id=volume.handle, staging_target_path=str(staging))
    assert driver.loop(volume.handle) is None


def test_a_target_that_is_no_place_for_a_volume(driver, kubelet, staged, pod, canary):
    """Other programs' mounts and files are left where they are."""
    target = pod / "mount"
    target.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=64k", "precious", target)
    (target / "data").write_text("precious")
    with refused("ALREADY_EXISTS", "precious"):
        publish(kubelet, staged, target)
    with refused("FAILED_PRECONDITION", "which is not a volume"):
        unpublish(kubelet, staged, target)
    assert (target / "data").read_text() == "precious"
    run("umount", target)
    if staged.access == "mount":
        (target / "data").write_text("precious")
        with refused("FAILED_PRECONDITION", "not empty"):
            unpublish(kubelet, staged, target)
        assert (target / "data").read_text() == "precious"
        (target / "data").unlink()
    target.rmdir()
