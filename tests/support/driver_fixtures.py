# SPDX-License-Identifier: Apache-2.0
"""Pytest fixtures: a work directory, drivers in it, and the check that nothing is left behind."""

import os
import pathlib
import shutil
import signal
import tempfile
import time

import grpc
import pytest

import audit
import csi_client
import driver as driver_module
import host
import kubelet as kubelet_module
import pool_disk
import program_gate as program_gate_module

DELETION_SECONDS = 20
ENDS = (0, 1, -signal.SIGKILL)  # ended, refused to start, killed by the test


def binary():
    return pathlib.Path(os.environ["HOLDFAST_BINARY"])


@pytest.fixture
def directory():
    path = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-",
                                         dir=os.environ.get("TMPDIR", "/var/tmp")))
    yield path
    left = [line for line in host.leftovers(path) if not line.startswith("volume left")]
    host.release(path)
    if not host.mounts_under(path):
        shutil.rmtree(path)
    assert not left


@pytest.fixture
def new_disk(directory):
    """Creates loop-mounted disks for pools; removes them after the drivers have ended."""
    disks = []

    def make(size, mount_point=directory / "pool", filesystem="ext4", name="disk"):
        disks.append(pool_disk.PoolDisk(directory / f"{name}.img", size, filesystem, mount_point))
        return disks[-1]

    yield make
    for disk in reversed(disks):
        disk.remove()


@pytest.fixture
def new_driver(directory, new_disk):
    """Starts drivers; afterwards each must delete its volumes, have a clean audit, and leave nothing
    in its pool."""
    drivers = []

    def start(pool_options="", work=directory, flags=()):
        work.mkdir(exist_ok=True)
        drivers.append(driver_module.Driver(binary(), work, pool_options, flags))
        return drivers[-1].start()

    yield start
    problems = [problem for driver in drivers for problem in end(driver)]
    assert not problems, "\n".join([*problems, *(driver.log()[-8000:] for driver in drivers)])


def delete(driver, volume_id):
    """Repeated, as a CO does it: another process of the same pool may be ending the deletion, too."""
    deadline = time.monotonic() + DELETION_SECONDS
    while True:
        try:
            return driver.delete(volume_id)
        except grpc.RpcError as error:
            if (csi_client.code_of(error) not in csi_client.MAYBE_RUNNING
                    or time.monotonic() > deadline):
                raise
        time.sleep(0.05)


def end(driver):
    """Deletes every volume, audits, and stops; returns the problems."""
    problems = []
    code = driver.server.process.poll()
    if code is not None:  # not started again after a crash, or refused to start
        by_itself = [f"the driver ended by signal {-code}"] if code not in ENDS else []
        return by_itself + driver.leftovers()
    try:
        for snapshot_id in driver.snapshots():
            driver.delete_snapshot(snapshot_id)
        for volume_id in driver.listed():
            delete(driver, volume_id)
        for entry in driver.trash():
            driver.client.admin_command("PurgeTrash", id=entry.id)
        if problem := audit.problem_of(binary(), driver.server.socket):
            problems.append(problem)
    except grpc.RpcError as error:
        problems.append(f"a volume cannot be deleted: {error.details()}")
    problems += driver.leftovers()
    if problem := driver.server.stop():
        problems.append(problem)
    return problems


@pytest.fixture
def driver(new_driver):
    return new_driver()


@pytest.fixture
def kubelet(driver, directory):
    return kubelet_module.Kubelet(directory / "kubelet", driver.call)


@pytest.fixture
def program_gate(directory):
    """Makes gates; removed before the drivers end."""
    gates = []

    def make(program):
        gates.append(program_gate_module.ProgramGate(program, directory))
        return gates[-1]

    yield make
    for gate in reversed(gates):
        gate.remove()
