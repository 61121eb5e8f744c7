# SPDX-License-Identifier: Apache-2.0
"""Only peers with certificates of the right CA that name the node are admitted. All others are
refused, and the controller continues to serve."""

import os
import socket
import ssl

import driver_fixtures
import pytest
from cluster import Node, until
from driver import Driver
from link_files import Authority, free_port
from observed import metric


@pytest.fixture
def one_node(new_cluster):
    return new_cluster("n1")


def start_stranger(cluster, directory, name, tls):
    (directory / "stranger").mkdir()
    return Node(driver_fixtures.binary(), directory / "stranger", name, cluster.controller.port,
                tls).start()


def expect_refused(cluster, stranger, name, reason):
    until(lambda: "no link to the controller" in stranger.log(), "the stranger is let in")
    until(lambda: reason in stranger.log() + cluster.controller.log(), "no reason is given")
    assert not cluster.is_linked(name) or name == "n1"
    assert cluster.is_linked("n1")
    assert stranger.server.stop() is None


def test_a_certificate_of_another_authority(one_node, directory):
    other = Authority(directory / "other-ca")
    tls = other.issue("n2", directory / "n2-tls", trust=one_node.authority.certificate)
    stranger = start_stranger(one_node, directory, "n2", tls)
    expect_refused(one_node, stranger, "n2", "failed to connect")


def test_a_controller_of_another_authority_is_not_believed(one_node, directory):
    other = Authority(directory / "other-ca")
    tls = one_node.authority.issue("n2", directory / "n2-tls", trust=other.certificate)
    stranger = start_stranger(one_node, directory, "n2", tls)
    expect_refused(one_node, stranger, "n2", "failed to connect")


def test_an_expired_certificate(one_node, directory):
    tls = one_node.authority.issue("n2", directory / "n2-tls", days=-1)
    stranger = start_stranger(one_node, directory, "n2", tls)
    expect_refused(one_node, stranger, "n2", "failed to connect")


def test_the_certificate_of_another_node(one_node, directory):
    tls = one_node.authority.issue("n2", directory / "n2-tls")
    stranger = start_stranger(one_node, directory, "n3", tls)
    expect_refused(one_node, stranger, "n3", "does not name node 'n3'")


def test_another_driver(one_node, directory):
    tls = one_node.authority.issue("n2", directory / "n2-tls")
    (directory / "stranger").mkdir()
    stranger = Node(driver_fixtures.binary(), directory / "stranger", "n2",
                    one_node.controller.port, tls)
    stranger.server.command.append("--driver-name=other.example.com")
    stranger.start()
    expect_refused(one_node, stranger, "n2", "not of 'other.example.com'")


@pytest.mark.parametrize("garbage", [b"", b"GET / HTTP/1.1\r\n\r\n", os.urandom(100_000)],
                         ids=["nothing", "HTTP", "noise"])
def test_who_speaks_no_tls(one_node, garbage):
    with socket.create_connection(("127.0.0.1", one_node.controller.port)) as stranger:
        stranger.sendall(garbage)
        assert one_node.is_linked("n1")


def speak_tls(cluster, tls, **versions):
    context = ssl.create_default_context(cafile=str(cluster.authority.certificate))
    if tls:
        context.load_cert_chain(tls / "tls.crt", tls / "tls.key")
    context.set_alpn_protocols(["h2"])
    raw = socket.create_connection(("127.0.0.1", cluster.controller.port))
    return context.wrap_socket(raw, server_hostname="localhost")


def test_who_is_turned_away_is_counted(new_cluster, directory):
    port = free_port()
    cluster = new_cluster("n1", controller_flags=[f"--metrics-address=127.0.0.1:{port}"])
    assert metric(port, "holdfast_link_nodes") == 1
    assert metric(port, "holdfast_link_refused_total", code="TLS") == 0
    with socket.create_connection(("127.0.0.1", cluster.controller.port)) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        until(lambda: metric(port, "holdfast_link_refused_total", code="TLS") == 1, "not counted")
    tls = cluster.authority.issue("n2", directory / "n2-tls")
    stranger = start_stranger(cluster, directory, "n3", tls)
    expect_refused(cluster, stranger, "n3", "does not name node")
    until(lambda: metric(port, "holdfast_link_refused_total", code="PERMISSION_DENIED"),
          "not counted")
    assert metric(port, "holdfast_link_nodes") == 1


def test_without_a_certificate(one_node):
    with pytest.raises((ssl.SSLError, ConnectionError)):
        with speak_tls(one_node, None) as stranger:
            stranger.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            while stranger.recv(4096):
                pass
            raise ConnectionResetError
    assert one_node.is_linked("n1")


def test_the_link_speaks_tls_1_3(one_node, directory):
    with speak_tls(one_node, one_node.authority.issue("n2", directory / "n2-tls")) as peer:
        assert peer.version() == "TLSv1.3"


def test_garbage_inside_tls(one_node, directory):
    tls = one_node.authority.issue("n2", directory / "n2-tls")
    for garbage in (b"\0" * 100_000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + os.urandom(50_000)):
        try:
            with speak_tls(one_node, tls) as peer:
                peer.sendall(garbage)
                peer.recv(1)
        except OSError:
            pass
        assert one_node.is_linked("n1")


def test_certificates_are_exchanged_under_a_running_cluster(one_node, directory):
    """A new authority, in the order in which an operator does it; no process starts again but the
    controller at the end, whose streams then need the new certificates."""
    old = one_node.authority
    new = Authority(directory / "new-ca")
    both = directory / "both.crt"
    both.write_text(old.certificate.read_text() + new.certificate.read_text())
    for name in ("controller", "n1"):
        old.issue(name, directory / f"{name}-tls", trust=both)
    for name in ("controller", "n1"):
        new.issue(name, directory / f"{name}-tls", trust=both)
    volume = one_node.create("pvc", ["n1"])
    one_node.controller.server.kill()
    one_node.controller.start()
    one_node.wait_for("n1")
    one_node.call("DeleteVolume", volume_id=volume.volume_id)


def test_a_link_needs_certificates(directory):
    driver = Driver(driver_fixtures.binary(), directory)
    driver.server.command[2] = "--role=node"
    driver.server.command.append("--link-controller=localhost:1")
    assert driver.server.start() is not None
    assert "the link is never without certificates" in driver.log()
    driver.server.command.append(f"--link-tls={directory}/none")
    assert driver.server.start() is not None
    assert "missing or empty" in driver.log()
