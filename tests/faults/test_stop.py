# SPDX-License-Identifier: Apache-2.0
"""SIGTERM ends the driver in time whatever hangs, and a successor serves."""

import concurrent.futures
import os
import pathlib
import signal

import frozen
import pytest

import content
import csi_client
import driver_fixtures
import kubelet as kubelet_module
import lives
from observed import get

GRACE_SECONDS = 30  # the time that kubelet gives a pod
LATE = 1


def state_of(pid):
    """The letter of /proc/PID/stat; None if there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # the latter between opening and reading
        return None


def outcome_of(call):
    error = call.exception()
    return "OK" if error is None else csi_client.code_of(error)


def test_a_program_that_hangs(driver, kubelet, program_gate):
    gate = program_gate("mkfs.btrfs")
    volume = lives.new_volume(driver, "pv", filesystem="btrfs")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        staging = pool.submit(kubelet.stage, volume)
        gate.wait_until_started()
        (mkfs,) = gate.pids()
        os.kill(mkfs, signal.SIGSTOP)
        driver.server.process.terminate()
        assert driver.server.process.wait(GRACE_SECONDS) == LATE, driver.log()[-2000:]
        assert outcome_of(staging) == "UNAVAILABLE"
    os.waitpid(mkfs, 0)  # ended; the test run has become its parent
    assert not driver.server.socket.exists()
    assert "NodeStageVolume of " in driver.log()
    gate.let_through()
    driver.start()
    lives.assert_kept(kubelet, lives.Kept(volume, written_to(kubelet, volume)))


def written_to(kubelet, volume):
    path = kubelet.mount(volume, "pv-pod")
    checksum = content.write(path / "data", 4096)
    kubelet.unmount(volume, "pv-pod")
    return checksum


@pytest.fixture
def two_pools(directory, new_disk):
    return frozen.TwoPools(directory, new_disk(frozen.DISK))


def assert_serves(driver, kubelet):
    assert get(driver.port, "/healthz")[0] == 200
    lives.leads_a_life(driver, kubelet, "other", pool="second")


def end_in_time(driver):
    """It has ended except for the thread that hangs in the kernel, which only the thaw ends."""
    pid = driver.server.process.pid
    driver.server.process.terminate()
    frozen.await_that(lambda: not driver.server.socket.exists(), driver.log()[-2000:])
    frozen.await_that(lambda: state_of(pid) in ("Z", "D", None), f"state {state_of(pid)}")


def test_a_call_that_hangs_in_the_kernel(two_pools, directory):
    """The thread remains until the disk answers; everything that other pools need is free before
    that."""
    driver = two_pools.start()
    kubelet = kubelet_module.Kubelet(directory / "kubelet", driver.call)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        with frozen.frozen(driver.disk.mount_point):
            creation = pool.submit(driver.create, "waits")
            frozen.await_that(lambda: "D" in states_of_threads(driver), "nothing hangs")
            end_in_time(driver)
            assert outcome_of(creation) == "UNAVAILABLE"
            successor = driver.without_default().start()
            assert_serves(successor, kubelet)
            assert successor.server.stop() is None, successor.log()[-2000:]
        driver.server.process.wait()
    driver.start()
    lives.leads_a_life(driver, kubelet, "waits")
    assert not driver_fixtures.end(driver)


def states_of_threads(driver):
    pid = driver.server.process.pid
    return {state_of(f"{pid}/task/{thread}") for thread in os.listdir(f"/proc/{pid}/task")}


def test_a_start_that_hangs(two_pools, directory):
    """The pool's disk hangs from the start, which continues without it: the process can be
    ended."""
    driver = two_pools.start()
    assert driver.server.stop() is None
    kubelet = kubelet_module.Kubelet(directory / "kubelet", driver.call)
    with frozen.frozen(driver.disk.mount_point):
        driver.server.launch()
        pid = driver.server.process.pid
        frozen.await_that(lambda: "D" in states_of_threads(driver), "nothing hangs")
        driver.server.process.terminate()
        frozen.await_that(lambda: state_of(pid) in ("Z", None), f"state {state_of(pid)}")
        successor = driver.without_default().start()
        assert_serves(successor, kubelet)
        assert successor.server.stop() is None
    driver.server.process.wait()
    driver.start()
    assert not driver_fixtures.end(driver)
