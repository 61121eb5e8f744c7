# SPDX-License-Identifier: Apache-2.0
"""GetCapacity, and that volumes of the reported size can be created."""

import concurrent.futures

import pytest

from csi_client import outcome, refused
from driver import MIB


def place(node):
    return {"segments": {"topology.csi.holdfast.dev/node": node}}


def test_capacity_with_the_parameters_of_the_class_as_they_are(driver):
    """The capacity controller strips nothing and specifies no capability."""
    answer = driver.call("GetCapacity", parameters={
        "provisioning": "thick", "csi.storage.k8s.io/fstype": "xfs",
        "csi.storage.k8s.io/provisioner-secret-name": "secret"},
        accessible_topology=place("test-node"))
    assert 0 < answer.maximum_volume_size.value <= answer.available_capacity
    assert answer.minimum_volume_size.value == 300 * MIB
    elsewhere = driver.call("GetCapacity", accessible_topology=place("another"))
    assert elsewhere.available_capacity == 0


@pytest.mark.parametrize(("pool_filesystem", "pool_options"), [
    ("ext4", ""), ("ext4", ",reserve=0"), ("ext4", ",reserve=64Mi"), ("xfs", ""),
    ("xfs", ",reserve=0"), ("btrfs", "")])
def test_the_largest_volume_that_is_promised_can_be_made(new_driver, new_disk, pool_options,
                                                         pool_filesystem):
    new_disk(1024 * MIB, filesystem=pool_filesystem)
    driver = new_driver(pool_options)
    thick = {"provisioning": "thick"}
    maximum = driver.call("GetCapacity", parameters=thick).maximum_volume_size.value
    assert maximum > 600 * MIB
    with refused("RESOURCE_EXHAUSTED"):
        driver.create("too-large", size=maximum + MIB, **thick)
    created = driver.create("largest", size=maximum, **thick)
    assert created.capacity_bytes == maximum
    assert driver.image(created.volume_id).stat().st_blocks * 512 >= maximum
    assert driver.call("GetCapacity", parameters=thick).maximum_volume_size.value < 2 * MIB


def test_of_two_creations_that_exceed_the_pool_together_one_succeeds(new_driver, new_disk):
    new_disk(1024 * MIB)
    driver = new_driver()
    size = 600 * MIB
    for round_number in range(5):
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            codes = list(threads.map(lambda number: outcome(lambda: driver.create(
                f"pv-{round_number}-{number}", size=size, provisioning="thick")), range(4)))
        assert sorted(codes) == ["OK"] + ["RESOURCE_EXHAUSTED"] * 3
        assert len(driver.listed()) == 1
        driver.delete(driver.listed()[0])
