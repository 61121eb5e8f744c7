# SPDX-License-Identifier: Apache-2.0
"""Clones of volumes on another node: a snapshot is held on the volume's node until they are complete,
and no caller ever hears of it."""

import datetime
import json
import re
import subprocess

import pytest

import content
import csi_client
from cluster import node_of, segment, until
from csi_client import refused
from driver import MIB, SIZES, uuid_of
from kubelet import Kubelet, PersistentVolume
from pool_disk import run
from record_text import sealed

KINDS = ("ext4", "xfs", "btrfs", "block")
BIG = 384 * MIB
PROGRESS = re.compile(r"which is at ([\d.]+) MiB")


def two_nodes(new_cluster, directory, new_disk, **options):
    """The pool of n1 shares blocks, that of n2 does not."""
    (directory / "n1").mkdir()
    new_disk(4 << 30, directory / "n1" / "pool", filesystem="xfs")
    return new_cluster("n1", "n2", **options)


@pytest.fixture
def pair(new_cluster, directory, new_disk):
    return two_nodes(new_cluster, directory, new_disk)


@pytest.fixture
def slow_pair(new_cluster, directory, new_disk):
    """The same, and 384 MiB take twelve seconds; progress is kept after five."""
    return two_nodes(new_cluster, directory, new_disk, node_flags=("--copy-rate=32Mi",))


class Pod:
    """A volume in use on its node."""

    def __init__(self, cluster, volume, kind, name):
        driver = cluster.nodes[node_of(volume)]
        access = "block" if kind == "block" else "mount"
        self.kubelet = Kubelet(driver.directory / "kubelet", driver.call)
        self.volume = PersistentVolume(volume.volume_id, name, access,
                                       "" if access == "block" else kind)
        self.path = self.kubelet.start_pod(self.volume, "pod")
        self.data = self.path if access == "block" else self.path / "data"

    def end(self):
        self.kubelet.end_pod(self.volume, "pod")


def create(cluster, name, nodes, kind, **fields):
    access = "block" if kind == "block" else "mount"
    return cluster.create_again(name, nodes, fields.pop("size", SIZES[kind]), access=access,
                                filesystem=kind, **fields)


def held_on(node):
    """The records of the snapshots that the node holds."""
    records = [json.loads((path / "record.json").read_text())
               for path in (node.pool / "volumes").iterdir() if (path / "record.json").exists()]
    return [record for record in records if "held_at" in record]


@pytest.mark.parametrize("provisioning", ("thin", "thick"))
@pytest.mark.parametrize("kind", KINDS)
def test_a_volume_in_use_is_cloned_on_another_node(pair, kind, provisioning):
    made = create(pair, "origin", ["n1"], kind, provisioning=provisioning)
    origin = Pod(pair, made, kind, "origin")
    before = content.write(origin.data)
    larger = SIZES[kind] + 64 * MIB
    fields = {"size": larger, "source": made.volume_id, "provisioning": provisioning}
    clone = create(pair, "copy", ["n2"], kind, **fields)
    content.write(origin.data)
    assert node_of(clone) == "n2" and clone.capacity_bytes == larger
    assert clone.content_source.volume.volume_id == made.volume_id
    assert not held_on(pair.nodes["n1"])
    assert create(pair, "copy", ["n2"], kind, **fields) == clone
    copy = Pod(pair, clone, kind, "copy")
    assert content.checksum(copy.data, 4 * MIB) == before
    if kind != "block":
        uuids = {run("findmnt", "--noheadings", "--output", "UUID", pod.path)
                 for pod in (origin, copy)}
        assert len(uuids) == 2, "the copy has its origin's UUID"
    origin.end()
    pair.call("DeleteVolume", volume_id=made.volume_id)
    assert create(pair, "copy", ["n2"], kind, **fields) == clone, "it needs no source"
    assert not held_on(pair.nodes["n1"])
    copy.end()
    pair.call("DeleteVolume", volume_id=clone.volume_id)


@pytest.mark.parametrize("kind", ("ext4", "block"))
def test_a_volume_whose_pool_must_copy_is_cloned_on_another_node(pair, kind):
    """First in steps to a snapshot, then to the other node."""
    made = create(pair, "origin", ["n2"], kind)
    pod = Pod(pair, made, kind, "origin")
    before = content.write(pod.data)
    pod.end()
    clone = create(pair, "copy", ["n1"], kind, source=made.volume_id)
    assert node_of(clone) == "n1" and not held_on(pair.nodes["n2"])
    pair.call("DeleteVolume", volume_id=made.volume_id)
    copy = Pod(pair, clone, kind, "copy")
    assert content.checksum(copy.data, 4 * MIB) == before
    copy.end()
    pair.call("DeleteVolume", volume_id=clone.volume_id)


def test_a_block_volume_in_use_whose_pool_must_copy_is_refused(pair):
    made = create(pair, "origin", ["n2"], "block")
    pod = Pod(pair, made, "block", "origin")
    with refused("FAILED_PRECONDITION", "cannot share blocks"):
        pair.create("copy", ["n1"], SIZES["block"], access="block", source=made.volume_id)
    assert not held_on(pair.nodes["n2"])
    pod.end()
    pair.call("DeleteVolume", volume_id=made.volume_id)


def test_what_cannot_be_leaves_nothing(pair):
    made = create(pair, "origin", ["n1"], "ext4")
    Pod(pair, made, "ext4", "origin").end()  # which makes the filesystem
    for code, fields in (("INVALID_ARGUMENT", {"filesystem": "xfs", "size": SIZES["xfs"]}),
                         ("RESOURCE_EXHAUSTED", {"size": 1 << 44, "provisioning": "thick"})):
        with refused(code):
            pair.create("copy", ["n2"], source=made.volume_id, **fields)
        assert not held_on(pair.nodes["n1"])
    with refused("OUT_OF_RANGE"):
        pair.call("CreateVolume", name="copy", parameters={"provisioning": "thin"},
                  capacity_range=csi_client.at_least(MIB, limit=32 * MIB),
                  volume_capabilities=[csi_client.capability("mount", "ext4")],
                  volume_content_source=csi_client.content_source(made.volume_id),
                  accessibility_requirements={"requisite": [segment("n2")]})
    pair.call("DeleteVolume", volume_id=made.volume_id)
    with refused("NOT_FOUND", "there is no volume"):
        pair.create("copy", ["n2"], source=made.volume_id)
    for node in pair.nodes.values():
        assert not list((node.pool / "volumes").iterdir())


def origin_of(cluster):
    """The id of a volume full of data, and its checksum."""
    made = cluster.create("origin", ["n1"], BIG, access="block")
    return made.volume_id, content.write(cluster.nodes["n1"].image(made.volume_id), BIG)


def attempt(cluster, source):
    """The volume, or how many MiB its bytes have come to."""
    try:
        return cluster.create("copy", ["n2"], BIG, access="block", source=source)
    except csi_client.grpc.RpcError as error:
        assert csi_client.code_of(error) in ("ABORTED", "UNAVAILABLE"), error
        found = PROGRESS.search(error.details())
        return float(found[1]) if found else 0.0


def await_progress(cluster, source):
    """The first progress that is kept; it must be reached before the copy is complete."""
    seen = []

    def some():
        seen.append(attempt(cluster, source))
        return seen[-1]
    until(some, "nothing comes", 60)
    assert isinstance(seen[-1], float), "the copy was complete before the test could interfere"
    return seen[-1]


def await_copy(cluster, source):
    """The volume, and the progress that was seen on the way."""
    seen = []

    def made():
        seen.append(attempt(cluster, source))
        return not isinstance(seen[-1], float)
    until(made, "the copy is not completed", 60)
    return seen[-1], seen[:-1]


@pytest.mark.parametrize("victim", ("n1", "n2", "controller"))
def test_a_clone_goes_on_after_a_kill(slow_pair, victim):
    """Although its source is deleted meanwhile."""
    source, before = origin_of(slow_pair)
    kept = await_progress(slow_pair, source)
    slow_pair.call("DeleteVolume", volume_id=source)
    if victim == "controller":
        slow_pair.controller.server.kill()
        slow_pair.controller.start()
    else:
        slow_pair.nodes[victim].crash()
    slow_pair.wait_for("n1", "n2")
    volume, seen = await_copy(slow_pair, source)
    assert all(progress >= kept for progress in seen if progress), f"kept {kept}, then {seen}"
    assert content.checksum(slow_pair.nodes["n2"].image(volume.volume_id)) == before
    assert not held_on(slow_pair.nodes["n1"])
    slow_pair.call("DeleteVolume", volume_id=volume.volume_id)


def shown_snapshots(node):
    """What `holdfast snapshots` says of the node's."""
    shown = subprocess.run([node.server.command[0], "snapshots", "--output=json",
                            f"--endpoint=unix://{node.server.socket}"],
                           check=True, capture_output=True, text=True, timeout=60)
    return json.loads(shown.stdout)["snapshots"]


def test_the_snapshot_is_seen_by_administrators_only(slow_pair):
    source, _ = origin_of(slow_pair)
    await_progress(slow_pair, source)
    shown, = shown_snapshots(slow_pair.nodes["n1"])
    assert (shown["name"], shown["held"], shown["source_volume_id"]) == ("copy", True, source)
    assert not slow_pair.call("ListSnapshots").entries
    assert not slow_pair.call("ListSnapshots", source_volume_id=source).entries
    assert not slow_pair.call("ListSnapshots", snapshot_id=shown["id"]).entries
    with refused("NOT_FOUND", "there is no snapshot"):
        slow_pair.call("GetSnapshot", snapshot_id=shown["id"])
    # Its name is that of the copy, which may be a snapshot's, too.
    snapshot = slow_pair.snapshot(source, "copy").snapshot_id
    assert snapshot != shown["id"]
    slow_pair.nodes["n1"].crash()
    slow_pair.wait_for("n1")
    volume, _ = await_copy(slow_pair, source)
    slow_pair.call("DeleteSnapshot", snapshot_id=snapshot)
    for volume_id in (volume.volume_id, source):
        slow_pair.call("DeleteVolume", volume_id=volume_id)


def hours_ago(node, hours):
    """The node was last asked for what it holds so long ago; it is killed and started for that."""
    node.server.kill()
    then = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=hours)
    for record in held_on(node):
        record["held_at"] = f"{then:%Y-%m-%dT%H:%M:%SZ}"
        (node.pool / "volumes" / record["uuid"] / "record.json").write_bytes(sealed(record))
    node.start()


def test_a_co_that_stops_calling_leaves_nothing(slow_pair):
    source, _ = origin_of(slow_pair)
    await_progress(slow_pair, source)
    node, target = slow_pair.nodes["n1"], slow_pair.nodes["n2"]
    unfinished, = (path.name for path in (target.pool / "volumes").iterdir())
    slow_pair.call("DeleteVolume", volume_id=f"default:n2:{unfinished}")
    hours_ago(node, 0.9)
    slow_pair.wait_for("n1")
    assert len(held_on(node)) == 1
    hours_ago(node, 1.1)
    until(lambda: not held_on(node), "the snapshot is left", 60)
    slow_pair.wait_for("n1")
    assert [path.name for path in (node.pool / "volumes").iterdir()] == [uuid_of(source)]
    slow_pair.call("DeleteVolume", volume_id=source)


def test_a_clone_that_is_asked_for_again_keeps_its_snapshot(slow_pair):
    source, before = origin_of(slow_pair)
    await_progress(slow_pair, source)
    node = slow_pair.nodes["n1"]
    made, = held_on(node)
    hours_ago(node, 0.5)
    slow_pair.wait_for("n1")
    attempt(slow_pair, source)
    again, = held_on(node)
    assert again["uuid"] == made["uuid"] and again["held_at"] >= made["held_at"]
    volume, _ = await_copy(slow_pair, source)
    assert content.checksum(slow_pair.nodes["n2"].image(volume.volume_id)) == before
    for volume_id in (volume.volume_id, source):
        slow_pair.call("DeleteVolume", volume_id=volume_id)


def test_a_clone_goes_where_there_is_room(new_cluster, directory, new_disk):
    """The source's node has room for a snapshot only; what was begun on the other one goes on there."""
    for name, size in (("n1", 1000 * MIB), ("n2", 4 << 30)):
        (directory / name).mkdir()
        new_disk(size, directory / name / "pool", filesystem="xfs", name=name)
    cluster = new_cluster("n1", "n2", node_flags=("--copy-rate=64Mi",))
    source, before = origin_of(cluster)
    fields = {"size": 640 * MIB, "access": "block", "source": source, "provisioning": "thick"}
    clone = cluster.create_again("copy", ["n1", "n2"], **fields)
    assert node_of(clone) == "n2"
    image = cluster.nodes["n2"].image(clone.volume_id)
    assert content.checksum(image, BIG) == before
    for volume_id in (clone.volume_id, source):
        cluster.call("DeleteVolume", volume_id=volume_id)
