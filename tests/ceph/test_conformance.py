# SPDX-License-Identifier: Apache-2.0
"""The conformance suite of every kind of pool, on a pool in Ceph."""

import os
import subprocess

import pytest

import pytest_run
from conftest import USER

PROGRAM = pytest_run.REPOSITORY / "build" / "release" / "tests" / "ceph_conformance"


@pytest.mark.slice
def test_a_pool_in_ceph_conforms(ceph):
    assert PROGRAM.exists(), "build it: cmake --build --preset release"
    flag = (f"ceph=rbd:rbd,monitors={ceph.monitors},user={USER},"
            f"keyring={ceph.directory / f'{USER}.keyring'}")
    ran = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=600,
                         env={**os.environ, "HOLDFAST_CONFORMANCE_POOL": flag})
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]
