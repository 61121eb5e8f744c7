# SPDX-License-Identifier: Apache-2.0
"""The cluster of a run, with the driver and the classes that tests use."""

import pathlib
import signal
import subprocess

from cluster.cluster import Cluster
from cluster.sidecars import Sidecars
from installation import Installation
from workloads import storage_class

SUITE = pathlib.Path(__file__).resolve().parent
IMAGE = SUITE.parents[1] / "build" / "image" / "holdfast.tar"
DISK = 6 << 30
PREVIOUS_HELP = ("run csi-provisioner, csi-snapshotter and snapshot-controller of the release "
                 "before the chart's")
CLASSES = [*(storage_class(name, name, pool="default")
             for name in ("ext4", "ext3", "xfs", "btrfs", "block")),
           storage_class("copying", pool="copying")]


def new_cluster(directory, disk=DISK, nodes=2, previous=False):
    """With `previous`, the sidecars of the release before."""
    # An interruption is to end the cluster in order.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    tools = subprocess.run([SUITE / "build-tools", "--print"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.strip()
    return Cluster(directory, pathlib.Path(tools), disk, nodes, Sidecars(tools, previous))


def install(cluster):
    made = Installation(cluster)
    made.install()
    for manifest in CLASSES:
        cluster.api.create(manifest)
    return made
