# SPDX-License-Identifier: Apache-2.0
"""Devices and mounts that are not the volume's: none is used, detached, unmounted or waited for."""

import contextlib
import os
import pathlib
import subprocess
import threading

import grpc
import pytest

import content
import host
import mount_table
import pool_disk
from csi_client import code_of, outcome, refused
from kubelet import PersistentVolume
from pool_disk import run

UNKNOWN = "default:test-node:00000000-0000-5000-8000-000000000000"
BLOCK = {"access": "block"}
EXT4 = {"filesystem": "ext4"}
NUMBER_ATTEMPTS = 5


def new_volume(driver, name, kind):
    return PersistentVolume(driver.create(name, **kind).volume_id, name, **kind)


@pytest.fixture
def volume(driver):
    return new_volume(driver, "pv", EXT4)


@pytest.fixture
def block(driver):
    return new_volume(driver, "pv-block", BLOCK)


@pytest.fixture
def copied(driver, directory):
    """Copies the pool as a backup does, and attaches a volume's image in it as an admin does."""
    with contextlib.ExitStack() as devices:
        def attach(volume):
            run("cp", "-a", driver.pool, directory / "backup")
            copy = directory / "backup" / "volumes" / volume.handle[-36:] / "image"
            device = pool_disk.attach(copy)
            devices.callback(detach_if_attached, device, copy)
            return device, copy
        yield attach


def detach_if_attached(device, file):
    if host.loop_backings().get(device) == str(file):
        run("losetup", "--detach", device)


def unstage(driver, volume_id, path):
    driver.call("NodeUnstageVolume", volume_id=volume_id, staging_target_path=str(path))


def unpublish(driver, volume_id, path):
    driver.call("NodeUnpublishVolume", volume_id=volume_id, target_path=str(path))


# ---- devices


def test_a_device_on_a_copy_of_the_pool_is_not_detached(driver, kubelet, block, copied):
    """Unstage is repeated whenever its answer was lost."""
    kubelet.stage_block(block)
    path = kubelet.block_staging_directory(block)
    unstage(driver, block.handle, path)
    device, copy = copied(block)
    unstage(driver, block.handle, path)
    assert host.loop_backings().get(device) == str(copy)
    kubelet.stage_block(block)
    kubelet.unstage_block(block)
    assert host.loop_backings().get(device) == str(copy)


def test_a_copy_that_is_mounted_does_not_hold_up_an_unstage(driver, kubelet, volume, copied,
                                                             directory):
    kubelet.stage(volume)
    kubelet.unstage(volume)
    device, _ = copied(volume)
    rescue = directory / "rescue"
    rescue.mkdir()
    run("mount", device, rescue)
    kubelet.stage(volume)
    kubelet.unstage(volume)
    unstage(driver, volume.handle, kubelet.global_mount(volume))
    assert mount_table.is_mount_point(rescue)
    run("umount", rescue)


def test_the_copy_of_a_lost_image_is_not_published(driver, kubelet, block, copied, directory):
    kubelet.stage_block(block)
    kubelet.unstage_block(block)
    device, copy = copied(block)
    image = driver.image(block.handle)
    image.unlink()
    kubelet.block_staging_directory(block).mkdir(parents=True)
    kubelet.publish_file(block, "pod").parent.mkdir(parents=True, exist_ok=True)
    with refused("FAILED_PRECONDITION", "not staged"):
        kubelet.node_publish(block, "pod", kubelet.publish_file(block, "pod"), False)
    with refused("FAILED_PRECONDITION", "image"):
        kubelet.node_stage(block)
    assert host.loop_backings().get(device) == str(copy), "it is what the image is restored from"
    run("cp", copy, image)
    kubelet.map_block(block, "pod")
    kubelet.unmap_block(block, "pod")


@pytest.mark.parametrize("kind", [EXT4, BLOCK], ids=["filesystem", "block"])
def test_a_device_of_another_program_on_the_very_image(driver, kubelet, kind):
    """Not used, not detached, and named; a second device would be a second cache."""
    volume = new_volume(driver, "pv", kind)
    stage = kubelet.stage if volume.access == "mount" else kubelet.stage_block
    end = kubelet.unstage if volume.access == "mount" else kubelet.unstage_block
    stage(volume)
    end(volume)
    foreign = pool_disk.attach(driver.image(volume.handle))
    with refused("FAILED_PRECONDITION", f"{foreign}.*losetup -d"):
        stage(volume)
    unstage(driver, volume.handle, kubelet.staging_path(volume))
    with refused("FAILED_PRECONDITION", foreign):
        driver.delete(volume.handle)
    assert host.loop_backings().get(foreign) == str(driver.image(volume.handle))
    run("losetup", "--detach", foreign)
    stage(volume)
    foreign = pool_disk.attach(driver.image(volume.handle))
    end(volume)  # which another device does not hold up
    assert driver.loop(volume.handle) == foreign
    run("losetup", "--detach", foreign)


@pytest.mark.parametrize("kind", [{"provisioning": "thin"}, {"provisioning": "thick"}],
                         ids=["thin", "thick"])
def test_a_number_that_a_pod_still_has_is_given_to_no_other_volume(driver, kubelet, kind):
    def new_block(name):
        handle = driver.create(name, access="block", **kind).volume_id
        return PersistentVolume(handle, name, access="block")

    first, second = new_block("first"), new_block("second")
    kubelet.stage_block(first)
    kubelet.publish_block(first, "pod")
    lost = driver.loop(first.handle)
    run("losetup", "--detach", lost)  # as an administrator's losetup -D does
    assert driver.loop(first.handle) is None
    kubelet.stage_block(second)
    # What the pod's node shows is not tried: the number is free, so it may be any program's device.
    assert driver.loop(second.handle) != lost
    kubelet.unpublish_block(first, "pod")
    kubelet.unstage_block(first)
    kubelet.unstage_block(second)


# ---- mounts


@pytest.mark.parametrize("kind", [EXT4, BLOCK], ids=["filesystem", "block"])
@pytest.mark.parametrize("who", ["another volume", "unknown", "nonsense", "/"])
def test_a_volume_is_not_unpublished_or_unstaged_in_place_of_another(driver, kubelet, kind, who):
    volume, other = new_volume(driver, "pv", kind), new_volume(driver, "other", kind)
    caller = {"another volume": other.handle, "unknown": UNKNOWN}.get(who, who)
    kubelet.start_pod(volume, "pod")
    target = (kubelet.publish_file if kind == BLOCK else kubelet.mount_path)(volume, "pod")
    before = mount_table.mounts_at(target), mount_table.mounts_at(kubelet.staging_path(volume))
    unpublish(driver, caller, target)
    unstage(driver, caller, kubelet.staging_path(volume))
    if kind == EXT4:
        unstage(driver, caller, target)
        unpublish(driver, caller, kubelet.staging_path(volume))
    assert before == (mount_table.mounts_at(target),
                      mount_table.mounts_at(kubelet.staging_path(volume)))
    assert driver.loop(volume.handle)
    kubelet.end_pod(volume, "pod")


def test_a_loop_mount_of_the_host_is_left_alone(driver, volume, new_disk, directory):
    disk = new_disk(32 << 20, mount_point=directory / "target", name="foreign")
    for undo in (unstage, unpublish):
        for caller in (volume.handle, UNKNOWN, "nonsense"):
            with refused("FAILED_PRECONDITION", f"{disk.device}.*left alone"):
                undo(driver, caller, disk.mount_point)
    assert mount_table.is_mount_point(disk.mount_point)


def test_what_is_covered_by_another_volume_is_said_to_be(driver, kubelet, volume):
    other = new_volume(driver, "other", EXT4)
    path = kubelet.mount(volume, "pod")
    kubelet.stage(other)
    run("mount", "--bind", kubelet.global_mount(other), path)
    with refused("FAILED_PRECONDITION", "on top of it"):
        unpublish(driver, volume.handle, path)
    unpublish(driver, other.handle, path)  # the topmost one alone
    assert len(mount_table.mounts_at(path)) == 1
    kubelet.unmount(volume, "pod")
    kubelet.unstage(other)


@pytest.mark.parametrize("record", ["there", "lost"])
def test_the_node_of_a_device_that_was_detached(driver, kubelet, block, record):
    """Only its mount is left; the pod can still be removed."""
    for _ in range(NUMBER_ATTEMPTS):
        kubelet.stage_block(block)
        file = kubelet.publish_block(block, "pod")
        device = driver.loop(block.handle)
        run("losetup", "--detach", device)
        if record == "lost":
            for path in (driver.directory / "state" / "stages").iterdir():
                path.unlink()
        ended = outcome(lambda file=file: unpublish(driver, block.handle, file))
        taken = device in host.loop_backings()  # by a program that we do not know
        if taken and file.exists():  # without a record, the node is the new owner's
            run("umount", file)
            file.unlink()
        assert taken or (ended, file.exists()) == ("OK", False)
        kubelet.unstage_block(block)
        if not taken:
            return
    pytest.fail("other programs took the number each time")


def publish_and_replace(driver, kubelet, block, mine):
    """Publishes a device and gives its number to the file `mine`."""
    for _ in range(NUMBER_ATTEMPTS):
        kubelet.stage_block(block)
        file = kubelet.publish_block(block, "pod")
        device = driver.loop(block.handle)
        run("losetup", "--detach", device)
        with contextlib.suppress(subprocess.CalledProcessError):
            run("losetup", device, mine)
            return file, device
        kubelet.unpublish_block(block, "pod")
        kubelet.unstage_block(block)
    return pytest.fail("other programs took the number each time")


def test_a_node_that_another_device_has_by_now(driver, kubelet, block, directory):
    """An administrator attached a file to the number; only the name in the pod's directory is
    removed."""
    other = new_volume(driver, "other", BLOCK)
    mine = directory / "mine"
    mine.write_bytes(bytes(4096))
    file, device = publish_and_replace(driver, kubelet, block, mine)
    with refused("FAILED_PRECONDITION", "left alone"):
        unpublish(driver, other.handle, file)
    unpublish(driver, block.handle, file)
    assert not file.exists()
    assert host.loop_backings().get(device) == str(mine)
    run("losetup", "--detach", device)
    kubelet.unstage_block(block)


def test_a_refused_unstage_changes_nothing(driver, kubelet, volume):
    path = kubelet.mount(volume, "pod")
    staging = kubelet.global_mount(volume)
    before = mount_table.mounts_at(staging)
    with refused("FAILED_PRECONDITION", str(path)):
        unstage(driver, volume.handle, staging)
    assert mount_table.mounts_at(staging) == before
    kubelet.publish(volume, "second")  # which needs the staging
    kubelet.unpublish(volume, "second")
    kubelet.unmount(volume, "pod")


def test_an_unstage_where_mounts_are_seen_twice(driver, kubelet, volume, directory):
    """kubelet's directory is mounted a second time, as on some hosts: this is not another use."""
    kubelet.root.mkdir()
    twin = directory / "twin"
    twin.mkdir()
    run("mount", "--bind", kubelet.root, kubelet.root)
    run("mount", "--make-shared", kubelet.root)
    run("mount", "--bind", kubelet.root, twin)
    try:
        kubelet.stage(volume)
        staging = kubelet.global_mount(volume)
        copy = twin / staging.relative_to(kubelet.root)
        assert mount_table.is_mount_point(copy)
        unstage(driver, volume.handle, staging)
        assert not mount_table.is_mount_point(copy)
        assert driver.loop(volume.handle) is None
    finally:
        run("umount", twin)
        run("umount", kubelet.root)


# ---- several calls at once


def at_once(*actions):
    """Runs the actions side by side, from one moment on, and returns the outcome of each."""
    barrier, outcomes = threading.Barrier(len(actions)), [None] * len(actions)

    def act(place, action):
        barrier.wait()
        try:
            action()
            outcomes[place] = "OK"
        except grpc.RpcError as error:
            outcomes[place] = code_of(error)

    threads = [threading.Thread(target=act, args=pair) for pair in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_two_volumes_at_one_target_are_never_stacked(driver, kubelet, directory):
    volumes = [new_volume(driver, name, EXT4) for name in ("one", "two")]
    for volume in volumes:
        kubelet.stage(volume)
    target = directory / "target"
    for _ in range(100):
        outcomes = at_once(*(lambda volume=volume: kubelet.node_publish(volume, "p", target, False)
                             for volume in volumes))
        assert sorted(outcomes) in (["ABORTED", "OK"], ["ALREADY_EXISTS", "OK"]), outcomes
        assert len(mount_table.mounts_at(target)) == 1
        for volume in volumes:
            unpublish(driver, volume.handle, target)
        assert not target.exists()
    for volume in volumes:
        kubelet.unstage(volume)


def test_statistics_do_not_make_a_mount_busy(driver, kubelet, volume):
    kubelet.stage(volume)
    ended = threading.Event()
    strange = []

    def measure():
        path = kubelet.mount_path(volume, "pod")
        while not ended.is_set():
            try:
                kubelet.stats(volume, path)
            except grpc.RpcError as error:
                if code_of(error) != "NOT_FOUND":
                    strange.append(error.details())

    threads = [threading.Thread(target=measure) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(150):
            kubelet.publish(volume, "pod")
            kubelet.unpublish(volume, "pod")
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert not strange
    kubelet.unstage(volume)


# ---- paths and flags


@pytest.mark.parametrize("kind", [EXT4, BLOCK], ids=["filesystem", "block"])
def test_an_expansion_where_the_volume_is_not(driver, kubelet, kind, directory):
    volume = new_volume(driver, "pv", kind)
    kubelet.start_pod(volume, "pod")
    places = ([kubelet.publish_file(volume, "pod"), kubelet.device_path(volume, "pod"),
               kubelet.device_link(volume, "pod"), driver.loop(volume.handle)] if kind == BLOCK
              else [kubelet.mount_path(volume, "pod"), kubelet.staging_path(volume)])
    for path in places:
        kubelet.expand(volume, path, 1)
    for path in (directory, directory / "nothing", directory / "nothing" / "below", "/dev/null"):
        with refused("NOT_FOUND", "is not at"):
            kubelet.expand(volume, path, 1)
    kubelet.end_pod(volume, "pod")


@pytest.mark.parametrize("flag", ["ro=vfs", "ro=recursive", "rw=fs", "noexec=recursive", "ro="])
def test_a_flag_of_the_mount_takes_no_value(driver, kubelet, flag):
    volume = PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4", flags=(flag,))
    with refused("INVALID_ARGUMENT", f"'{flag.split('=')[0]}' takes no value"):
        kubelet.stage(volume)
    assert driver.loop(volume.handle) is None


def test_content_survives_the_strangers(driver, kubelet, volume, copied, directory):
    """All of it in one life of a volume with data."""
    path = kubelet.mount(volume, "pod")
    checksum = content.write(path / "data")
    os.sync()
    copied(volume)
    with refused("FAILED_PRECONDITION"):
        unstage(driver, volume.handle, kubelet.global_mount(volume))
    unpublish(driver, UNKNOWN, path)
    assert content.checksum(path / "data") == checksum
    driver.crash()
    assert content.checksum(path / "data") == checksum
    kubelet.unmount(volume, "pod")
    assert driver.loop(volume.handle) is None
    path = pathlib.Path(kubelet.mount(volume, "pod"))
    assert content.checksum(path / "data") == checksum
    kubelet.unmount(volume, "pod")
