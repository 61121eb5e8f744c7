# SPDX-License-Identifier: Apache-2.0
"""The driver's handling of the devices that the kernel's rbd shows, with a fake sysfs (kernel_rbd.py):
which volume they belong to, and how images record that they were formatted.

tests/ceph/guest tests the kernel's part.
"""

import pytest

import csi_client
import driver as driver_module
from csi_client import capability, refused
from kernel_rbd import KernelRbd
from rbd_driver import (boot_id, holder, image_of, nodes, put_record, record, record_nodes,
                        unrecord_nodes)

MIB = driver_module.MIB
WRITER = "SINGLE_NODE_WRITER"
MARK = "holdfast.formatted"
FAR = "10.9.8.99:0/4712"  # that no other test fences


@pytest.fixture
def kernel(directory, ceph, new_driver):
    """Depends on the drivers' fixture, so that this one ends first and the drivers find the host's
    real sysfs."""
    made = KernelRbd(directory, ceph)
    yield made
    made.end()


def expand(driver, volume_id, size):
    return driver.call("ControllerExpandVolume", volume_id=volume_id,
                       capacity_range=csi_client.at_least(size)).capacity_bytes


@pytest.mark.slice
def test_a_controller_has_no_devices(kernel, new_driver, ceph):
    """Its sysfs is its host's, where a node's driver has mapped the volume; its /dev is not."""
    driver = new_driver(role="controller", node="controller")
    volume_id = driver.create("pvc", size=64 * MIB).volume_id
    kernel.show(image_of(ceph, volume_id), FAR, node=False)
    assert expand(driver, volume_id, 96 * MIB) == 96 * MIB
    assert expand(driver, volume_id, 96 * MIB) == 96 * MIB
    driver.delete(volume_id)
    assert kernel.unmapped() is None


@pytest.mark.slice
def test_a_node_may_be_named_as_the_controller(new_driver, ceph):
    """Readers have no watch, so only the record shows which nodes have the volume."""
    driver = new_driver(role="controller", node="controller")
    volume_id = driver.create("pvc", size=64 * MIB).volume_id
    record_nodes(ceph, volume_id, holder("controller", FAR, "readers"))
    with refused("FAILED_PRECONDITION", "in use on node 'controller'"):
        driver.delete(volume_id)
    unrecord_nodes(ceph, volume_id)


class Stage:
    """A volume that its node's kernel has mapped."""

    def __init__(self, driver, ceph, kernel, image_watch, directory, filesystem="ext4"):
        self.driver, self.ceph, self.kernel = driver, ceph, kernel
        self.path = directory / "staging"
        self.path.mkdir()
        self.volume_id = driver.create("pvc", size=64 * MIB, filesystem=filesystem).volume_id
        self.filesystem = filesystem
        self.image = image_of(ceph, self.volume_id)
        self.end_watch = image_watch(self.image)  # the kernel's client has the image open
        self.address = ceph.watchers(self.image)[0]
        self.index = kernel.show(self.image, self.address)
        self.device = f"/dev/rbd{self.index}"
        self.claim()

    def claim(self, boot=None):
        record_nodes(self.ceph, self.volume_id,
                     holder("test-node", self.address, boot=boot or boot_id()))

    def stage(self):
        self.driver.call("NodeStageVolume", volume_id=self.volume_id,
                         staging_target_path=str(self.path),
                         volume_capability=capability("mount", self.filesystem, WRITER))

    def unstage(self):
        self.driver.call("NodeUnstageVolume", volume_id=self.volume_id,
                         staging_target_path=str(self.path))
        self.claim()  # as if the kernel had mapped it again

    def record(self):
        return record(self.ceph, self.volume_id)

    def restore(self, stored, **changes):
        put_record(self.ceph, driver_module.uuid_of(self.volume_id), {**stored, **changes})
        self.claim()

    def mark(self):
        return self.ceph.rbd("image-meta", "get", f"rbd/{self.image}", MARK).strip()

    def content(self):
        with open(self.device, "rb") as file:
            return file.read()

    def change_content(self, change):
        bytes_ = bytearray(self.content())
        change(bytes_)
        with open(self.device, "wb") as file:
            file.write(bytes_)
        return bytes(bytes_)

    def end(self):
        self.end_watch()
        self.kernel.hide(self.index)
        unrecord_nodes(self.ceph, self.volume_id)


@pytest.fixture
def staged(driver, ceph, kernel, image_watch, directory):
    """Staged once, with a file on it, and unstaged."""
    made = Stage(driver, ceph, kernel, image_watch, directory)
    made.stage()
    (made.path / "file").write_text("data")
    made.unstage()
    yield made
    made.end()


def test_the_image_itself_tells_that_it_was_formatted(staged):
    stored = staged.record()
    assert stored["state"] == "formatted"
    assert staged.mark() == f"ext4 {stored['filesystem_uuid']}"
    staged.stage()
    assert (staged.path / "file").read_text() == "data"
    staged.unstage()


@pytest.mark.slice
def test_a_formatting_that_had_ended_but_for_its_record_is_recorded(staged):
    """The state after a kill between the two, and a record of that moment restored from a backup."""
    stored = staged.record()
    staged.restore(stored, state="formatting")
    staged.stage()
    assert staged.record() == stored
    assert (staged.path / "file").read_text() == "data"
    staged.unstage()


def test_a_mounted_volume_is_frozen_for_a_group_snapshot(staged, driver, ceph):
    """Where its node makes the snapshot, so that one other volume may be in use that is not."""
    def cut(*volumes):
        made = driver.call("CreateVolumeGroupSnapshot", name="group",
                           source_volume_ids=volumes).group_snapshot
        driver.call("DeleteVolumeGroupSnapshot", group_snapshot_id=made.group_snapshot_id,
                    snapshot_ids=[one.snapshot_id for one in made.snapshots])
        return len(made.snapshots)
    staged.stage()
    others = [driver.create(f"other-{number}", size=64 * MIB).volume_id for number in range(2)]
    for other in others:
        record_nodes(ceph, other, holder("far", FAR))
    assert cut(staged.volume_id, others[0]) == 2
    with refused("FAILED_PRECONDITION", "neither can be frozen"):
        cut(staged.volume_id, *others)
    (staged.path / "later").write_text("the freeze has ended")
    staged.unstage()
    for other in others:
        unrecord_nodes(ceph, other)


def without_superblocks(content):
    """The signature is gone, but the contents of the files are intact."""
    content[:1 << 20] = bytes(1 << 20)
    content[-(1 << 20):] = bytes(1 << 20)


@pytest.mark.slice
@pytest.mark.parametrize("state", ["ready", "formatting"])
def test_a_record_of_before_the_formatting_is_not_believed(state, staged):
    """Not even if nothing on the device shows its content."""
    stored = staged.record()
    before = staged.change_content(without_superblocks)
    uuid = "" if state == "ready" else "7c0e4f3e-0000-4000-8000-000000000002"
    staged.restore(stored, state=state, filesystem_uuid=uuid)
    with refused("FAILED_PRECONDITION", f"says {state}, but its bytes were in use: .* should hold "
                                        f"ext4 with UUID {stored['filesystem_uuid']}"):
        staged.stage()
    assert staged.content() == before
    assert staged.record()["state"] == state
    told = staged.driver.call("ControllerGetVolume", volume_id=staged.volume_id)
    assert told.status.volume_condition.abnormal
    assert "record is older" in told.status.volume_condition.message


def test_formatting_that_was_cut_short_begins_again(driver, ceph, kernel, image_watch, directory):
    made = Stage(driver, ceph, kernel, image_watch, directory)
    made.restore(made.record(), state="formatting",
                 filesystem_uuid="7c0e4f3e-0000-4000-8000-000000000002")
    with open(made.device, "r+b") as file:
        file.seek(1 << 20)
        file.write(b"traces of mkfs")
    made.stage()
    made.unstage()
    assert made.mark() == f"ext4 {made.record()['filesystem_uuid']}"
    made.end()


@pytest.mark.slice
def test_another_machine_of_one_name_is_judged_by_its_watch(kernel, driver, ceph, image_watch,
                                                            directory):
    """A clone, or one whose successor was given its name, whose client lives."""
    volume_id = driver.create("pvc", size=64 * MIB).volume_id
    image = image_of(ceph, volume_id)
    end_watch = image_watch(image)
    address = ceph.watchers(image)[0]
    there = holder("test-node", address, boot="0f6d2c34-0000-4000-8000-000000000001")
    record_nodes(ceph, volume_id, there)
    staging = directory / "staging"
    staging.mkdir()

    def stage():
        driver.call("NodeStageVolume", volume_id=volume_id, staging_target_path=str(staging),
                    volume_capability=capability("mount", "ext4", WRITER))
    with refused("FAILED_PRECONDITION", "in use on node 'test-node', in another boot"):
        stage()
    with refused("FAILED_PRECONDITION", "in use on node 'test-node'"):
        driver.delete(volume_id)
    driver.call("NodeUnstageVolume", volume_id=volume_id, staging_target_path=str(staging))
    assert nodes(ceph, volume_id)["holders"] == [there], "it is not this machine's to give back"
    assert address not in ceph.ceph("osd", "blocklist", "ls")
    end_watch()
    with pytest.raises(csi_client.grpc.RpcError):
        stage()  # no kernel here can map it
    assert address in ceph.ceph("osd", "blocklist", "ls"), "it is gone, as its watch is"


def test_a_claim_of_before_a_reboot_is_given_back_when_its_watch_has_ended(driver, ceph, directory,
                                                                           image_watch):
    volume_id = driver.create("pvc", size=64 * MIB).volume_id
    image = image_of(ceph, volume_id)
    end_watch = image_watch(image)
    address = ceph.watchers(image)[0]
    record_nodes(ceph, volume_id, holder("test-node", address, boot="before"))

    def unstage():
        driver.call("NodeUnstageVolume", volume_id=volume_id,
                    staging_target_path=str(directory / "staging"))
    unstage()
    assert nodes(ceph, volume_id)
    end_watch()
    unstage()
    assert nodes(ceph, volume_id) is None
    assert address in ceph.ceph("osd", "blocklist", "ls"), "it may be another machine, cut off"
    driver.delete(volume_id)
