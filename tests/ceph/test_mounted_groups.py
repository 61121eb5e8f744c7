# SPDX-License-Identifier: Apache-2.0
"""Group snapshots of volumes in Ceph that nodes have mounted: the controller cuts them, and each node
freezes its own meanwhile. The kernel's rbd is a fake (kernel_rbd.py), whose writes no image sees;
tests/ceph/guest has the order of writes."""

import json
import threading
import time

import pytest

import csi_client
import driver as driver_module
from csi_client import capability, refused
from driver_fixtures import new_disk  # noqa: F401
from kernel_rbd import KernelRbd
from rbd_driver import boot_id, holder, image_of, journal, record_nodes, unrecord_nodes
from test_faults import until_it_works

SIZE = 64 * driver_module.MIB
NODES = ("n1", "n2")
FAR = "10.9.8.99:0/4713"  # that no other test fences


class Mounted:
    """A volume that a node has staged."""

    def __init__(self, linked, node, ceph, kernel, image_watch, directory, filesystem="ext4"):
        self.node, self.ceph, self.kernel = linked.nodes[node], ceph, kernel
        self.path = directory / f"staging-{node}"
        self.path.mkdir()
        self.id = create(linked, f"of-{node}", capability("mount", filesystem))
        image = image_of(ceph, self.id)
        self.end_watch = image_watch(image)  # the kernel's client has the image open
        address = ceph.watchers(image)[0]
        self.index = kernel.show(image, address)
        record_nodes(ceph, self.id, holder(node, address, boot=boot_id()))
        self.node.call("NodeStageVolume", volume_id=self.id, staging_target_path=str(self.path),
                       volume_capability=capability("mount", filesystem, "SINGLE_NODE_WRITER"))

    def write(self):
        """Waits as long as it is frozen."""
        (self.path / "file").write_text(f"{time.monotonic()}")

    def is_frozen(self):
        """As its node has noted before it froze it, until it has thawed it."""
        for path in (self.node.directory / "state" / "stages").iterdir():
            try:
                text = path.read_text()
            except FileNotFoundError:  # a temporary one
                continue
            if driver_module.uuid_of(self.id) in text:
                return json.loads(text).get("freezing", False)
        return False

    def end(self):
        self.node.call("NodeUnstageVolume", volume_id=self.id, staging_target_path=str(self.path))
        self.end_watch()
        self.kernel.hide(self.index)
        unrecord_nodes(self.ceph, self.id)


def create(linked, name, wanted):
    return linked.call("CreateVolume", name=name, capacity_range=csi_client.at_least(SIZE),
                       volume_capabilities=[wanted],
                       parameters={"provisioning": "thin", "pool": "ceph"}).volume.volume_id


class Group:
    """A mounted volume on each node, and two raw ones that two other nodes write to."""

    def __init__(self, linked, ceph, kernel, image_watch, directory, new_disk):  # noqa: F811
        self.linked, self.ceph = linked, ceph
        for node in NODES:
            new_disk(1 << 30, linked.nodes[node].pool, filesystem="xfs", name=f"disk-{node}")
            linked.nodes[node].start()
        linked.wait_for(*NODES)
        self.mounted = [Mounted(linked, node, ceph, kernel, image_watch, directory)
                        for node in NODES]
        self.raw = [create(linked, f"raw-{number}", capability("block")) for number in range(2)]
        for volume in self.raw:
            record_nodes(ceph, volume, *(holder(f"far-{node}", FAR, "writers") for node in NODES))

    @property
    def ids(self):
        return [volume.id for volume in self.mounted]

    def cut(self, *volumes, name="group"):
        return self.linked.call("CreateVolumeGroupSnapshot", name=name,
                                source_volume_ids=volumes or self.ids).group_snapshot

    def delete(self, group):
        self.linked.call("DeleteVolumeGroupSnapshot", group_snapshot_id=group.group_snapshot_id,
                         snapshot_ids=[one.snapshot_id for one in group.snapshots])

    def snapshots(self):
        return [key for key, stored in journal(self.ceph).items()
                if stored.get("role") == "snapshot"]

    def check_free(self):
        for volume in self.mounted:
            volume.write()

    def end(self):
        for volume in self.mounted:
            volume.end()
        for volume in self.raw:
            unrecord_nodes(self.ceph, volume)
        for volume in (*self.ids, *self.raw):
            self.linked.call("DeleteVolume", volume_id=volume)


@pytest.fixture
def kernel(directory, ceph, linked):
    """Depends on the drivers' fixture, so that this one ends first."""
    made = KernelRbd(directory, ceph)
    yield made
    made.end()


@pytest.fixture
def group(new_disk, linked, ceph, kernel, image_watch, directory):  # noqa: F811
    made = Group(linked, ceph, kernel, image_watch, directory, new_disk)
    yield made
    made.end()


@pytest.mark.slice
def test_each_node_freezes_its_own(group):
    made = []
    call = threading.Thread(target=lambda: made.append(group.cut()))
    call.start()
    together = False
    while call.is_alive():
        together |= all([volume.is_frozen() for volume in group.mounted])
    assert together, "they were never frozen at the same time"
    assert made[0].ready_to_use and len(made[0].snapshots) == 2
    group.delete(made[0])
    group.delete(group.cut(*group.ids, group.raw[0]))  # of unheld ones there can be one
    with refused("FAILED_PRECONDITION", "neither can be frozen"):
        group.cut(*group.ids, *group.raw)
    group.check_free()
    assert group.snapshots() == []


def test_only_the_device_that_the_records_name_is_held(group, ceph, kernel, image_watch):
    first, second = group.mounted
    shown = kernel.devices / str(second.index) / "client_addr"
    address = shown.read_text()
    shown.write_text(f"{FAR}\n")  # as if the volume had been mapped again meanwhile
    with refused("FAILED_PRECONDITION", "neither can be frozen"):
        group.cut(*group.ids, group.raw[0])
    shown.write_text(address)
    end_watch = image_watch(image_of(ceph, first.id))  # another client has it, too
    with refused("FAILED_PRECONDITION", "neither can be frozen"):
        group.cut(*group.ids, group.raw[0])
    end_watch()
    group.delete(group.cut(*group.ids, group.raw[0]))
    group.check_free()


def test_a_node_that_is_away_is_waited_for_if_it_is_needed(group, linked):
    linked.nodes["n2"].server.stop()
    group.delete(until_it_works(group.cut))
    with refused("UNAVAILABLE", "'n2', which is not connected"):
        group.cut(*group.ids, group.raw[0])
    group.check_free()
    linked.nodes["n2"].start()
    linked.wait_for("n2")
    group.delete(group.cut(*group.ids, group.raw[0]))


@pytest.mark.parametrize("victim", ("controller", "n1", "n2"))
def test_a_kill_leaves_all_members_or_none(victim, group, linked):
    began = time.monotonic()
    group.delete(group.cut())
    length = time.monotonic() - began
    process = linked.controller if victim == "controller" else linked.nodes[victim]
    for number in range(4):
        name = f"group-{number}"
        call = threading.Thread(target=lambda: csi_client.outcome(
            lambda: group.cut(name=name)))
        call.start()
        time.sleep(number * length / 6)
        process.server.kill()
        call.join()
        group.check_free()  # the freeze has ended, or does within 5 s
        process.start()
        linked.wait_for(*NODES)
        made = until_it_works(lambda: group.cut(name=name))
        assert len(made.snapshots) == 2 and len(group.snapshots()) == 2
        until_it_works(lambda: group.delete(made))
        assert group.snapshots() == []
