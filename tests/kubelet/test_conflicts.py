# SPDX-License-Identifier: Apache-2.0
"""Requests that contradict a volume's properties or its present use."""

import pytest

import content
import csi_client
from csi_client import refused
from kubelet import PersistentVolume


@pytest.fixture
def volume(driver):
    return PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4")


@pytest.fixture
def block(driver):
    return PersistentVolume(driver.create("pv", access="block").volume_id, "pv", access="block")


def stage(driver, kubelet, volume, **capability):
    wanted = {"access": volume.access, "filesystem": volume.filesystem} | capability
    path = kubelet.staging_path(volume)
    path.mkdir(parents=True, exist_ok=True)
    driver.call("NodeStageVolume", volume_id=volume.handle, staging_target_path=str(path),
                volume_capability=csi_client.capability(**wanted))


def publish(driver, kubelet, volume, pod, read_only=False, **capability):
    wanted = {"access": volume.access, "filesystem": volume.filesystem} | capability
    target = (kubelet.mount_path(volume, pod) if volume.access == "mount"
              else kubelet.publish_file(volume, pod))
    target.parent.mkdir(parents=True, exist_ok=True)
    driver.call("NodePublishVolume", volume_id=volume.handle, target_path=str(target),
                staging_target_path=str(kubelet.staging_path(volume)), readonly=read_only,
                volume_capability=csi_client.capability(**wanted))


@pytest.mark.parametrize("difference", [
    {"mode": "SINGLE_NODE_SINGLE_WRITER"}, {"flags": ["noatime"]}])
def test_a_stage_that_differs_from_the_present_one(driver, kubelet, volume, difference):
    kubelet.stage(volume)
    with refused("ALREADY_EXISTS", "staged"):
        stage(driver, kubelet, volume, **difference)
    driver.crash()
    with refused("ALREADY_EXISTS", "staged"):
        stage(driver, kubelet, volume, **difference)
    kubelet.stage(volume)
    kubelet.unstage(volume)
    stage(driver, kubelet, volume, **difference)
    kubelet.unstage(volume)


def test_a_read_only_stage_differs_from_a_writable_one(driver, kubelet, volume):
    kubelet.stage(volume)
    with refused("ALREADY_EXISTS"):
        stage(driver, kubelet, volume, mode="SINGLE_NODE_READER_ONLY")
    kubelet.unstage(volume)


@pytest.mark.parametrize(("access", "difference"), [
    ("mount", {"mode": "SINGLE_NODE_SINGLE_WRITER"}), ("mount", {"flags": ["noatime"]}),
    ("mount", {"read_only": True}), ("block", {"mode": "SINGLE_NODE_SINGLE_WRITER"}),
    ("block", {"read_only": True})])
def test_a_publish_that_differs_from_the_present_one(driver, kubelet, request, access, difference):
    volume = request.getfixturevalue("volume" if access == "mount" else "block")
    stage(driver, kubelet, volume)
    publish(driver, kubelet, volume, "pod")
    with refused("ALREADY_EXISTS", "published"):
        publish(driver, kubelet, volume, "pod", **difference)
    driver.crash()
    with refused("ALREADY_EXISTS", "published"):
        publish(driver, kubelet, volume, "pod", **difference)
    publish(driver, kubelet, volume, "pod")
    kubelet.end_pod(volume, "pod")


def test_a_second_staging_place(driver, kubelet, volume, directory):
    kubelet.stage(volume)
    (directory / "second").mkdir()
    with refused("FAILED_PRECONDITION", "already staged"):
        driver.call("NodeStageVolume", volume_id=volume.handle,
                    staging_target_path=str(directory / "second"),
                    volume_capability=volume.capability())
    kubelet.unstage(volume)


def test_what_a_volume_is_not(driver, kubelet, volume):
    for difference in ({"access": "block", "filesystem": ""}, {"filesystem": "xfs"},
                       {"mode": "MULTI_NODE_MULTI_WRITER"}, {"filesystem": "ntfs"}):
        with refused("FAILED_PRECONDITION"):
            stage(driver, kubelet, volume, **difference)
    assert driver.loop(volume.handle) is None, "a refused stage leaves nothing"
    assert driver.record(volume.handle)["state"] == "ready"


@pytest.mark.parametrize("flags", [["no-such-flag"], ["bind"], ["loop"], ["ro,remount"],
                                   ["context=\"a\nb\""], [""]])
def test_bad_mount_flags(driver, kubelet, volume, flags):
    with refused("INVALID_ARGUMENT"):
        stage(driver, kubelet, volume, flags=flags)
    assert driver.loop(volume.handle) is None
    kubelet.stage(volume)
    kubelet.unstage(volume)


def test_publish_without_a_stage(driver, kubelet, volume):
    kubelet.global_mount(volume).mkdir(parents=True)
    with refused("FAILED_PRECONDITION", "not staged"):
        publish(driver, kubelet, volume, "pod")
    with refused("NOT_FOUND"):
        kubelet.stats(volume, kubelet.mount_path(volume, "pod"))


def test_publish_without_a_staging_directory(driver, kubelet, volume):
    with refused("FAILED_PRECONDITION"):
        publish(driver, kubelet, volume, "pod")


@pytest.mark.parametrize("access", ["mount", "block"])
@pytest.mark.parametrize("published", [False, True])
def test_a_volume_in_use_is_not_deleted(driver, kubelet, request, access, published):
    volume = request.getfixturevalue("volume" if access == "mount" else "block")
    stage(driver, kubelet, volume)
    if published:
        publish(driver, kubelet, volume, "pod")
    record = driver.record(volume.handle)
    for _ in range(2):
        with refused("FAILED_PRECONDITION", "in use"):
            driver.delete(volume.handle)
        driver.crash()
    assert driver.record(volume.handle) == record
    assert driver.listed() == [volume.handle]
    path = kubelet.start_pod(volume, "pod")
    content.write(path if access == "block" else path / "data")
    kubelet.end_pod(volume, "pod")
    driver.delete(volume.handle)
    assert driver.listed() == []


@pytest.mark.parametrize("access", ["mount", "block"])
def test_a_volume_in_use_is_not_deleted_even_without_a_stage_record(driver, kubelet, request,
                                                                   access):
    volume = request.getfixturevalue("volume" if access == "mount" else "block")
    kubelet.start_pod(volume, "pod")
    for record in (driver.directory / "state" / "stages").iterdir():
        record.unlink()
    with refused("FAILED_PRECONDITION", "in use"):
        driver.delete(volume.handle)
    assert driver.listed() == [volume.handle]
    kubelet.end_pod(volume, "pod")


@pytest.mark.parametrize("difference", [
    {"size": 128 << 20}, {"filesystem": "xfs"}, {"access": "block"}, {"provisioning": "thick"},
    {"mkfsOptions": "-i 8192"}, {"size": 32 << 20, "limit": 48 << 20}])
def test_a_name_that_is_taken(driver, volume, difference):
    with refused("ALREADY_EXISTS", "pv"):
        driver.create("pv", **{"size": 64 << 20} | difference)
    assert driver.create("pv", size=32 << 20).volume_id == volume.handle
