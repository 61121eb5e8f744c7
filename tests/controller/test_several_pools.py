# SPDX-License-Identifier: Apache-2.0
"""Classes that name several pools, or none: the one with the most room gets the volume."""

import pytest

from csi_client import refused
from driver import MIB

THICK = {"provisioning": "thick"}


def pool_of(volume):
    return volume.volume_id.split(":")[0]


def room(driver, **parameters):
    return driver.call("GetCapacity", parameters=THICK | parameters)


@pytest.fixture
def driver(new_disk, new_driver, directory):
    """The default pool has less room than the pool `large`."""
    new_disk(512 * MIB)
    driver = new_driver()
    large = directory / "large"
    new_disk(1024 * MIB, large, name="large")
    driver.server.command.append(f"--pool=large=file:{large}")
    return driver.restart()


def test_the_pool_with_the_most_room_gets_the_volume(driver):
    first = driver.create("first", size=600 * MIB, **THICK)
    assert pool_of(first) == "large"
    second = driver.create("second", size=300 * MIB, **THICK)
    assert pool_of(second) == "default"
    # A repeated call finds each of them, although the other pool has more room now.
    assert driver.create("first", size=600 * MIB, **THICK).volume_id == first.volume_id
    assert driver.create("second", size=300 * MIB, **THICK).volume_id == second.volume_id
    with refused("RESOURCE_EXHAUSTED"):
        driver.create("third", size=400 * MIB, **THICK)


def test_only_the_pools_that_the_class_names_are_used(driver):
    assert pool_of(driver.create("one", pool="default")) == "default"
    assert pool_of(driver.create("two", pool="default, large")) == "large"
    # The parameters are compared as they are written.
    with refused("ALREADY_EXISTS"):
        driver.create("two", pool="large,default")
    with refused("INVALID_ARGUMENT", "no pool 'absent'"):
        driver.create("three", pool="default,absent")
    with refused("INVALID_ARGUMENT", "'large' twice"):
        driver.create("three", pool="large,large")


def test_the_capacity_is_that_of_the_pools_together(driver):
    small, large = (room(driver, pool=name) for name in ("default", "large"))
    both = room(driver, pool="default,large")
    assert both.available_capacity == small.available_capacity + large.available_capacity
    assert both.maximum_volume_size.value == large.maximum_volume_size.value
    assert room(driver).available_capacity == both.available_capacity


def test_a_copy_stays_where_its_source_is(new_disk, new_driver, directory):
    new_disk(1024 * MIB, filesystem="xfs")
    driver = new_driver()
    second = directory / "second"
    new_disk(4096 * MIB, second, name="second")
    driver.server.command.append(f"--pool=second=file:{second}")
    driver.restart()
    origin = driver.create("origin", pool="default").volume_id
    snapshot = driver.snapshot(origin, "snap").snapshot_id
    assert pool_of(driver.create("restored", source=snapshot)) == "default"
    assert pool_of(driver.create("cloned", source=origin)) == "default"
    assert pool_of(driver.create("empty")) == "second"
