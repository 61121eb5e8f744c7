# SPDX-License-Identifier: Apache-2.0
"""Thousands of unauthenticated peers at the port of a controller with a limit of 256 MiB, as in the
chart: it survives, serves its nodes, and accepts new nodes in the meantime."""

import os

import pytest

import cgroup
import link_flood
from driver import MIB

LIMIT = 256 * MIB
# 10,000 of each kind take ten minutes: HOLDFAST_LINK_FLOOD=10000.
COUNT = os.environ.get("HOLDFAST_LINK_FLOOD")
COUNTS = {"silent": 10_000, "hello": 10_000, "handshake": 1500, "stream": 1500,
          "half_message": 600, "many_streams": 300, "large_register": 100, "small_register": 1000}


@pytest.fixture
def confined(new_cluster):
    """A cluster whose controller has little memory, with one of its two nodes."""
    if lack := cgroup.missing("memory"):
        pytest.skip(lack)
    cluster = new_cluster("n1", "n2")
    cluster.controller.server.kill()
    cluster.nodes["n2"].server.kill()
    with cgroup.Cgroup("memory") as group:
        group.set("memory.limit_in_bytes", LIMIT)
        server = cluster.controller.server
        server.command[:0] = ["sh", "-c", f'echo $$ >{group.path}/cgroup.procs && exec "$@"', "sh"]
        cluster.controller.start()
        cluster.wait_for("n1")
        yield cluster, group
        server.stop()


@pytest.mark.parametrize("kind", COUNTS)
def test_a_flood(confined, directory, kind):
    cluster, group = confined
    survives(cluster, group, directory, kind, "127.0.0.2")


@pytest.mark.parametrize("kind", ["silent", "hello"])
def test_a_flood_from_the_nodes_own_address(confined, directory, kind):
    cluster, group = confined
    survives(cluster, group, directory, kind, "127.0.0.1")


def survives(cluster, group, directory, kind, source):
    process = cluster.controller.server.process
    tls = cluster.authority.issue("n3", directory / "n3-peer-tls")
    try:
        attack(cluster, kind, tls, source)
    finally:
        peak = group.get("memory.max_usage_in_bytes") // MIB
        print(f"{kind}: at most {peak} MiB, {process.poll()}")
    assert process.poll() is None, f"the controller ended: {process.returncode}"
    assert "the link to node 'n1' is over" not in cluster.controller.log()


def attack(cluster, kind, tls, source):
    with link_flood.flooding(kind, int(COUNT or COUNTS[kind]), cluster.controller.port, tls,
                             source):
        volume = cluster.create("pvc", ["n1"])
        cluster.nodes["n2"].start()
        # Chance decides which of a flood's connections are let in; a node tries again and again.
        cluster.wait_for("n2", seconds=60)
        cluster.call("DeleteVolume", volume_id=volume.volume_id)
        volume = cluster.create("pvc", ["n2"])
        cluster.call("DeleteVolume", volume_id=volume.volume_id)
