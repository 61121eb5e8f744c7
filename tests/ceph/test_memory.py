# SPDX-License-Identifier: Apache-2.0
"""Memory that calls leave behind: librbd needs almost a megabyte for each open image, and glibc
does not return it."""

import pathlib
from concurrent.futures import ThreadPoolExecutor

import driver as driver_module

MIB = driver_module.MIB
VOLUMES, LISTS = 60, 16
MOST_MIB = 20  # eight images, and the threads of sixteen calls


def resident_mib(driver):
    status = pathlib.Path(f"/proc/{driver.server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def test_many_lists_at_once(driver):
    """All calls together look at eight images at a time, not each of them."""
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: driver.create(f"pvc-{number}", size=4 * MIB),
                         range(VOLUMES)))
    assert len(driver.listed()) == VOLUMES
    before = resident_mib(driver)
    with ThreadPoolExecutor(LISTS) as threads:
        lists = list(threads.map(lambda _: driver.listed(), range(LISTS)))
    assert all(sorted(one) == sorted(lists[0]) for one in lists)
    assert resident_mib(driver) - before < MOST_MIB
