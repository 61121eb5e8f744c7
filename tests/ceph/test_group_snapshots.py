# SPDX-License-Identifier: Apache-2.0
"""Group snapshots with volumes in Ceph: one instant, and all members or none. (conformance.cc has
what is written to a volume while its group is cut, and test_kills.py the kills.)"""

import signal
import threading
import time

import pytest

import content
import csi_client
import driver as driver_module
import image_bytes
from cluster import until
from csi_client import refused
from driver_fixtures import new_disk  # noqa: F401
from kubelet import Kubelet, PersistentVolume
from rbd_driver import (change_record, holder, image_of, journal, moment, record, record_nodes,
                        residue, unrecord_nodes)
from test_faults import until_it_works

MIB = driver_module.MIB
SIZE = 64 * MIB
WRITTEN = 5 * MIB
FAR = "10.7.7.7:0/{}"
uuid_of = driver_module.uuid_of


@pytest.fixture
def both(new_disk, new_driver, directory):  # noqa: F811
    """One process with a pool in Ceph and the pool `files`."""
    new_disk(2 << 30, directory / "files", filesystem="xfs")
    return new_driver(pools=[f"files=file:{directory / 'files'}"])


@pytest.fixture
def pair(driver):
    """Two raw block volumes in Ceph."""
    return [create(driver, f"pv-{number}") for number in range(2)]


def create(driver, name, pool="ceph", **fields):
    return driver.create(name, size=SIZE, access="block", pool=pool, **fields).volume_id


def cut(driver, *volumes, name="group", **parameters):
    return driver.call("CreateVolumeGroupSnapshot", name=name, source_volume_ids=volumes,
                       parameters=parameters).group_snapshot


def get(driver, group):
    return driver.call("GetVolumeGroupSnapshot", group_snapshot_id=group.group_snapshot_id,
                       snapshot_ids=ids_of(group)).group_snapshot


def delete(driver, group):
    driver.call("DeleteVolumeGroupSnapshot", group_snapshot_id=group.group_snapshot_id,
                snapshot_ids=ids_of(group))


def ids_of(group):
    return [snapshot.snapshot_id for snapshot in group.snapshots]


def member_of(group, volume):
    [member] = [snapshot.snapshot_id for snapshot in group.snapshots
                if snapshot.source_volume_id == volume]
    return member


def sha256_of(ceph, volume):
    return image_bytes.checksum(ceph, image_of(ceph, volume))


def records(ceph):
    return {key for key in journal(ceph) if not key.endswith("/nodes")}


@pytest.mark.slice
def test_a_groups_life(both, ceph, directory):
    """Two volumes in Ceph and one in a file pool."""
    volumes = [create(both, "pv-0"), create(both, "pv-1"), create(both, "pv-2", pool="files")]
    image = directory / "files" / "volumes" / uuid_of(volumes[2]) / "image"
    before = []
    for volume in volumes[:2]:
        image_bytes.write(ceph, image_of(ceph, volume), WRITTEN, directory)
        before.append(sha256_of(ceph, volume))
    content.write(image, WRITTEN)
    before.append(content.checksum(image))
    group = cut(both, *volumes)
    assert group.ready_to_use and {one.source_volume_id for one in group.snapshots} == set(volumes)
    assert {one.group_snapshot_id for one in group.snapshots} == {group.group_snapshot_id}
    assert cut(both, *reversed(volumes)) == group
    for wrong in (volumes[:2], volumes[1:]):
        with refused("ALREADY_EXISTS", "other volumes"):
            cut(both, *wrong)
    for volume in volumes[:2]:
        image_bytes.write(ceph, image_of(ceph, volume), WRITTEN, directory)
    content.write(image, WRITTEN)
    both.crash()
    assert get(both, group) == group
    assert sorted(both.snapshots()) == sorted(ids_of(group))
    copies = [create(both, f"copy-{number}", source=member_of(group, volume),
                     pool="ceph" if number < 2 else "files")
              for number, volume in enumerate(volumes)]
    after = [sha256_of(ceph, copy) for copy in copies[:2]]
    after.append(content.checksum(directory / "files" / "volumes" / uuid_of(copies[2]) / "image"))
    assert after == before
    both.delete(volumes[0])  # its snapshot outlives it
    assert get(both, group) == group
    delete(both, group)
    delete(both, group)
    with refused("NOT_FOUND", "no group snapshot"):
        get(both, group)
    assert both.snapshots() == []
    for volume in (*volumes[1:], *copies):
        both.delete(volume)
    until(lambda: residue(ceph) == [], "something is left")


def test_of_volumes_that_nodes_have_there_can_be_one(driver, ceph, pair):
    for number, volume in enumerate(pair):
        record_nodes(ceph, volume, holder(f"n{number}", FAR.format(number)))
    with refused("FAILED_PRECONDITION", "neither can be frozen"):
        cut(driver, *pair)
    assert records(ceph) == {uuid_of(volume) for volume in pair}
    unrecord_nodes(ceph, pair[1])
    assert len(cut(driver, *pair).snapshots) == 2
    delete(driver, cut(driver, *pair))
    record_nodes(ceph, pair[1], holder("n1", FAR.format(1), "readers"))  # who write nothing
    delete(driver, cut(driver, *pair))
    for volume in pair:
        unrecord_nodes(ceph, volume)


def test_a_client_that_has_an_image_open_counts_as_a_writer(driver, ceph, pair, image_watch):
    ends = [image_watch(image_of(ceph, volume)) for volume in pair]
    with refused("FAILED_PRECONDITION", "neither can be frozen"):
        cut(driver, *pair)
    ends[0]()
    delete(driver, cut(driver, *pair))


def undecide(ceph, snapshot, age=600):
    """As a kill leaves it before it was kept."""
    change_record(ceph, uuid_of(snapshot), state="cut", created_at=moment(-age))


@pytest.mark.slice
def test_what_a_kill_left_undecided_ends_without_a_call(driver, ceph, pair):
    group = cut(driver, *pair)
    first, second = sorted(ids_of(group))
    undecide(ceph, second)
    driver.restart()
    until(lambda: record(ceph, second)["state"] == "ready", "it is not kept", 60)
    assert ids_of(get(driver, group)) == ids_of(group)
    for snapshot in (first, second):
        undecide(ceph, snapshot)
    assert driver.snapshots() == []
    driver.restart()
    until(lambda: records(ceph) == {uuid_of(volume) for volume in pair}, "they are not removed", 60)
    assert len(cut(driver, *pair).snapshots) == 2
    delete(driver, group)


def test_what_another_process_may_be_deciding_is_left_to_it(driver, ceph, pair):
    """Its records are as old as the attempt."""
    groups = [cut(driver, *pair, name=name) for name in ("young", "old")]
    for group, age in zip(groups, (5, 600)):
        for snapshot in ids_of(group):
            undecide(ceph, snapshot, age)
    driver.restart()
    until(lambda: not records(ceph) & {uuid_of(one) for one in ids_of(groups[1])},
          "the old one is not removed", 60)
    assert {record(ceph, snapshot)["state"] for snapshot in ids_of(groups[0])} == {"cut"}
    made = cut(driver, *pair, name="young")  # the CO's repeated call does not wait
    assert ids_of(made) == ids_of(groups[0])
    delete(driver, made)


def test_a_member_of_which_the_deciding_one_was_deleted_is_no_reason_to_keep_others(driver, ceph,
                                                                                    pair):
    group = cut(driver, *pair)
    first, second = sorted(ids_of(group))
    driver.delete_snapshot(first)
    undecide(ceph, second)
    driver.restart()
    until(lambda: uuid_of(second) not in journal(ceph), "it is not removed", 60)


def test_a_cluster_that_hangs_keeps_no_other_volumes_from_being_cut(both, ceph):
    local = [create(both, f"pv-{number}", pool="files") for number in range(2)]
    shared = create(both, "shared", pool="ceph")
    for daemon in ("osd.0", "mon.a"):
        ceph.signal(daemon, signal.SIGSTOP)
    try:
        group = cut(both, *local)
        assert get(both, group) == group
        with refused("UNAVAILABLE"):
            cut(both, local[0], shared, name="mixed")
        with refused("UNAVAILABLE"):
            both.call("GetVolumeGroupSnapshot", group_snapshot_id=f"g:{uuid_of(shared)}")
        delete(both, group)
    finally:
        for daemon in ("mon.a", "osd.0"):
            ceph.signal(daemon, signal.SIGCONT)
    until(lambda: both.listed(), "the cluster is not back", 60)


class Pair:
    """A volume in Ceph and one on a node, which a pod has mounted."""

    def __init__(self, linked, new_disk, directory):  # noqa: F811
        self.linked, self.node = linked, linked.nodes["n1"]
        new_disk(2 << 30, self.node.pool, filesystem="xfs")
        self.node.start()
        linked.wait_for("n1")
        self.kubelet = Kubelet(directory / "kubelet", self.node.call)
        self.shared = linked.call(
            "CreateVolume", name="shared", capacity_range=csi_client.at_least(SIZE),
            volume_capabilities=[csi_client.capability("block")],
            parameters={"provisioning": "thin", "pool": "ceph"}).volume.volume_id
        local = linked.create("local", ["n1"]).volume_id
        self.local = PersistentVolume(local, "local", "mount", "ext4")
        self.log = self.kubelet.start_pod(self.local, "pod") / "data"

    @property
    def volumes(self):
        return [self.shared, self.local.handle]

    def is_whole_or_absent(self):
        found = {entry.snapshot.snapshot_id for entry in
                 self.linked.call("ListSnapshots").entries}
        return len(found) in (0, 2) and len(list((self.node.pool / "volumes").iterdir())) == (
            1 + len(found) // 2)

    def end(self):
        self.kubelet.end_pod(self.local, "pod")
        for volume in self.volumes:
            self.linked.call("DeleteVolume", volume_id=volume)


@pytest.fixture
def across(new_disk, linked, directory):  # noqa: F811
    made = Pair(linked, new_disk, directory)
    yield made
    made.end()


def test_of_a_node_and_of_ceph(across, linked, ceph, directory):
    """The controller cuts what every node reaches, and leads the node with the rest."""
    image_bytes.write(ceph, image_of(ceph, across.shared), WRITTEN, directory)
    before = [sha256_of(ceph, across.shared), content.write(across.log)]
    group = cut(linked, *across.volumes)
    image_bytes.write(ceph, image_of(ceph, across.shared), WRITTEN, directory)
    content.write(across.log)
    assert cut(linked, *across.volumes) == group and get(linked, group) == group
    listed = linked.call("ListSnapshots").entries  # the node, too, has a pool with all of Ceph's
    assert sorted(one.snapshot.snapshot_id for one in listed) == sorted(ids_of(group))
    assert sha256_of(ceph, member_of(group, across.shared)) == before[0]
    copy = PersistentVolume(
        linked.create("copy", ["n1"], source=member_of(group, across.local.handle)).volume_id,
        "copy", "mount", "ext4")
    place = across.kubelet.start_pod(copy, "copy")
    assert content.checksum(place / "data", 4 * MIB) == before[1]
    across.kubelet.end_pod(copy, "copy")
    linked.call("DeleteVolume", volume_id=copy.handle)
    with refused("ALREADY_EXISTS", "other volumes"):
        cut(linked, across.shared)
    delete(linked, group)
    assert across.is_whole_or_absent()


@pytest.mark.parametrize("victim", ("controller", "n1"))
def test_a_kill_leaves_all_members_or_none(victim, across, linked, ceph):
    began = time.monotonic()
    delete(linked, cut(linked, *across.volumes))
    length = (time.monotonic() - began) * 0.6  # the deletion is a part of it
    process = linked.controller if victim == "controller" else linked.nodes[victim]
    for number in range(5):
        name = f"group-{number}"
        call = threading.Thread(target=lambda: csi_client.outcome(
            lambda: cut(linked, *across.volumes, name=name)))
        call.start()
        time.sleep(number * length / 5)
        process.server.kill()
        call.join()
        process.start()
        linked.wait_for("n1")
        content.write(across.log.with_name("later"), 4096)  # it is not frozen, or not for long
        group = until_it_works(lambda: cut(linked, *across.volumes, name=name))
        assert len(group.snapshots) == 2 and across.is_whole_or_absent()
        until_it_works(lambda: delete(linked, group))
    assert records(ceph) == {uuid_of(across.shared)}

