# SPDX-License-Identifier: Apache-2.0
"""Every connection needs two of the controller's file descriptors. Unauthenticated peers do not
exhaust them: it serves its own socket, and new nodes."""

import contextlib
import socket

from cluster import until

FILES = 320


def test_more_connections_than_files(new_cluster):
    cluster = new_cluster("n1")
    cluster.controller.server.kill()
    cluster.controller.server.command[:0] = ["prlimit", f"--nofile={FILES}:{FILES}"]
    cluster.controller.start()
    cluster.wait_for("n1")
    with contextlib.ExitStack() as strangers:
        for _ in range(2 * FILES):
            strangers.enter_context(
                socket.create_connection(("127.0.0.1", cluster.controller.port)))
        until(lambda: "have not proved to be nodes" in cluster.controller.log(),
              "nobody is told of them")
        volume = cluster.create("pvc", ["n1"])
        cluster.nodes["n1"].crash()
        cluster.wait_for("n1")
    cluster.call("DeleteVolume", volume_id=volume.volume_id)
