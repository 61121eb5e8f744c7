# SPDX-License-Identifier: Apache-2.0
"""A node with a hundred thousand volumes, and one that reports different names again and again."""

import bisect
import pathlib

import csi_pb2
import pytest
from cluster import until
from driver import MIB
from link_messages import request_in, result_with
from link_peer import volume_id
from rogue_node import rogue_node

COUNT = 100_000
CLIENT_BYTES = 4 << 20  # the default limit of gRPC clients


def memory_of(cluster):
    status = pathlib.Path(f"/proc/{cluster.controller.server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) << 10


class Lister:
    """Answers ListVolumes of the node by pages."""

    def __init__(self, ids):
        self.ids = sorted(ids)
        self.largest = 0

    def __call__(self, command, truth):
        if command.method != "ListVolumes":
            return truth
        request = request_in(command)
        start = bisect.bisect_right(self.ids, request.starting_token)
        page = self.ids[start:start + request.max_entries]
        answer = csi_pb2.ListVolumesResponse()
        for volume in page:
            entry = answer.entries.add()
            entry.volume.volume_id, entry.volume.capacity_bytes = volume, MIB
            entry.status.volume_condition.message = "the storage is intact"
        if page and page[-1] != self.ids[-1]:
            answer.next_token = page[-1]
        self.largest = max(self.largest, answer.ByteSize())
        return result_with(answer)


@pytest.mark.parametrize("entries", [0, 7000])
def test_they_are_registered_listed_and_paged(new_cluster, directory, entries):
    cluster = new_cluster("n2")
    names = [("default", f"pvc-{number:08}-aaaa-bbbb-cccc-dddddddddddd") for number in range(COUNT)]
    ids = {volume_id("n1", name) for _, name in names}
    before = memory_of(cluster)
    with rogue_node(cluster, directory, volumes=names) as rogue:
        rogue.lie = lister = Lister(ids)
        assert memory_of(cluster) - before < 64 * MIB
        found, token = [], ""
        while not found or token:
            page = cluster.call("ListVolumes", max_entries=entries, starting_token=token)
            assert page.ByteSize() < CLIENT_BYTES
            found += [entry.volume.volume_id for entry in page.entries
                      if entry.volume.capacity_bytes == MIB]
            token = page.next_token
        assert len(found) == COUNT and set(found) == ids
        assert lister.largest < MIB
        again = cluster.create(names[5][1], ["n1"], size=MIB)
        assert again.volume_id == volume_id("n1", names[5][1])


def test_names_that_are_told_again_take_the_place_of_the_last_ones(new_cluster, directory):
    cluster = new_cluster("n2")
    memory = []
    for turn in range(6):
        names = [("default", f"pvc-{turn}-{number}" + "x" * 80) for number in range(30_000)]
        with rogue_node(cluster, directory, volumes=names):
            memory.append(memory_of(cluster))
        until(lambda: not cluster.is_linked("n1"), "the controller does not notice")
    assert max(memory[2:]) - memory[1] < 16 * MIB, memory
    # Its earlier names do not block other nodes.
    volume = cluster.create("pvc-0-0" + "x" * 80, ["n2"], size=16 * MIB)
    cluster.call("DeleteVolume", volume_id=volume.volume_id)
