# SPDX-License-Identifier: Apache-2.0
"""The programs that make and check filesystems are missing, broken, or hang."""

import os
import pathlib
import shutil
import signal
import threading
import time

import grpc
import pytest

import content
import csi_client
import host
import lives
from pool_disk import run

SECONDS = 60
FILESYSTEMS = ("ext4", "xfs", "btrfs")


@pytest.fixture
def replace_program(directory):
    """Puts a file in a program's place, in the mount namespace of this run alone."""
    places = []

    def replace(program, file):
        place = pathlib.Path(shutil.which(program)).resolve()
        run("mount", "--bind", file, place)
        places.append(place)

    def give_back():
        while places:
            run("umount", places.pop())

    replace.give_back = give_back
    yield replace
    give_back()


def script(directory, text):
    path = directory / "script"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


BROKEN = {"fails": "echo it is out of order >&2; exit 3",
          "does nothing": "exit 0",
          "is killed": "kill -9 $$",
          "writes garbage": 'for last; do :; done; head -c 1048576 /dev/urandom >"$last"; exit 1',
          "talks without end": "yes | head -c 30000000; exit 1",
          "leaves a process behind": "sleep 600 & exit 1"}


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
@pytest.mark.parametrize("how", ["is missing", "is not executable", *BROKEN])
def test_mkfs(driver, kubelet, directory, replace_program, filesystem, how):
    """A clear refusal, no filesystem in the record, nothing left behind; once the program works, so
    does the call."""
    volume = lives.new_volume(driver, "pv", filesystem=filesystem)
    file = pathlib.Path("/dev/null")
    if how == "is not executable":
        file = directory / "plain"
        file.write_text("")
        file.chmod(0o644)
    elif how in BROKEN:
        file = script(directory, BROKEN[how])
    replace_program(f"mkfs.{filesystem}", file)
    installed = how in BROKEN
    for _ in range(2):
        with pytest.raises(grpc.RpcError) as caught:
            kubelet.stage(volume)
        assert csi_client.code_of(caught.value) in ("INTERNAL", "FAILED_PRECONDITION")
        assert installed or f"'mkfs.{filesystem}' is not installed" in caught.value.details()
        assert len(caught.value.details()) < 4096
        assert driver.record(volume.handle)["state"] in ("ready", "formatting")
        assert driver.loop(volume.handle) is None
    await_end("sleep")
    replace_program.give_back()
    kubelet.mount(volume, "pod")
    kubelet.unmount(volume, "pod")


def test_mkfs_btrfs_meets_a_device_that_vanishes(driver, kubelet, directory, replace_program):
    """It fails before it writes when some other loop device is detached while it looks around."""
    volume = lives.new_volume(driver, "pv", filesystem="btrfs")
    real = directory / "mkfs.btrfs"
    shutil.copy(shutil.which("mkfs.btrfs"), real)
    replace_program("mkfs.btrfs", script(directory, f"""
echo >>'{directory}/starts'
[ $(wc -l <'{directory}/starts') -gt 2 ] && exec '{real}' "$@"
echo 'ERROR: cannot check mount status of /dev/loop0: No such device or address' >&2; exit 1"""))
    kubelet.mount(volume, "pod")
    kubelet.unmount(volume, "pod")


def await_end(program):
    deadline = time.monotonic() + SECONDS
    while any(program in command for command in host.children().values()):
        assert time.monotonic() < deadline, f"{program} outlives the mkfs that started it"
        time.sleep(0.01)


def test_fsck_is_missing_when_it_is_needed(driver, kubelet, replace_program):
    """The volume has recorded an error: it is not mounted unchecked."""
    kept = lives.keep(driver, kubelet, "kept")
    run("debugfs", "-w", "-R", "ssv state 2", driver.image(kept.volume.handle))
    replace_program("e2fsck", pathlib.Path("/dev/null"))
    with csi_client.refused("FAILED_PRECONDITION", "e2fsck"):
        kubelet.stage(kept.volume)
    assert driver.loop(kept.volume.handle) is None
    replace_program.give_back()
    lives.assert_kept(kubelet, kept)


def test_a_program_that_is_stopped(driver, kubelet, program_gate):
    """SIGSTOP, as in a frozen container: that volume waits, and no other."""
    volume = lives.new_volume(driver, "pv")
    gate = program_gate("mkfs.ext4")
    kubelet.global_mount(volume).mkdir(parents=True)
    answers = []
    stage = threading.Thread(target=lambda: answers.append(
        lives.outcome(lambda: kubelet.stage(volume), ())))
    stage.start()
    gate.wait_until_started()
    pid, = gate.pids()
    os.kill(pid, signal.SIGSTOP)
    gate.let_through()
    await_state(pid, "T")
    for action in (lambda: kubelet.stage(volume), lambda: driver.delete(volume.handle),
                   lambda: lives.grow(driver, volume, 1 << 27),
                   lambda: lives.take_down(kubelet, volume, "pod")):
        with csi_client.refused("ABORTED", "NodeStageVolume"):
            action()
    block = driver.create("block", access="block").volume_id
    driver.delete(block)
    lives.leads_a_life(driver, kubelet, "xfs", filesystem="xfs")
    os.kill(pid, signal.SIGCONT)
    stage.join(SECONDS)
    assert answers == ["OK"]
    content.write(kubelet.publish(volume, "pod") / "data")
    kubelet.unmount(volume, "pod")


def test_a_driver_that_is_killed_while_a_program_is_stopped(driver, kubelet, program_gate):
    """SIGKILL also reaches a stopped child: no mkfs is left that could wake up later."""
    volume = lives.new_volume(driver, "pv")
    gate = program_gate("mkfs.ext4")
    kubelet.global_mount(volume).mkdir(parents=True)
    with pytest.raises(grpc.RpcError):
        driver.call("NodeStageVolume", timeout=1, volume_id=volume.handle,
                    staging_target_path=str(kubelet.global_mount(volume)),
                    volume_capability=volume.capability())
    gate.wait_until_started()
    os.kill(gate.pids()[0], signal.SIGSTOP)
    driver.server.kill()
    deadline = time.monotonic() + SECONDS
    while host.children():
        assert time.monotonic() < deadline, "the stopped mkfs outlives its driver"
        time.sleep(0.01)
    gate.let_through()  # for the next one
    driver.start()
    kubelet.mount(volume, "pod")
    kubelet.unmount(volume, "pod")


def await_state(pid, state):
    deadline = time.monotonic() + SECONDS
    while pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != state:
        assert time.monotonic() < deadline
        time.sleep(0.005)
