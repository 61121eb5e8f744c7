# SPDX-License-Identifier: Apache-2.0
"""The driver under test: a server, the calls to it, and its files on disk."""

import json
import time

import grpc

import csi_client
import host
import serve

MIB = 1 << 20
READY_SECONDS = 30
# Sizes that each filesystem accepts, small for speed.
SIZES = {"ext4": 64 * MIB, "ext3": 64 * MIB, "xfs": 300 * MIB, "btrfs": 256 * MIB,
         "block": 32 * MIB}


class Driver:
    def __init__(self, binary, directory, pool_options="", flags=()):
        self.directory = directory
        self.pool = directory / "pool"
        self.pool.mkdir(exist_ok=True)
        self.server = serve.Server(binary, directory, [f"default=file:{self.pool}{pool_options}"],
                                   flags=flags)
        self.client = csi_client.Client(self.server.socket)

    def start(self):
        assert self.server.start() is None, self.log()
        return self.await_ready()

    def await_ready(self):
        deadline = time.monotonic() + READY_SECONDS
        while not self.is_ready():
            assert time.monotonic() < deadline, f"not ready within {READY_SECONDS} s\n{self.log()}"
            time.sleep(0.002)
        return self

    def start_unready(self):
        """Starts it and waits until it says that it is not ready; returns a problem or None."""
        if problem := self.server.start():
            return problem
        deadline = time.monotonic() + READY_SECONDS
        while not self.is_refused():
            if self.server.process.poll() is not None:
                return "the server ended"
            assert time.monotonic() < deadline, f"not refused in {READY_SECONDS} s\n{self.log()}"
            time.sleep(0.002)
        return None

    def is_refused(self):
        try:
            self.client.call("Probe")
            return False  # ready, or still starting
        except grpc.RpcError as error:
            return csi_client.code_of(error) == "FAILED_PRECONDITION"

    def is_ready(self):
        try:
            return self.client.call("Probe").ready.value
        except grpc.RpcError as error:  # it listens, but serves nothing yet
            if csi_client.code_of(error) in csi_client.MAYBE_RUNNING:
                return False
            # A pool that is missing is tried again, and a machine that is busy answers later.
            if "is not served" in error.details() or "does not answer" in error.details():
                return False
            raise

    def crash(self):
        """kill -9 and a new start."""
        self.server.kill()
        return self.start()

    def restart(self):
        assert self.server.stop() is None, self.log()
        return self.start()

    def log(self):
        path = self.directory / serve.LOG
        return path.read_text(errors="replace") if path.exists() else ""

    def call(self, method, **fields):
        return self.client.call(method, **fields)

    def create(self, name, *, size=None, access="mount", filesystem="ext4", provisioning="thin",
               limit=0, call=None, source=None, **parameters):
        """Creates a volume, empty or from the id of a snapshot or volume; returns the CSI Volume
        message."""
        size = size or SIZES["block" if access == "block" else filesystem]
        return (call or self.call)(
            "CreateVolume", name=name, capacity_range=csi_client.at_least(size, limit),
            volume_capabilities=[csi_client.capability(
                access, "" if access == "block" else filesystem)],
            parameters={"provisioning": provisioning, **parameters},
            volume_content_source=csi_client.content_source(source)).volume

    def delete(self, volume_id):
        self.call("DeleteVolume", volume_id=volume_id)

    def snapshot(self, volume_id, name):
        """Creates a snapshot and returns the CSI Snapshot message."""
        return self.call("CreateSnapshot", source_volume_id=volume_id, name=name).snapshot

    def delete_snapshot(self, snapshot_id):
        self.call("DeleteSnapshot", snapshot_id=snapshot_id)

    def snapshots(self):
        return [entry.snapshot.snapshot_id for entry in self.call("ListSnapshots").entries]

    def listed(self):
        return [entry.volume.volume_id for entry in self.call("ListVolumes").entries]

    def trash(self):
        """The entries of the trash, the first deleted first."""
        return sorted(self.client.admin("ListTrash").trash, key=lambda entry: entry.deleted_at)

    # The files that docs/on-disk.md describes.

    def volume_directory(self, volume_id):
        return self.pool / "volumes" / uuid_of(volume_id)

    def image(self, volume_id):
        return self.volume_directory(volume_id) / "image"

    def record_path(self, volume_id):
        return self.volume_directory(volume_id) / "record.json"

    def record(self, volume_id):
        return json.loads(self.record_path(volume_id).read_text())

    def loop(self, volume_id):
        """The one loop device that shows the volume's image, or None."""
        devices = [device for device, backing in host.loop_backings().items()
                   if backing == str(self.image(volume_id))]
        assert len(devices) <= 1, f"attached more than once: {devices}"
        return devices[0] if devices else None

    def leftovers(self):
        """Returns a sentence for each file that a volume left in pool or state directory."""
        expected = {"holdfast-pool.json", "lock", "volumes", "trash", "digests", "lost+found"}
        found = [path for path in self.pool.iterdir() if path.name not in expected]
        for place in (self.pool / "volumes", self.pool / "trash", self.pool / "digests",
                      self.directory / "state" / "stages"):
            found += place.iterdir() if place.is_dir() else []
        return [f"file left: {path}" for path in found]


def uuid_of(volume_id):
    return volume_id[-36:]
