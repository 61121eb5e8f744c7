# SPDX-License-Identifier: Apache-2.0
"""The disk under the pool, or under the state directory, is full: at each level, at each call."""

import errno
import subprocess
import tempfile
import threading
import time

import pytest

import content
import csi_client
import host
import lives
from conditions import assert_abnormal, assert_normal, is_normal
from disk_filler import Filler
from driver import MIB
from kubelet import Kubelet
from waiting import until

KIB = 1 << 10
DISK = 640 * MIB
ROOM_LEFT = (0, 8 * KIB, 64 * KIB, 512 * KIB, 4 * MIB, 24 * MIB)
# Makes the driver provision space that does not exist, so that the disk itself has to refuse.
RECKLESS = ",reserve=0,overcommit=1000,watermark=100%"
REFUSALS = ("RESOURCE_EXHAUSTED", "OUT_OF_RANGE", "INTERNAL", "UNAVAILABLE")
SECONDS = 30
ROUNDS = 12


@pytest.fixture(params=["ext4", "xfs", "btrfs"])
def pool_filesystem(request):
    return request.param


@pytest.fixture
def disk(new_disk, pool_filesystem):
    return new_disk(DISK, filesystem=pool_filesystem)


@pytest.fixture
def filler(disk):
    made = Filler(disk.mount_point)
    (disk.mount_point / "lost+found").mkdir(exist_ok=True)  # only ext4 has these
    return made


@pytest.fixture
def driver(filler, new_driver):
    yield new_driver(RECKLESS)
    filler.give_back()


@pytest.fixture
def kubelet(driver, directory):
    return Kubelet(directory / "kubelet", driver.call)


def until_it_works(action):
    """xfs and btrfs free the space of a deleted file some time later."""
    deadline = time.monotonic() + SECONDS
    while lives.outcome(action, REFUSALS) != "OK":
        assert time.monotonic() < deadline, "it fails although there is room"
        time.sleep(0.05)


def new_volume_in_time(driver, name, provisioning):
    made = []
    until_it_works(lambda: made.append(lives.new_volume(driver, name, provisioning=provisioning)))
    return made[0]


def assert_nothing_half_made(driver, volumes):
    known = sorted(volume.handle[-36:] for volume in volumes)
    assert sorted(path.name for path in (driver.pool / "volumes").iterdir()) == known
    assert not list((driver.pool / "trash").iterdir())
    assert not list(driver.pool.rglob("*.tmp"))


@pytest.mark.parametrize("provisioning", ["thin", "thick"])
def test_creation(driver, kubelet, filler, provisioning):
    kept = lives.keep(driver, kubelet, "kept")
    outcomes = []
    for number, room in enumerate(ROOM_LEFT):
        filler.leave(room)

        def create(name=f"pv-{number}"):
            lives.new_volume(driver, name, provisioning=provisioning)

        outcomes.append(lives.outcome(create, REFUSALS))
        if outcomes[-1] != "OK":
            assert_nothing_half_made(driver, [kept.volume])
        filler.give_back()
        until_it_works(create)
        lives.assert_kept(kubelet, kept)
        driver.delete(next(handle for handle in driver.listed() if handle != kept.volume.handle))
    assert outcomes[0] != "OK"


@pytest.mark.parametrize("provisioning", ["thin", "thick"])
def test_first_stage(driver, kubelet, filler, provisioning):
    """The filesystem of a thin volume needs space when it is created; a thick volume already has
    it."""
    for number, room in enumerate(ROOM_LEFT):
        volume = new_volume_in_time(driver, f"pv-{number}", provisioning)
        filler.leave(room)
        staged = lives.outcome(lambda: kubelet.stage(volume), REFUSALS)
        if staged != "OK":
            assert driver.loop(volume.handle) is None, "a failed stage leaves nothing behind"
            assert driver.record(volume.handle)["state"] != "formatted"
        filler.give_back()
        until_it_works(lambda: kubelet.stage(volume))
        content.write(kubelet.publish(volume, "pod") / "data")
        kubelet.unmount(volume, "pod")
        driver.delete(volume.handle)


@pytest.mark.parametrize("provisioning", ["thin", "thick"])
def test_growth(driver, kubelet, filler, provisioning):
    kept = lives.keep(driver, kubelet, "kept", provisioning=provisioning)
    size = 64 * MIB
    for room in ROOM_LEFT:
        filler.leave(room)
        larger = size + 32 * MIB
        grown = lives.outcome(lambda: lives.grow(driver, kept.volume, larger), REFUSALS)
        if grown != "OK":
            assert driver.record(kept.volume.handle)["capacity_bytes"] == size
        filler.give_back()
        until_it_works(lambda: lives.grow(driver, kept.volume, larger))
        size = larger
        record = driver.record(kept.volume.handle)
        assert (record["capacity_bytes"], record["grow_to_bytes"]) == (size, 0)
        assert driver.image(kept.volume.handle).stat().st_size == size
        lives.assert_kept(kubelet, kept)


def test_everything_that_takes_down(driver, kubelet, filler):
    """A full disk keeps no pod from going and no volume from being deleted."""
    for number, room in enumerate(ROOM_LEFT):
        volume = new_volume_in_time(driver, f"pv-{number}", "thick")
        kubelet.mount(volume, "pod")
        filler.leave(room)
        kubelet.unmount(volume, "pod")
        driver.delete(volume.handle)
        assert_nothing_half_made(driver, [])
        filler.give_back()


def test_a_start(driver, kubelet, filler):
    """Work that a kill left half done is finished even then, or later; complete volumes are served
    at once."""
    kept = lives.keep(driver, kubelet, "kept", provisioning="thick")
    for room in ROOM_LEFT:
        filler.leave(room)
        driver.crash()
        lives.assert_kept(kubelet, kept)
        filler.give_back()


def test_it_fills_while_calls_run(driver, kubelet, filler):
    """Another program fills the disk and frees the space, again and again, at any moment."""
    kept = lives.keep(driver, kubelet, "kept", provisioning="thick")
    ended = threading.Event()

    def breathe():
        while not ended.is_set():
            filler.leave(0)
            filler.give_back()

    thread = threading.Thread(target=breathe)
    thread.start()
    outcomes = set()
    try:
        for number in range(ROUNDS):
            provisioning = ("thin", "thick")[number % 2]
            outcomes |= attempt_a_life(driver, kubelet, f"pv-{number}", provisioning)
            lives.assert_kept(kubelet, kept)
    finally:
        ended.set()
        thread.join()
        filler.give_back()
    for handle in driver.listed():
        if handle != kept.volume.handle:
            driver.delete(handle)
    assert_nothing_half_made(driver, [kept.volume])
    until_it_works(lambda: lives.leads_a_life(driver, kubelet, provisioning="thick"))
    lives.assert_kept(kubelet, kept)
    assert outcomes <= {"OK", *REFUSALS}


def attempt_a_life(driver, kubelet, name, provisioning):
    """Makes each step that the previous one allows; returns all outcomes."""
    made = []
    outcomes = {lives.outcome(lambda: made.append(
        lives.new_volume(driver, name, provisioning=provisioning)), REFUSALS)}
    if not made:
        return outcomes
    volume, = made
    outcomes.add(lives.outcome(lambda: kubelet.stage(volume), REFUSALS))
    outcomes.add(lives.outcome(lambda: lives.grow(driver, volume, 96 * MIB), REFUSALS))
    lives.take_down(kubelet, volume, "pod")
    outcomes.add(lives.outcome(lambda: driver.delete(volume.handle), REFUSALS))
    return outcomes


def test_the_state_directory_is_on_a_full_disk(new_disk, new_driver, directory):
    """A stage that cannot be recorded is undone; staged volumes can be unstaged."""
    state = new_disk(32 * MIB, mount_point=directory / "state", name="state")
    filler = Filler(state.mount_point)
    driver = new_driver()
    kubelet = Kubelet(directory / "kubelet", driver.call)
    staged = lives.new_volume(driver, "staged")
    path = kubelet.mount(staged, "pod")
    written = content.write(path / "data", MIB)
    volume = lives.new_volume(driver, "pv")
    filler.leave(0)
    with csi_client.refused("INTERNAL", "No space left"):
        kubelet.stage(volume)
    assert driver.loop(volume.handle) is None
    assert not [point for point in host.mounts_under(directory)
                if point == str(kubelet.global_mount(volume))]
    assert content.checksum(path / "data") == written
    kubelet.unmount(staged, "pod")
    filler.give_back()
    kubelet.mount(volume, "pod")
    kubelet.unmount(volume, "pod")


def test_a_thin_volume_whose_disk_is_full(new_disk, new_driver, directory):
    """A pod's write fails; the data that it had flushed is there when space is free again."""
    filler = Filler(new_disk(DISK).mount_point)
    driver = new_driver(RECKLESS)
    kubelet = Kubelet(directory / "kubelet", driver.call)
    volume = lives.new_volume(driver, "pv", size=256 * MIB)
    path = kubelet.mount(volume, "pod")
    written = content.write(path / "data")
    filler.leave(0)
    with pytest.raises(OSError):
        content.write(path / "more", 64 * MIB)
    assert content.checksum(path / "data") == written
    lives.take_down(kubelet, volume, "pod")
    filler.give_back()
    path = kubelet.mount(volume, "pod")
    assert content.checksum(path / "data") == written
    content.write(path / "more", 64 * MIB)
    kubelet.unmount(volume, "pod")


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_every_call_says_that_a_thin_volume_has_no_room(disk, filler, driver, kubelet, filesystem):
    """Also if the filesystem continues, because only data found no space."""
    thick = lives.new_volume(driver, "thick", provisioning="thick")
    volume = lives.new_volume(driver, "pv", filesystem=filesystem)
    thick_path, path = kubelet.mount(thick, "pod"), kubelet.mount(volume, "pod")
    assert_normal(driver, volume, path)
    filler.leave(0)
    with pytest.raises(OSError):
        content.write(path / "data", 2 * MIB)
    assert_abnormal(driver, volume, path)
    assert_normal(driver, thick, thick_path)
    for one in (volume, thick):
        lives.take_down(kubelet, one, "pod")
    assert_abnormal(driver, volume, why="is full")
    filler.give_back()
    until(lambda: is_normal(driver, volume), "it stays abnormal although there is room")


def has_failed(path):
    """Returns whether the filesystem accepts no more writes; makes it write its metadata."""
    try:
        tempfile.mkdtemp(dir=path)
    except OSError as error:
        assert error.errno in (errno.EROFS, errno.EIO), error
        return True
    subprocess.run(["sync", "--file-system", path], check=False, stderr=subprocess.DEVNULL)
    return False


@pytest.mark.parametrize("filesystem, why", [("ext4", "may be read-only"),
                                             ("btrfs", "went read-only")])
def test_every_call_says_that_a_filesystem_failed_for_want_of_room(disk, filler, driver, kubelet,
                                                                   filesystem, why):
    """Free space alone does not bring it back: the kernel made it read-only."""
    volume = lives.new_volume(driver, "pv", filesystem=filesystem)
    path, staging = kubelet.mount(volume, "pod"), kubelet.global_mount(volume)
    written = content.write(path / "data")
    filler.leave(0)
    until(lambda: has_failed(path), "it goes on without room")
    filler.give_back()
    assert_abnormal(driver, volume, path, staging, why=why)
    lives.take_down(kubelet, volume, "pod")
    until_it_works(lambda: kubelet.mount(volume, "pod"))
    assert_normal(driver, volume, path, staging)
    assert content.checksum(path / "data") == written
    kubelet.unmount(volume, "pod")
