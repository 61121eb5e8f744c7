# SPDX-License-Identifier: Apache-2.0
"""Trouble on the network between one node and the controller, from the router between them."""

import contextlib

from cluster import network
from cluster.processes import run

PORT = 9443
# Disturbances of the link's packets.
REFUSED = ("REJECT", "--reject-with", "tcp-reset")
LOST = ("DROP",)
BANDWIDTH = ("tbf", "rate", "128kbit", "burst", "8kb", "latency", "1s")


def rules(node, to_controller, from_controller):
    for address in (network.pod_network(node.number), network.node_address(node.number)):
        if to_controller:
            yield "-s", address, "-p", "tcp", "--dport", PORT
        if from_controller:
            yield "-d", address, "-p", "tcp", "--sport", PORT


@contextlib.contextmanager
def link_packets(node, fate, to_controller=True, from_controller=True):
    """Until the block ends, packets of the node's link in these directions meet the fate."""
    made = list(rules(node, to_controller, from_controller))
    for rule in made:
        run("iptables", "-I", "FORWARD", *rule, "-j", *fate)
    try:
        yield
    finally:
        for rule in made:
            run("iptables", "-D", "FORWARD", *rule, "-j", *fate)


@contextlib.contextmanager
def slow_network(node):
    """Until the block ends, all traffic to the node is as slow as an old modem line."""
    run("tc", "qdisc", "add", "dev", node.name, "root", *BANDWIDTH)
    try:
        yield
    finally:
        run("tc", "qdisc", "del", "dev", node.name, "root")
