# SPDX-License-Identifier: Apache-2.0
"""A cluster of one controller and two nodes for each test, and the check that nothing is left
behind."""

import pytest

import audit
import cluster as cluster_module
import driver_fixtures
import link_files
from driver_fixtures import directory, new_disk  # noqa: F401


@pytest.fixture
def new_cluster(directory, new_disk):  # noqa: F811 (disks go after the nodes have ended)
    """Starts clusters; afterwards each node must have deleted its volumes, have a clean audit, and
    leave nothing behind."""
    clusters = []

    def start(*names, wait=True, certificate=None, controller_flags=(), node_flags=(),
              **pool_options):
        authority = link_files.Authority(directory / "ca")
        controller = cluster_module.Controller(
            driver_fixtures.binary(), directory / "controller",
            authority.issue("controller", directory / "controller-tls"), controller_flags)
        nodes = {}
        for name in names:
            (directory / name).mkdir(exist_ok=True)
            nodes[name] = cluster_module.Node(
                driver_fixtures.binary(), directory / name, name, controller.port,
                authority.issue(certificate or name, directory / f"{name}-tls"),
                pool_options.get(name, ""), node_flags)
        made = cluster_module.Cluster(directory, authority, controller.start(), nodes)
        clusters.append(made)
        for node in nodes.values():
            node.start()
        if wait:
            made.wait_for(*names)
        return made

    yield start
    problems = [problem for made in clusters for problem in end(made)]
    logs = [log[-6000:] for made in clusters
            for log in (made.controller.log(), *(node.log() for node in made.nodes.values()))]
    assert not problems, "\n".join([*problems, *logs])


def end(made):
    problems = []
    for node in made.nodes.values():
        if node.server.process.poll() is None:
            ends = (audit.problem_of(driver_fixtures.binary(), node.server.socket),
                    node.server.stop())
            problems += [f"{node.name}: {problem}" for problem in ends if problem]
        problems += node.leftovers()
    if problem := made.controller.server.stop():
        problems.append(f"controller: {problem}")
    return problems


@pytest.fixture
def cluster(new_cluster):
    return new_cluster("n1", "n2")
