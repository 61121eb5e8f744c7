# SPDX-License-Identifier: Apache-2.0
"""Snapshots whose bytes are brought to another node."""

import re

import pytest

import content
import csi_client
from cluster import node_of, until
from csi_client import refused
from driver import MIB, SIZES
from kubelet import Kubelet, PersistentVolume
from link_files import free_port
from observed import metric
from pool_disk import run

KINDS = ("ext4", "xfs", "btrfs", "block")


@pytest.fixture
def pair(new_cluster, directory, new_disk):
    """Two nodes; the pool of n1 shares blocks, that of n2 does not."""
    (directory / "n1").mkdir()
    new_disk(4 << 30, directory / "n1" / "pool", filesystem="xfs")
    return new_cluster("n1", "n2")


@pytest.fixture
def slow_pair(new_cluster, directory, new_disk):
    """The same, and 384 MiB take twelve seconds; progress is kept after five."""
    (directory / "n1").mkdir()
    new_disk(4 << 30, directory / "n1" / "pool", filesystem="xfs")
    return new_cluster("n1", "n2", node_flags=("--copy-rate=32Mi",))


def kubelet_of(cluster, node):
    driver = cluster.nodes[node]
    return Kubelet(driver.directory / "kubelet", driver.call)


def claim(volume, kind, name):
    access = "block" if kind == "block" else "mount"
    return PersistentVolume(volume.volume_id, name, access, "" if access == "block" else kind)


def data_of(volume, path):
    return path if volume.access == "block" else path / "data"


def create(cluster, name, nodes, kind, **fields):
    access = "block" if kind == "block" else "mount"
    return cluster.create_again(name, nodes, fields.pop("size", SIZES[kind]), access=access,
                                filesystem=kind, **fields)


@pytest.mark.parametrize("provisioning", ("thin", "thick"))
@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_is_restored_on_another_node(pair, kind, provisioning):
    made = create(pair, "origin", ["n1"], kind, provisioning=provisioning)
    origin, there = claim(made, kind, "origin"), kubelet_of(pair, "n1")
    there_path = there.start_pod(origin, "pod")
    before = content.write(data_of(origin, there_path))
    snapshot = pair.snapshot(made.volume_id, "snap").snapshot_id
    content.write(data_of(origin, there_path), offset=8 * MIB)
    larger = SIZES[kind] + 64 * MIB
    restored = create(pair, "copy", ["n2"], kind, size=larger, source=snapshot,
                      provisioning=provisioning)
    assert node_of(restored) == "n2" and restored.capacity_bytes == larger
    assert restored.content_source.snapshot.snapshot_id == snapshot
    assert create(pair, "copy", ["n2"], kind, size=larger, source=snapshot,
                  provisioning=provisioning) == restored
    copy, here = claim(restored, kind, "copy"), kubelet_of(pair, "n2")
    path = here.start_pod(copy, "pod")
    assert content.checksum(data_of(copy, path), 4 * MIB) == before
    if kind != "block":
        uuids = {run("findmnt", "--noheadings", "--output", "UUID", where)
                 for where in (path, there_path)}
        assert len(uuids) == 2, "the copy has its origin's UUID"
    for kubelet, volume in ((there, origin), (here, copy)):
        kubelet.end_pod(volume, "pod")
        pair.call("DeleteVolume", volume_id=volume.handle)
    pair.call("DeleteSnapshot", snapshot_id=snapshot)


BIG = 384 * MIB
PROGRESS = re.compile(r"which is at ([\d.]+) MiB")


def snapshot_of_much(cluster):
    """The id of the snapshot of a volume full of data, and its checksum; the volume is gone."""
    made = cluster.create("origin", ["n1"], BIG, access="block")
    image = cluster.nodes["n1"].image(made.volume_id)
    before = content.write(image, BIG)
    snapshot = cluster.snapshot(made.volume_id, "snap").snapshot_id
    cluster.call("DeleteVolume", volume_id=made.volume_id)
    return snapshot, before


def attempt(cluster, snapshot, name="copy"):
    """The volume, or how many MiB its bytes have come to."""
    try:
        return cluster.create(name, ["n2"], BIG, access="block", source=snapshot)
    except csi_client.grpc.RpcError as error:
        assert csi_client.code_of(error) in ("ABORTED", "UNAVAILABLE"), error
        found = PROGRESS.search(error.details())
        return float(found[1]) if found else 0.0


def await_progress(cluster, snapshot):
    """The first progress that is kept; it must be reached before the copy is complete."""
    seen = []

    def some():
        seen.append(attempt(cluster, snapshot))
        return seen[-1]
    until(some, "nothing comes", 60)
    assert isinstance(seen[-1], float), "the copy was complete before the test could interfere"
    return seen[-1]


def await_copy(cluster, snapshot):
    """The volume, and the progress that was seen on the way."""
    seen = []

    def made():
        seen.append(attempt(cluster, snapshot))
        return not isinstance(seen[-1], float)
    until(made, "the copy is not completed", 60)
    return seen[-1], seen[:-1]


def check_and_delete(cluster, volume, snapshot, before):
    assert content.checksum(cluster.nodes["n2"].image(volume.volume_id)) == before
    cluster.call("DeleteVolume", volume_id=volume.volume_id)
    cluster.call("DeleteSnapshot", snapshot_id=snapshot)


@pytest.mark.parametrize("victim", ("n1", "n2", "controller"))
def test_a_transfer_goes_on_after_a_kill(slow_pair, victim):
    snapshot, before = snapshot_of_much(slow_pair)
    kept = await_progress(slow_pair, snapshot)
    if victim == "controller":
        slow_pair.controller.server.kill()
        slow_pair.controller.start()
    else:
        slow_pair.nodes[victim].crash()
    slow_pair.wait_for("n1", "n2")
    volume, seen = await_copy(slow_pair, snapshot)
    assert all(progress >= kept for progress in seen if progress), f"kept {kept}, then {seen}"
    check_and_delete(slow_pair, volume, snapshot, before)


def observe(cluster):
    """Restarts the processes with metrics, and returns what reads them by process."""
    ports = {name: free_port() for name in ("controller", *cluster.nodes)}
    for name, process in {"controller": cluster.controller, **cluster.nodes}.items():
        process.server.command.append(f"--metrics-address=127.0.0.1:{ports[name]}")
        assert process.server.stop() is None
        process.start()
    cluster.wait_for(*cluster.nodes)
    return lambda name, what, **labels: metric(ports[name], f"holdfast_{what}", **labels)


def test_transfers_are_measured(pair):
    read = observe(pair)
    made = pair.create("origin", ["n1"], 64 * MIB, access="block")
    content.write(pair.nodes["n1"].image(made.volume_id), 8 * MIB)
    snapshot = pair.snapshot(made.volume_id, "snap").snapshot_id
    pair.call("DeleteVolume", volume_id=made.volume_id)
    volume = create(pair, "copy", ["n2"], "block", size=64 * MIB, source=snapshot)
    for node, direction, other in (("n1", "sent", "received"), ("n2", "received", "sent")):
        until(lambda: read(node, "transfers_ended_total", direction=direction, code="OK") == 1,
              f"its end is not counted on {node}")
        assert read(node, "transfer_bytes_total", direction=direction) == 8 * MIB
        assert read(node, "transfer_bytes_total", direction=other) == 0
        assert read(node, "transfers", direction=direction) == 0
        assert read(node, "transfers_resumed_total") == 0
    until(lambda: read("controller", "link_transfers") == 0, "it does not end in the controller")
    pair.call("DeleteVolume", volume_id=volume.volume_id)
    pair.call("DeleteSnapshot", snapshot_id=snapshot)


def test_what_is_resumed_is_counted(slow_pair):
    read = observe(slow_pair)
    snapshot, before = snapshot_of_much(slow_pair)
    await_progress(slow_pair, snapshot)
    assert (read("n2", "transfers", direction="received"), read("controller", "link_transfers")) \
        == (1, 1)
    assert read("n2", "transfers_resumed_total") == 0
    slow_pair.nodes["n1"].crash()
    slow_pair.wait_for("n1", "n2")
    volume, _ = await_copy(slow_pair, snapshot)
    assert read("n2", "transfers_resumed_total") >= 1
    assert read("n2", "transfers_ended_total", direction="received", code="UNAVAILABLE") >= 1
    assert read("n2", "transfers_ended_total", direction="received", code="OK") == 1
    check_and_delete(slow_pair, volume, snapshot, before)


def test_a_transfer_ends_with_the_volume(slow_pair):
    snapshot, before = snapshot_of_much(slow_pair)
    await_progress(slow_pair, snapshot)
    node = slow_pair.nodes["n2"]
    unfinished, = (path.name for path in (node.pool / "volumes").iterdir())
    assert not slow_pair.call("ListVolumes").entries, "no call has returned the volume"
    slow_pair.call("DeleteVolume", volume_id=f"default:n2:{unfinished}")
    assert not list((node.pool / "volumes").iterdir())
    volume, _ = await_copy(slow_pair, snapshot)
    check_and_delete(slow_pair, volume, snapshot, before)


def test_a_snapshot_that_is_deleted_meanwhile_is_not_found(slow_pair):
    snapshot, _ = snapshot_of_much(slow_pair)
    await_progress(slow_pair, snapshot)
    slow_pair.call("DeleteSnapshot", snapshot_id=snapshot)
    with refused("NOT_FOUND", "there is no snapshot"):
        slow_pair.create("copy", ["n2"], BIG, access="block", source=snapshot)
    until(lambda: not list((slow_pair.nodes["n2"].pool / "volumes").iterdir()),
          "what had come is not removed", 60)


def test_a_target_that_is_full_says_so(new_cluster, directory, new_disk):
    """A thin volume is promised more than its pool can keep."""
    (directory / "n2").mkdir()
    new_disk(256 * MIB, directory / "n2" / "pool", name="n2")
    (directory / "n1").mkdir()
    new_disk(4 << 30, directory / "n1" / "pool", filesystem="xfs", name="n1")
    cluster = new_cluster("n1", "n2", n2=",overcommit=10,watermark=100%,reserve=0")
    snapshot, _ = snapshot_of_much(cluster)

    def is_told():
        with refused("ABORTED", "is being copied") as refusal:
            cluster.create("copy", ["n2"], BIG, access="block", source=snapshot)
        return "the last attempt has ended: cannot" in refusal.value.details()
    until(is_told, "the full disk is not reported", 60)
    unfinished, = (path.name for path in (cluster.nodes["n2"].pool / "volumes").iterdir())
    cluster.call("DeleteVolume", volume_id=f"default:n2:{unfinished}")
    cluster.call("DeleteSnapshot", snapshot_id=snapshot)
