# SPDX-License-Identifier: Apache-2.0
"""Changed blocks of snapshots in Ceph against a model of random writes: never less than the truth,
and nothing of objects that were not written to."""

import random

import pytest

import changed_blocks
import csi_client
import driver as driver_module
import image_bytes
from changed_blocks import UNIT, allocated, delta, units
from cluster import until
from csi_client import refused
from rbd_driver import image_of, residue

MIB = driver_module.MIB
SIZE = 64 * MIB
OBJECT = 4 * MIB


class Model:
    """An image that changes at random, and its snapshots."""

    def __init__(self, driver, ceph, directory, volume, kept):
        self.driver, self.ceph, self.directory = driver, ceph, directory
        self.volume, self.bytes = volume, bytearray(kept)
        self.random = random.Random(volume[-12:])
        self.snapshots, self.written = [], []

    def change(self):
        touched, changes, end = set(), [], 0
        for _ in range(12):
            begin = end + self.random.randrange(0, 4 * MIB) // UNIT * UNIT
            length = self.random.choice((UNIT, 3 * UNIT, 65536, MIB))
            end = begin + length
            if end > len(self.bytes):
                break
            discard = self.random.random() < 0.3
            data = bytes(length) if discard else self.random.randbytes(length)
            changes.append((begin, length if discard else data))
            self.bytes[begin:end] = data
            touched |= units([(begin, end)])
        image_bytes.change(self.ceph, image_of(self.ceph, self.volume), changes, self.directory)
        self.written.append(touched)

    def cut(self, name):
        made = self.driver.snapshot(self.volume, name).snapshot_id
        assert image_bytes.read(self.ceph, image_of(self.ceph, made)) == bytes(self.bytes)
        self.snapshots.append((made, bytes(self.bytes)))

    def check(self):
        for number, (target, after) in enumerate(self.snapshots):
            ranges = allocated(self.driver.call, target)
            assert units(ranges) >= changed_blocks.data_units(after)
            for earlier in range(number + 1):
                self.check_delta(earlier, number)

    def check_delta(self, earlier, number):
        base, before = self.snapshots[earlier]
        target, after = self.snapshots[number]
        ranges = delta(self.driver.call, base, target)
        assert units(ranges) >= changed_blocks.different_units(before, after), "less than the truth"
        grown = units([(len(before), len(after))]) if len(after) > len(before) else set()
        assert grown <= units(ranges)
        # Of an object that has become longer since the base, what lies between counts as well.
        written = set().union(grown, *self.written[earlier + 1:number + 1])
        assert units(ranges, OBJECT) <= {unit * UNIT // OBJECT for unit in written}
        images = {}
        for name, kept in (("base", before), ("target", after)):
            images[name] = self.directory / name
            images[name].write_bytes(kept)
        restored = changed_blocks.apply(images["base"], images["target"], ranges, self.directory)
        assert restored.read_bytes() == after


@pytest.mark.slice
def test_against_a_model_of_random_writes(driver, ceph, directory):
    volume = driver.create("origin", size=SIZE, access="block").volume_id
    model = Model(driver, ceph, directory, volume, bytes(SIZE))
    for number in range(3):
        model.change()
        model.cut(f"snap-{number}")
        if number == 1:
            driver.call("ControllerExpandVolume", volume_id=volume,
                        capacity_range=csi_client.at_least(SIZE + 10 * MIB))
            model.bytes += bytes(10 * MIB)
    model.check()
    (first, _), (second, _), (last, _) = model.snapshots
    changed_blocks.check_restarts(lambda start, most: delta(driver.call, first, last, start, most),
                                  delta(driver.call, first, last))
    changed_blocks.check_restarts(lambda start, most: allocated(driver.call, last, start, most),
                                  allocated(driver.call, last))
    with refused("INVALID_ARGUMENT", "later one"):
        delta(driver.call, last, first)
    # Most of the data is its parent's. At first nothing is its own.
    clone = driver.create("clone", size=SIZE + 10 * MIB, access="block", source=last).volume_id
    copy = Model(driver, ceph, directory, clone, model.snapshots[-1][1])
    copy.written.append(set())
    copy.cut("clone-0")
    copy.change()
    copy.cut("clone-1")
    ranges = allocated(driver.call, copy.snapshots[0][0])
    assert units(ranges) >= changed_blocks.data_units(copy.snapshots[0][1])
    ranges = allocated(driver.call, copy.snapshots[1][0])
    assert units(ranges) >= changed_blocks.data_units(copy.snapshots[1][1])
    ranges = delta(driver.call, copy.snapshots[0][0], copy.snapshots[1][0])
    truth = changed_blocks.different_units(copy.snapshots[0][1], copy.snapshots[1][1])
    assert truth <= units(ranges)
    assert units(ranges, OBJECT) <= {unit * UNIT // OBJECT for unit in copy.written[1]}
    with refused("INVALID_ARGUMENT", "base_snapshot_id"):
        delta(driver.call, first, copy.snapshots[1][0])
    driver.delete(volume)
    model.check_delta(0, 1)
    driver.delete_snapshot(first)
    with refused("NOT_FOUND"):
        delta(driver.call, first, second)
    for snapshot, _ in copy.snapshots:
        driver.delete_snapshot(snapshot)
    driver.delete(clone)
    for snapshot in (second, last):
        driver.delete_snapshot(snapshot)
    until(lambda: residue(ceph) == [], f"something is left: {residue(ceph)}", seconds=60)


def test_snapshots_of_two_images_cannot_be_compared(driver, ceph, directory):
    """A volume that is made again under its name has the id of the first one."""
    volume = driver.create("pv", size=SIZE, access="block").volume_id
    image_bytes.write(ceph, image_of(ceph, volume), MIB, directory)
    first = driver.snapshot(volume, "first").snapshot_id
    driver.delete(volume)
    assert driver.create("pv", size=SIZE, access="block").volume_id == volume
    second = driver.snapshot(volume, "second").snapshot_id
    with refused("FAILED_PRECONDITION", "snapshots of two images"):
        delta(driver.call, first, second)
    assert allocated(driver.call, first) == [(0, OBJECT)]
    assert allocated(driver.call, second) == []
    for snapshot in (first, second):
        driver.delete_snapshot(snapshot)
    driver.delete(volume)
    until(lambda: residue(ceph) == [], "something is left")
