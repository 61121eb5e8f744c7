# SPDX-License-Identifier: Apache-2.0
"""Group snapshots over two nodes: one instant, and all members or none, whichever process dies."""

import time

import pytest

import content
import csi_client
import ordered_writes
from cluster import until
from csi_client import refused
from kubelet import Kubelet, PersistentVolume

NODES = ("n1", "n2")
ROUNDS = 6
# The nodes give an attempt up after 15 s, and what is undecided after a minute; a reconciler looks
# every 30 s, and the controller every 5 s.
END_SECONDS = 120


@pytest.fixture
def pair(new_cluster, directory, new_disk):
    for node in NODES:
        (directory / node).mkdir()
        new_disk(4 << 30, directory / node / "pool", filesystem="xfs", name=f"disk-{node}")
    return new_cluster(*NODES)


class Pods:
    """A volume on each node, mounted by a pod."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.kubelets = {node: Kubelet(driver.directory / "kubelet", driver.call)
                         for node, driver in cluster.nodes.items()}
        self.volumes = {node: self.claim(cluster.create(f"pv-{node}", [node]), f"pv-{node}")
                        for node in NODES}
        self.logs = [self.kubelets[node].start_pod(self.volumes[node], "pod") / "data"
                     for node in NODES]

    @staticmethod
    def claim(volume, name):
        return PersistentVolume(volume.volume_id, name, "mount", "ext4")

    def cut(self, name="group"):
        return self.cluster.call(
            "CreateVolumeGroupSnapshot", name=name,
            source_volume_ids=[volume.handle for volume in self.volumes.values()]).group_snapshot

    def delete(self, group):
        self.cluster.call("DeleteVolumeGroupSnapshot", snapshot_ids=ids_of(group),
                          group_snapshot_id=group.group_snapshot_id)

    def restored(self, group, number):
        """The checks of each member, restored beside its origin."""
        for node in NODES:
            [member] = [one.snapshot_id for one in group.snapshots
                        if one.source_volume_id == self.volumes[node].handle]
            name = f"copy-{node}-{number}"
            copy = self.claim(self.cluster.create(name, [node], source=member), name)
            yield self.kubelets[node].start_pod(copy, "copy") / "data"
            self.kubelets[node].end_pod(copy, "copy")
            self.cluster.call("DeleteVolume", volume_id=copy.handle)

    def end(self):
        for node in NODES:
            self.kubelets[node].end_pod(self.volumes[node], "pod")
            self.cluster.call("DeleteVolume", volume_id=self.volumes[node].handle)


@pytest.fixture
def pods(pair):
    return Pods(pair)


def ids_of(group):
    return [snapshot.snapshot_id for snapshot in group.snapshots]


def snapshots(cluster):
    return [entry.snapshot.snapshot_id for entry in cluster.call("ListSnapshots").entries]


def directories(cluster):
    """How many volumes and snapshots each pool has."""
    return [len(list((cluster.nodes[node].pool / "volumes").iterdir())) for node in NODES]


def test_a_groups_life(pair, pods):
    before = [content.write(log) for log in pods.logs]
    group = pods.cut()
    assert group.ready_to_use and len(group.snapshots) == 2
    for log in pods.logs:
        content.write(log)
    assert pods.cut() == group
    pair.controller.server.kill()
    pair.controller.start()
    pair.wait_for(*NODES)
    get = {"group_snapshot_id": group.group_snapshot_id, "snapshot_ids": ids_of(group)}
    assert pair.call("GetVolumeGroupSnapshot", **get).group_snapshot == group
    assert sorted(snapshots(pair)) == sorted(ids_of(group))
    assert [content.checksum(copy, 4 << 20) for copy in pods.restored(group, 0)] == before
    with refused("ALREADY_EXISTS", "other volumes"):
        pair.call("CreateVolumeGroupSnapshot", name="group",
                  source_volume_ids=[pods.volumes["n2"].handle])
    pods.delete(group)
    assert snapshots(pair) == []
    with refused("NOT_FOUND", "no group snapshot"):
        pair.call("GetVolumeGroupSnapshot", **get)
    pods.end()


@pytest.mark.parametrize("order", (NODES, NODES[::-1]), ids="-".join)
def test_no_node_has_what_was_written_later_than_another_lacks(pods, order):
    logs = dict(zip(NODES, pods.logs))
    with ordered_writes.appending(*(logs[node] for node in order)):
        groups = [pods.cut(f"group-{number}") for number in range(ROUNDS)]
    total = 0
    for number, group in enumerate(groups):
        counts = dict(zip(NODES, [ordered_writes.count(log) for log in pods.restored(group, number)]))
        ordered_writes.check_in_order([counts[node] for node in order])
        total = max(total, *counts.values())
        pods.delete(group)
    assert total > ROUNDS, "the writer was idle"
    pods.end()


def test_a_node_that_is_away_leaves_nothing_on_the_other(pair, pods):
    pair.nodes["n2"].server.stop()
    with refused("UNAVAILABLE", "n2"):
        pods.cut()
    assert snapshots_of(pair, "n1") == 1
    pair.nodes["n2"].start()
    pair.wait_for("n2")
    pods.delete(pods.cut())
    pods.end()


def snapshots_of(cluster, node):
    return directories(cluster)[NODES.index(node)]


@pytest.mark.parametrize("victim", ("controller", "n1", "n2"))
def test_a_kill_leaves_all_members_or_none(pair, pods, victim):
    """At many moments of the call; whoever remains, nothing is frozen and no part is left."""
    began = time.monotonic()
    pods.delete(pods.cut("measured"))
    length = time.monotonic() - began
    for number in range(5):
        kill_during_a_cut(pair, pods, victim, number * length / 5, f"group-{number}")
    pods.end()


def kill_during_a_cut(pair, pods, victim, after, name):
    server = (pair.controller if victim == "controller" else pair.nodes[victim]).server
    request = csi_client.request(csi_client.METHODS["CreateVolumeGroupSnapshot"], {
        "name": name,
        "source_volume_ids": [volume.handle for volume in pods.volumes.values()]})
    with csi_client.grpc.insecure_channel(pair.controller.client.target,
                                          options=csi_client.CHANNEL_OPTIONS) as channel:
        answer = csi_client.invoker(channel, csi_client.METHODS["CreateVolumeGroupSnapshot"]).future(
            request, timeout=20)
        time.sleep(after)
        server.kill()
        answer.exception()
    for log in pods.logs:
        content.write(log.with_name("later"), 4096)  # the freeze has ended, or does within 5 s
    (pair.controller if victim == "controller" else pair.nodes[victim]).start()
    pair.wait_for(*NODES)
    # Without any call: both members or none.
    until(lambda: directories(pair) in ([1, 1], [2, 2]), f"a part is left after {after} s",
          END_SECONDS)
    made = repeat(lambda: pods.cut(name))
    assert len(snapshots(pair)) == 2
    pods.delete(made)
    assert directories(pair) == [1, 1]


def repeat(call):
    """As the CO does it, until it has an answer that is final."""
    made = []

    def answered():
        try:
            made.append(call())
        except csi_client.grpc.RpcError as error:
            assert csi_client.code_of(error) in csi_client.MAYBE_RUNNING, error
        return made

    until(answered, "the call does not end", END_SECONDS)
    return made[0]
