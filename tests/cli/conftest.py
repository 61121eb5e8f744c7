# SPDX-License-Identifier: Apache-2.0
"""Fixtures for every test of the command line."""

import os
import subprocess

import pytest

import command


@pytest.fixture
def holdfast():
    return command.run


@pytest.fixture
def kubelet_directory(directory):
    """Mounts /var/lib/kubelet separately, only in the run's mount namespace."""
    parent = "/var/lib"
    if os.path.exists(f"{parent}/kubelet"):
        pytest.skip("this host has a kubelet")
    (directory / "lib" / "kubelet").mkdir(parents=True)
    subprocess.run(["mount", "--rbind", directory / "lib", parent], check=True)
    subprocess.run(["mount", "--bind", f"{parent}/kubelet", f"{parent}/kubelet"], check=True)
    yield f"{parent}/kubelet"
    subprocess.run(["umount", f"{parent}/kubelet"], check=True)
    subprocess.run(["umount", parent], check=True)


def pytest_terminal_summary(terminalreporter):
    counts = {outcome: len(terminalreporter.stats.get(outcome, []))
              for outcome in ("passed", "failed", "error")}
    terminalreporter.write_line(
        f"cli: {counts['passed']} passed, {counts['failed'] + counts['error']} failed")
