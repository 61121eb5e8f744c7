# SPDX-License-Identifier: Apache-2.0
"""Addresses of the cluster. All of them exist in the run's own network namespace only: a bridge
with the control plane on it, a veth pair to each node, routed pod networks behind the nodes."""

import pathlib

from cluster.processes import run

BRIDGE = "nodes"
CONTROL_PLANE = "10.99.0.1"
SERVICES = "10.96.0.0/16"
API_SERVICE = "10.96.0.1"  # the first of SERVICES, as Kubernetes chooses it
DNS_SERVICE = "10.96.0.10"


def node_address(number):
    return f"10.99.0.{10 + number}"


def pod_network(number):
    return f"10.100.{number}.0/24"


def hardware_address(number):
    """Fixed, as on real machines: a bridge or node that changes it is not found for a while."""
    return f"02:00:00:00:00:{number:02x}"


def make_bridge():
    """No kube-proxy runs: the two Services that every node needs are addresses here."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", BRIDGE, "address", hardware_address(0), "type", "bridge")
    for address in (f"{CONTROL_PLANE}/24", f"{API_SERVICE}/32", f"{DNS_SERVICE}/32"):
        run("ip", "address", "add", address, "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")
    settings = pathlib.Path("/proc/sys/net/ipv4")  # of this namespace
    (settings / "ip_forward").write_text("1")
    # Nodes must keep sending through this host, where links can be cut.
    for device in ("all", BRIDGE):
        (settings / "conf" / device / "send_redirects").write_text("0")


def connect(number, name, pid):
    """Plugs a node's namespace, held by a process, into the bridge."""
    inside = ("nsenter", "--target", pid, "--net", "ip")
    run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "address",
        hardware_address(number), "netns", pid)
    run("ip", "link", "set", name, "master", BRIDGE, "up")
    run(*inside, "link", "set", "lo", "up")
    run(*inside, "address", "add", f"{node_address(number)}/24", "dev", "eth0")
    run(*inside, "link", "set", "eth0", "up")
    run(*inside, "route", "add", "default", "via", CONTROL_PLANE)
    run("ip", "route", "replace", pod_network(number), "via", node_address(number))


def connect_guest(number, name):
    """Plugs a virtual machine into the bridge: it is to open the tap device of this name."""
    run("ip", "tuntap", "add", name, "mode", "tap")
    run("ip", "link", "set", name, "master", BRIDGE, "up")
    run("ip", "route", "replace", pod_network(number), "via", node_address(number))
