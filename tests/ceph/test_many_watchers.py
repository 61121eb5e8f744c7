# SPDX-License-Identifier: Apache-2.0
"""More clients of one image than fit into the first query's buffer."""

import pathlib
import subprocess
import sys

import driver as driver_module
from cluster import until
from csi_client import refused
from rbd_driver import image_of
from test_condition import condition

MIB = driver_module.MIB
MANY = 70


def test_any_number_of_clients(driver, ceph):
    volume = driver.create("pvc", size=64 * MIB, access="block")
    image = image_of(ceph, volume.volume_id)
    header = f"rbd_header.{ceph.image_info(image)['id']}"
    with subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("watchers.py"),
                           ceph.configuration, "rbd", header, str(MANY)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as watchers:
        assert watchers.stdout.readline() == "watching\n"
        try:
            said = condition(driver, volume)
            assert f"'{image}' is open in clients" in said
            assert len(ceph.watchers(image)) == MANY
            assert said.count("127.0.0.1:0/") > 1  # the first of them: a condition is short
            with refused("FAILED_PRECONDITION", "in use: clients"):
                driver.delete(volume.volume_id)
        finally:
            watchers.communicate("")
    until(lambda: not ceph.watchers(image), "watches stay", 60)
    driver.delete(volume.volume_id)
