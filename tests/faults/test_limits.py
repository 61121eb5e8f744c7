# SPDX-License-Identifier: Apache-2.0
"""The process runs out of files, processes or memory: calls fail, nothing breaks, it recovers."""

import os
import pathlib
import resource
import signal
import time

import pytest

import cgroup
import csi_client
import lives
from driver import MIB

REFUSALS = ("INTERNAL", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
            "DEADLINE_EXCEEDED", "CANCELLED", "UNKNOWN")
SHORT_SECONDS = 5
SECONDS = 60
FILES_LEFT = (0, 1, 2, 3, 4, 6, 8, 12, 24)
PROCESSES_LEFT = (0, 1, 2, 3, 5)
HUGE = 60 * MIB  # a request just below the driver's limit


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def limit_files(pid, count):
    """Only the soft limit, which can be raised again."""
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (count, hard))


@pytest.fixture
def impatient(driver):
    """Calls that give up early, because a server that cannot accept a connection does not
    answer."""
    def call(method, **fields):
        return driver.call(method, timeout=SHORT_SECONDS, **fields)
    return call


def attempt_a_life(driver, kubelet, call, name):
    """Makes each step that the previous one allows, and all steps back; failed steps are tried later.

    Returns the name if its creation may have continued after the answer, so that it is repeated.
    """
    made = []
    kubelet.call = call
    try:
        created = lives.outcome(lambda: made.append(lives.PersistentVolume(
            driver.create(name, call=call).volume_id, name, filesystem="ext4")), REFUSALS)
        for volume in made:
            lives.outcome(lambda: kubelet.mount(volume, "pod"), REFUSALS)
            lives.outcome(lambda: lives.take_down(kubelet, volume, "pod"), REFUSALS)
    finally:
        kubelet.call = driver.call
    return name if created in csi_client.MAYBE_RUNNING else None


def answers(driver):
    return lives.outcome(lambda: driver.call("Probe", timeout=SHORT_SECONDS), REFUSALS) == "OK"


def until_it_answers(driver):
    deadline = time.monotonic() + SECONDS
    while not answers(driver):
        assert time.monotonic() < deadline, f"it answers no more\n{driver.log()[-2000:]}"


def clean_up(driver, kubelet, kept, unsure):
    """Removes everything that was attempted, as its callers would."""
    until_it_answers(driver)
    if unsure:
        driver.create(unsure)
    for handle in driver.listed():
        if handle != kept.volume.handle:
            volume = lives.PersistentVolume(handle, "left", filesystem="ext4")
            lives.take_down(kubelet, volume, "pod")
            driver.delete(handle)
    lives.assert_kept(kubelet, kept)


def assert_nothing_left(driver, kept):
    assert [path.name for path in (driver.pool / "volumes").iterdir()] == [
        kept.volume.handle[-36:]]
    assert not list((driver.pool / "trash").iterdir())


def test_no_files(driver, kubelet, impatient):
    """With each number of remaining file descriptors, from none: nothing is lost, and the driver
    answers again."""
    kept = lives.keep(driver, kubelet, "kept")
    pid = driver.server.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)[0]
    for left in FILES_LEFT:
        limit_files(pid, open_files(pid) + left)
        unsure = attempt_a_life(driver, kubelet, impatient, f"pv-{left}")
        limit_files(pid, before)
        clean_up(driver, kubelet, kept, unsure)
        assert_nothing_left(driver, kept)
    assert driver.server.process.poll() is None
    lives.leads_a_life(driver, kubelet)


def test_no_processes(driver, kubelet, impatient):
    """No thread for a call, no mkfs: refusals, or an end of the driver that loses nothing."""
    if lack := cgroup.missing("pids"):
        pytest.skip(lack)
    kept = lives.keep(driver, kubelet, "kept")
    for left in PROCESSES_LEFT:
        with cgroup.Cgroup("pids") as group:
            group.add(driver.server.process.pid)
            threads = len(os.listdir(f"/proc/{driver.server.process.pid}/task"))
            group.set("pids.max", threads + left)
            unsure = attempt_a_life(driver, kubelet, impatient, f"pv-{left}")
            group.set("pids.max", "max")
            start_again_if_it_ended(driver)
            clean_up(driver, kubelet, kept, unsure)
            group.release()
    lives.leads_a_life(driver, kubelet)


@pytest.mark.parametrize("limit", [24 * MIB, 32 * MIB, 48 * MIB])
def test_little_memory(driver, kubelet, impatient, limit):
    """As in a container with that limit: work that the kernel kills is started again."""
    if lack := cgroup.missing("memory"):
        pytest.skip(lack)
    kept = lives.keep(driver, kubelet, "kept")
    with cgroup.Cgroup("memory") as group:
        group.set("memory.limit_in_bytes", limit)
        group.add(driver.server.process.pid)
        for number, filesystem in enumerate(("ext4", "xfs", "btrfs")):
            lives.leads_a_life(driver, kubelet, f"pv-{number}", filesystem=filesystem)
        lives.outcome(lambda: driver.create("huge", call=impatient, note="x" * HUGE),
                      (*REFUSALS, "INVALID_ARGUMENT"))
        start_again_if_it_ended(driver)
        clean_up(driver, kubelet, kept, None)
        group.release()
    lives.leads_a_life(driver, kubelet)


def start_again_if_it_ended(driver):
    """As systemd or kubelet does. The driver may have been killed for lack of memory or threads,
    and its end may come a moment after its last answer."""
    deadline = time.monotonic() + SECONDS
    while not answers(driver):
        code = driver.server.process.poll()
        if code is not None:
            assert code in (-signal.SIGKILL, -signal.SIGABRT, 1), code
            driver.start()
        assert time.monotonic() < deadline, f"it answers no more\n{driver.log()[-2000:]}"


def test_the_limit_of_files_is_as_high_as_it_may_be(driver):
    """A default of 1024 is for programs that use select(2)."""
    soft, hard = resource.prlimit(driver.server.process.pid, resource.RLIMIT_NOFILE)
    assert soft == hard, pathlib.Path(f"/proc/{driver.server.process.pid}/limits").read_text()
