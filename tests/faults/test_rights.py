# SPDX-License-Identifier: Apache-2.0
"""A driver without the permissions that a node needs: it reports this and is not ready."""

import subprocess

import pytest

import driver_fixtures
from csi_client import refused
from driver import Driver
from link_files import free_port
from observed import get

NOBODY = 65534


@pytest.fixture
def start(directory):
    drivers = []

    def make(*prefix):
        driver = Driver(driver_fixtures.binary(), directory)
        driver.port = free_port()
        driver.server.command = [*prefix, *driver.server.command,
                                 f"--health-address=127.0.0.1:{driver.port}"]
        drivers.append(driver)
        assert driver.start_unready() is None, driver.log()
        return driver

    yield make
    for driver in drivers:
        assert driver.server.stop() is None


def is_not_ready(driver, why):
    assert '"ready"' not in driver.log()
    with refused("FAILED_PRECONDITION", why):
        driver.call("Probe")
    status, text = get(driver.port, "/readyz")
    assert status == 503 and why in text
    assert get(driver.port, "/healthz")[0] == 200


def test_without_the_right_to_mount(start):
    is_not_ready(start("setpriv", "--bounding-set=-sys_admin"), "root lacks CAP_SYS_ADMIN")


def test_another_user(start, directory):
    for path in (directory, directory / "pool"):
        path.mkdir(exist_ok=True)
        subprocess.run(["chown", f"{NOBODY}:{NOBODY}", path], check=True)
    driver = start("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    is_not_ready(driver, "this user lacks CAP_SYS_ADMIN.*run Holdfast as root".split(".*")[0])


def test_without_loop_devices(start, directory):
    hide = 'mount --bind "$0" /dev/loop-control && exec "$@"'
    (directory / "nothing").touch(mode=0o000)
    driver = start("unshare", "--mount", "sh", "-c", hide, directory / "nothing",
                   "setpriv", "--bounding-set=-dac_override,-dac_read_search")
    is_not_ready(driver, "/dev/loop-control cannot be opened")
