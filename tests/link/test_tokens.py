# SPDX-License-Identifier: Apache-2.0
"""In Kubernetes the nodes share a certificate, and a ServiceAccount token says which node it is."""

import time

import pytest
from cluster import until
from service_account import AUDIENCE, SUBJECT, Issuer


@pytest.fixture
def issuer(directory):
    made = Issuer(directory / "issuer")
    made.publish()
    return made


@pytest.fixture
def start_with(new_cluster, directory, issuer):
    """Starts a controller that asks for tokens, and a node with the given one."""

    def start(token, name="n1", keys=issuer.keys):
        path = directory / "token"
        path.write_text(token)
        return new_cluster(name, wait=False, certificate="holdfast-node",
                           controller_flags=[f"--link-token-keys={keys}",
                                             f"--link-token-audience={AUDIENCE}",
                                             f"--link-token-subject={SUBJECT}"],
                           node_flags=[f"--link-token={path}"])

    return start


def test_a_token_says_which_node_it_is(start_with, issuer):
    cluster = start_with(issuer.token("n1"))
    cluster.wait_for("n1")
    volume = cluster.create("pvc", ["n1"])
    cluster.call("DeleteVolume", volume_id=volume.volume_id)


def test_one_nodes_token_does_not_speak_for_another(start_with, issuer):
    expect_refused(start_with(issuer.token("n2")), "on node 'n2', not 'n1'")


def test_without_a_token(start_with):
    expect_refused(start_with(""), "token is missing")


def test_an_old_token_replayed(start_with, issuer):
    expect_refused(start_with(issuer.token("n1", exp=int(time.time()) - 60)), "has expired")


def test_a_token_that_is_good_for_years(start_with, issuer):
    now = int(time.time())
    expect_refused(start_with(issuer.token("n1", exp=now + 10 * 365 * 24 * 3600)),
                   "more than two hours")


def test_a_token_without_the_time_of_its_issue(start_with, issuer):
    expect_refused(start_with(issuer.token("n1", iat=None)), "when it was issued")


def test_a_token_that_is_bound_to_no_pod(start_with, issuer):
    claims = {"kubernetes.io": {"node": {"name": "n1"}}}
    expect_refused(start_with(issuer.token("n1", **claims)), "bound to no pod")


def test_a_token_for_somebody_else(start_with, issuer):
    expect_refused(start_with(issuer.token("n1", aud=["vault"])), "is not for audience")


def test_a_token_of_another_pod(start_with, issuer):
    other = "system:serviceaccount:default:default"
    expect_refused(start_with(issuer.token("n1", sub=other)), "is not of")


def test_a_token_that_another_cluster_signed(start_with, directory):
    expect_refused(start_with(Issuer(directory / "other").token("n1")), "is not signed")


def expect_refused(cluster, reason):
    node = cluster.nodes["n1"]
    until(lambda: reason in node.log(), "the node is let in")
    assert not cluster.is_linked("n1")
    until(lambda: reason in cluster.controller.log(), "the controller does not say so")
    secret = (node.directory.parent / "token").read_text()
    assert not secret or secret not in node.log() + cluster.controller.log()


def test_a_token_is_read_anew_for_every_attempt(start_with, issuer, directory):
    cluster = start_with("not yet")
    until(lambda: "is not a JWT" in cluster.nodes["n1"].log(), "the node is let in")
    (directory / "token").write_text(issuer.token("n1"))
    cluster.wait_for("n1")


def test_the_cluster_gets_a_new_key(start_with, issuer, directory):
    newer = Issuer(directory / "issuer", "second")
    cluster = start_with(newer.token("n1"))
    until(lambda: "has not published" in cluster.nodes["n1"].log(), "the node is let in")
    newer.publish(issuer.published())
    cluster.wait_for("n1")


def test_keys_that_come_late(start_with, issuer, directory):
    late = directory / "late.json"
    cluster = start_with(issuer.token("n1"), keys=late)
    until(lambda: "cannot fetch the cluster's token keys" in cluster.nodes["n1"].log(), "let in")
    issuer.keys.rename(late)
    cluster.wait_for("n1")
