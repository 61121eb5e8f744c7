# SPDX-License-Identifier: Apache-2.0
"""Group snapshots on one node: several volumes, one instant, all members or none."""

import pytest

import content
import csi_client
import ordered_writes
from driver import MIB, SIZES, uuid_of
from kubelet import Kubelet, PersistentVolume

HOSTS = ("xfs", "btrfs")
DISK = 8 << 30  # sparse
ROUNDS = 6
refused = csi_client.refused


@pytest.fixture(params=HOSTS)
def driver(request, new_disk, new_driver):
    new_disk(DISK, filesystem=request.param)
    return new_driver()


@pytest.fixture
def kubelet(driver, directory):
    return Kubelet(directory / "kubelet", driver.call)


def create(driver, kind, name, **fields):
    """The created volume as kubelet knows it."""
    access = "block" if kind == "block" else "mount"
    made = driver.create(name, access=access, filesystem=kind, **fields)
    return PersistentVolume(made.volume_id, name, access, "" if access == "block" else kind)


def cut(driver, name, *volumes, **parameters):
    """The CSI VolumeGroupSnapshot message."""
    return driver.call("CreateVolumeGroupSnapshot", name=name, parameters=parameters,
                       source_volume_ids=[volume.handle for volume in volumes]).group_snapshot


def get(driver, group):
    return driver.call("GetVolumeGroupSnapshot", group_snapshot_id=group.group_snapshot_id,
                       snapshot_ids=ids_of(group)).group_snapshot


def delete(driver, group, ids=None):
    driver.call("DeleteVolumeGroupSnapshot", group_snapshot_id=group.group_snapshot_id,
                snapshot_ids=ids_of(group) if ids is None else ids)


def ids_of(group):
    return [snapshot.snapshot_id for snapshot in group.snapshots]


def member_of(group, volume):
    [member] = [snapshot for snapshot in group.snapshots
                if snapshot.source_volume_id == volume.handle]
    return member


def check_nothing_is_left(driver, *volumes):
    """Nothing but these volumes is listed or lies in the pool."""
    assert driver.snapshots() == []
    found = {path.name for path in (driver.pool / "volumes").iterdir()}
    assert found == {uuid_of(volume.handle) for volume in volumes}


def file_in(volume, path):
    return path if volume.access == "block" else path / "data"


@pytest.mark.parametrize("provisioning", ("thin", "thick"))
def test_a_groups_life(driver, kubelet, provisioning):
    """Two mounted volumes, a raw block volume in use, and one that nothing uses."""
    volumes = [create(driver, kind, f"pv-{number}", provisioning=provisioning)
               for number, kind in enumerate(("ext4", "xfs", "block", "ext4"))]
    places = [kubelet.start_pod(volume, "pod") for volume in volumes[:3]]
    before = [content.write(file_in(volume, place)) for volume, place in zip(volumes, places)]
    group = cut(driver, "group", *volumes)
    assert group.ready_to_use and group.group_snapshot_id.startswith("g:")
    assert {snapshot.source_volume_id for snapshot in group.snapshots} == {
        volume.handle for volume in volumes}
    for snapshot in group.snapshots:
        assert snapshot.group_snapshot_id == group.group_snapshot_id
        assert snapshot.ready_to_use and snapshot.creation_time.seconds > 0
        assert group.creation_time.seconds >= snapshot.creation_time.seconds
    for volume in volumes:
        kind = volume.filesystem or "block"
        assert member_of(group, volume).size_bytes == SIZES[kind]
    assert cut(driver, "group", *reversed(volumes)) == group
    assert get(driver, group) == group
    assert sorted(driver.snapshots()) == sorted(ids_of(group))
    for volume, place in zip(volumes, places):
        content.write(file_in(volume, place))
    driver.crash()
    assert get(driver, group) == group
    for volume, expected in zip(volumes, before):
        copy = create(driver, volume.filesystem or "block", f"copy-{volume.name}",
                      provisioning=provisioning, source=member_of(group, volume).snapshot_id)
        place = kubelet.start_pod(copy, "copy")
        assert content.checksum(file_in(copy, place), 4 * MIB) == expected
        kubelet.end_pod(copy, "copy")
        driver.delete(copy.handle)
    delete(driver, group)
    delete(driver, group)
    with refused("NOT_FOUND", "no group snapshot"):
        get(driver, group)
    check_nothing_is_left(driver, *volumes)
    for volume in volumes[:3]:
        kubelet.end_pod(volume, "pod")


@pytest.mark.parametrize("kinds", (("ext4", "ext4"), ("xfs", "ext4"), ("ext4", "block"),
                                   ("block", "ext4")), ids="-".join)
def test_no_member_has_what_was_written_later_than_another_lacks(driver, kubelet, kinds):
    volumes = [create(driver, kind, f"pv-{number}") for number, kind in enumerate(kinds)]
    paths = [file_in(volume, kubelet.start_pod(volume, "pod")) for volume in volumes]
    with ordered_writes.appending(*paths):
        groups = [cut(driver, f"group-{number}", *volumes) for number in range(ROUNDS)]
    total = 0
    for number, group in enumerate(groups):
        counts = []
        for volume in volumes:
            copy = create(driver, volume.filesystem or "block", f"{volume.name}-{number}",
                          source=member_of(group, volume).snapshot_id)
            counts.append(ordered_writes.count(file_in(copy, kubelet.start_pod(copy, "copy"))))
            kubelet.end_pod(copy, "copy")
            driver.delete(copy.handle)
        ordered_writes.check_in_order(counts)
        total = max(total, counts[0])
    assert total > ROUNDS, "the writer was idle"
    for volume in volumes:
        kubelet.end_pod(volume, "pod")


@pytest.mark.parametrize("kinds", (("block", "block"), ("btrfs", "block"), ("btrfs", "btrfs")),
                         ids="-".join)
def test_two_volumes_that_cannot_be_frozen_are_refused(driver, kubelet, kinds):
    volumes = [create(driver, kind, f"pv-{number}")
               for number, kind in enumerate((*kinds, "ext4"))]
    paths = [file_in(volume, kubelet.start_pod(volume, "pod")) for volume in volumes]
    with refused("FAILED_PRECONDITION", "can be frozen|cannot"):
        cut(driver, "group", *volumes)
    check_nothing_is_left(driver, *volumes)
    content.write(paths[2])  # it is not frozen
    kubelet.end_pod(volumes[0], "pod")
    group = cut(driver, "group", *volumes)  # one of them is fine
    delete(driver, group)
    for volume in volumes[1:]:
        kubelet.end_pod(volume, "pod")


def test_what_is_refused_leaves_nothing_behind(driver):
    volumes = [create(driver, "ext4", f"pv-{number}") for number in range(3)]
    absent = PersistentVolume(volumes[0].handle[:-1] + ("0" if volumes[0].handle[-1] != "0" else "1"),
                              "absent")
    with refused("INVALID_ARGUMENT", "source_volume_ids"):
        cut(driver, "group")
    with refused("INVALID_ARGUMENT", "source_volume_ids.*twice"):
        cut(driver, "group", volumes[0], volumes[0])
    with refused("INVALID_ARGUMENT", "unknown parameter 'consistency'"):
        cut(driver, "group", *volumes, consistency="crash")
    with refused("NOT_FOUND", "no volume"):
        cut(driver, "group", *volumes, absent)
    check_nothing_is_left(driver, *volumes)
    group = cut(driver, "group", *volumes[:2], maxFreeze="1s")
    for wrong in (volumes, volumes[:1], volumes[1:]):
        with refused("ALREADY_EXISTS", "other volumes"):
            cut(driver, "group", *wrong, maxFreeze="1s")
    with refused("ALREADY_EXISTS", "other parameters"):
        cut(driver, "group", *volumes[:2])
    for wrong in ([], ids_of(group)[:1], [*ids_of(group), f"s:{volumes[0].handle}"]):
        with refused("INVALID_ARGUMENT", "snapshot_ids"):
            delete(driver, group, wrong)
    assert get(driver, group) == group


def test_a_member_is_a_snapshot_like_any_other(driver):
    volumes = [create(driver, "ext4", f"pv-{number}") for number in range(3)]
    group = cut(driver, "group", *volumes)
    listed = [entry.snapshot for entry in driver.call("ListSnapshots").entries]
    assert sorted(one.snapshot_id for one in listed) == sorted(ids_of(group))
    assert {one.group_snapshot_id for one in listed} == {""}
    for volume in volumes:  # it outlives its volume
        driver.delete(volume.handle)
    assert get(driver, group) == group
    driver.delete_snapshot(ids_of(group)[0])
    with refused("NOT_FOUND", "not whole"):
        get(driver, group)
    restored = create(driver, "ext4", "restored", source=ids_of(group)[1])
    delete(driver, group)  # with the members that it had
    assert driver.snapshots() == []
    driver.delete(restored.handle)
