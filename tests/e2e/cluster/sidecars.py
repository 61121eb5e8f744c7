# SPDX-License-Identifier: Apache-2.0
"""The stock sidecars and the snapshot-controller: the chart's releases, or the ones before of those
that deal with snapshots."""

import pathlib

REGISTRY = "registry.k8s.io/sig-storage"
SAME = {"csi-resizer": "v2.2.0", "csi-attacher": "v4.12.0"}
NEWEST = {**SAME, "csi-provisioner": "v6.4.0", "csi-snapshotter": "v8.7.0"}
PREVIOUS = {**SAME, "csi-provisioner": "v6.3.0", "csi-snapshotter": "v8.6.0"}
# Groups of snapshots are off by default in the previous releases.
GROUP_GATE = "--feature-gates=CSIVolumeGroupSnapshot=true"


class Sidecars:
    def __init__(self, tools, previous=False):
        self.tools = pathlib.Path(tools)
        self.previous = previous
        self.versions = PREVIOUS if previous else NEWEST

    def program(self, name):
        """Returns the path of a sidecar, of the snapshot-controller or of its `snapshot-crds`."""
        older = self.tools / "previous" / name
        return older if self.previous and older.exists() else self.tools / name

    def images(self):
        """Returns the image of each sidecar by its name."""
        return {name: f"{REGISTRY}/{name}:{version}" for name, version in self.versions.items()}

    def values(self):
        """Returns the values of the chart that select these sidecars."""
        images = self.images()
        return {"provisioner.image": images["csi-provisioner"],
                "snapshotter.image": images["csi-snapshotter"]} if self.previous else {}
