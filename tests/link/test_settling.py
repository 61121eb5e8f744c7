# SPDX-License-Identifier: Apache-2.0
"""After its start a controller waits for its nodes: ten seconds, and as long as nodes connect. It
does not wait for unauthenticated peers and nodes that it refuses."""

import socket

import csi_client
from cluster import until
from link_peer import peer_as, register

SECONDS = 30  # it would be 60


def test_who_is_not_let_in_does_not_prolong_the_wait(new_cluster, directory):
    cluster = new_cluster("n1")

    def is_settled():
        with socket.create_connection(("127.0.0.1", cluster.controller.port)):
            pass
        with peer_as(cluster, directory) as peer:  # has the certificate of n2
            peer.send(register=register("n1"))
            assert peer.code_at_end() == "PERMISSION_DENIED"
        try:
            cluster.call("ListVolumes", timeout=2)
        except csi_client.grpc.RpcError:
            return False
        return True

    until(is_settled, "the controller still waits", SECONDS)
