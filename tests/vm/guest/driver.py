"""The driver under test in the guest: its process, and the calls that kubelet and sidecars make."""

import dataclasses
import json
import pathlib
import subprocess
import time

import csi_pb2 as csi
import csi_pb2_grpc
import grpc

MIB = 1 << 20
POOL = pathlib.Path("/data/pool")
SOCKET_DIR = pathlib.Path("/run/hf")
KUBELET_DIR = pathlib.Path("/data/kubelet")  # survives a reboot, as on a real node
NOT_YET_SERVING = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
READY_LIMIT_S = 180  # an emulated processor on a busy host
CALL_LIMIT_S = 240


@dataclasses.dataclass
class Volume:
    """A volume as the caller requests it; `id` and `size` are the driver's answer."""
    name: str
    size: int
    fs: str = "ext4"  # empty: raw block
    provisioning: str = "thick"
    id: str = ""
    mode: str = "SINGLE_NODE_WRITER"
    mkfs_options: str = ""
    source: str = ""  # the id of the snapshot that it is created from
    pool: str = ""

    @property
    def staging_path(self):
        return KUBELET_DIR / "staging" / self.name / "globalmount"

    @property
    def target_path(self):
        return KUBELET_DIR / "pods" / self.name / "mount"

    @property
    def capability(self):
        if not self.fs:
            return csi.VolumeCapability(block=csi.VolumeCapability.BlockVolume(),
                                        access_mode=self.access_mode)
        return csi.VolumeCapability(mount=csi.VolumeCapability.MountVolume(fs_type=self.fs),
                                    access_mode=self.access_mode)

    @property
    def parameters(self):
        wanted = {"provisioning": self.provisioning, "mkfsOptions": self.mkfs_options,
                  "pool": self.pool}
        return {name: value for name, value in wanted.items() if value}

    @property
    def access_mode(self):
        return csi.VolumeCapability.AccessMode(
            mode=csi.VolumeCapability.AccessMode.Mode.Value(self.mode))


@dataclasses.dataclass
class GroupSnapshot:
    id: str
    members: dict  # ids of snapshots, by those of their volumes


class Driver:
    """A running driver. Every call throws grpc.RpcError unless it is answered with OK."""

    def __init__(self, run_dir, call_limit_s=CALL_LIMIT_S, *, pool=f"default=file:{POOL}",
                 node_id="vm", within=(), role="all", flags=()):
        """`within` is a command that runs the driver in other namespaces."""
        self._limit_s = call_limit_s
        self._program = run_dir / "holdfast"
        POOL.mkdir(exist_ok=True)
        SOCKET_DIR.mkdir(mode=0o700, exist_ok=True)
        self._socket = f"unix://{SOCKET_DIR}/{node_id}.sock"
        with open("/dev/ttyS0", "wb") as log:
            self._process = subprocess.Popen(
                [*within, self._program, "serve", f"--role={role}", f"--endpoint={self._socket}",
                 f"--node-id={node_id}", f"--state-dir=/data/state-{node_id}", f"--pool={pool}",
                 *flags],
                stdout=log, stderr=log)
        self._channel = grpc.insecure_channel(self._socket)
        self._identity = csi_pb2_grpc.IdentityStub(self._channel)
        self._controller = csi_pb2_grpc.ControllerStub(self._channel)
        self._groups = csi_pb2_grpc.GroupControllerStub(self._channel)
        self._node = csi_pb2_grpc.NodeStub(self._channel)
        self._wait_until_ready()

    def _wait_until_ready(self):
        end = time.monotonic() + READY_LIMIT_S
        while not self._probe():
            assert self._process.poll() is None, f"driver ended: {self._process.returncode}"
            assert time.monotonic() < end, f"driver not ready within {READY_LIMIT_S} s"
            time.sleep(0.05)

    def _probe(self):
        try:
            answer = self._identity.Probe(csi.ProbeRequest(), wait_for_ready=True, timeout=1)
        except grpc.RpcError as error:
            assert error.code() in NOT_YET_SERVING, error
            return False
        return not answer.HasField("ready") or answer.ready.value

    @property
    def pid(self):
        return self._process.pid

    @property
    def root(self):
        """The place where its mounts are visible, if it has a separate mount namespace."""
        return pathlib.Path(f"/proc/{self._process.pid}/root")

    def stop(self):
        """Asks the driver to drain and end; it must do so with status 0."""
        self._channel.close()
        self._process.terminate()
        status = self._process.wait(timeout=CALL_LIMIT_S)
        assert status == 0, f"driver ended with status {status} after SIGTERM"

    def crash(self):
        """kill -9."""
        self._channel.close()
        self._process.kill()
        self._process.wait()

    def create(self, volume, snapshot="", clone_of=None):
        """Empty, or from the id of a snapshot, or from a volume."""
        request = csi.CreateVolumeRequest(
            name=volume.name, capacity_range=csi.CapacityRange(required_bytes=volume.size),
            volume_capabilities=[volume.capability], parameters=volume.parameters)
        if snapshot or volume.source:
            request.volume_content_source.snapshot.snapshot_id = snapshot or volume.source
        if clone_of:
            request.volume_content_source.volume.volume_id = clone_of.id
        answer = self._controller.CreateVolume(request, timeout=self._limit_s)
        assert answer.volume.capacity_bytes >= volume.size, answer
        volume.id, volume.size = answer.volume.volume_id, answer.volume.capacity_bytes

    def try_create(self, volume, **source):
        """False while the answer is that its bytes are being copied."""
        try:
            self.create(volume, **source)
            return True
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.ABORTED, error
            return False

    def snapshot(self, volume, name, **parameters):
        """Returns its id."""
        answer = self._controller.CreateSnapshot(csi.CreateSnapshotRequest(
            source_volume_id=volume.id, name=name, parameters=parameters), timeout=self._limit_s)
        assert answer.snapshot.ready_to_use, answer
        return answer.snapshot.snapshot_id

    def group_snapshot(self, volumes, name):
        answer = self._groups.CreateVolumeGroupSnapshot(csi.CreateVolumeGroupSnapshotRequest(
            name=name, source_volume_ids=[volume.id for volume in volumes]),
            timeout=self._limit_s).group_snapshot
        assert answer.ready_to_use and len(answer.snapshots) == len(volumes), answer
        return GroupSnapshot(answer.group_snapshot_id, {
            one.source_volume_id: one.snapshot_id for one in answer.snapshots})

    def delete_group_snapshot(self, group):
        self._groups.DeleteVolumeGroupSnapshot(csi.DeleteVolumeGroupSnapshotRequest(
            group_snapshot_id=group.id, snapshot_ids=list(group.members.values())),
            timeout=self._limit_s)

    def capacity_of(self, node_id):
        """Of the first of the node's own pools, as a controller knows it."""
        where = csi.Topology(segments={"topology.csi.holdfast.dev/node": node_id})
        return self._controller.GetCapacity(csi.GetCapacityRequest(
            accessible_topology=where, parameters={"provisioning": "thin"}),
            timeout=self._limit_s).available_capacity

    def delete_snapshot(self, snapshot_id):
        self._controller.DeleteSnapshot(csi.DeleteSnapshotRequest(snapshot_id=snapshot_id),
                                        timeout=self._limit_s)

    def snapshots(self):
        """The ids of all."""
        answer = self._controller.ListSnapshots(csi.ListSnapshotsRequest(), timeout=self._limit_s)
        return {entry.snapshot.snapshot_id for entry in answer.entries}

    def delete(self, volume_id):
        self._controller.DeleteVolume(csi.DeleteVolumeRequest(volume_id=volume_id),
                                      timeout=self._limit_s)

    def list(self):
        """Returns the size of every volume by its id, read in pages of three."""
        sizes, token = {}, ""
        while True:
            page = self._controller.ListVolumes(
                csi.ListVolumesRequest(max_entries=3, starting_token=token), timeout=self._limit_s)
            for entry in page.entries:
                sizes[entry.volume.volume_id] = entry.volume.capacity_bytes
            token = page.next_token
            if not token:
                return sizes

    def inventory(self, verb):
        """The output of `holdfast volumes` or `holdfast pools`."""
        answer = subprocess.run(
            [self._program, verb, "--output=json", f"--endpoint={self._socket}"], check=True,
            stdout=subprocess.PIPE, timeout=self._limit_s)
        return json.loads(answer.stdout)[verb]

    def expand(self, volume, size):
        """Returns the size that the controller answers."""
        answer = self._controller.ControllerExpandVolume(csi.ControllerExpandVolumeRequest(
            volume_id=volume.id, capacity_range=csi.CapacityRange(required_bytes=size),
            volume_capability=volume.capability), timeout=self._limit_s)
        assert answer.capacity_bytes >= size, answer
        return answer.capacity_bytes

    def expand_filesystem(self, volume, size):
        # A raw block volume is nowhere but where it is published.
        path = volume.staging_path if volume.fs else volume.target_path
        self._node.NodeExpandVolume(csi.NodeExpandVolumeRequest(
            volume_id=volume.id, volume_path=str(path),
            staging_target_path=str(volume.staging_path), volume_capability=volume.capability,
            capacity_range=csi.CapacityRange(required_bytes=size)), timeout=self._limit_s)

    def stage(self, volume, limit_s=None):
        volume.staging_path.mkdir(parents=True, exist_ok=True)
        self._node.NodeStageVolume(csi.NodeStageVolumeRequest(
            volume_id=volume.id, staging_target_path=str(volume.staging_path),
            volume_capability=volume.capability), timeout=limit_s or self._limit_s)

    def unstage(self, volume, limit_s=None):
        self._node.NodeUnstageVolume(csi.NodeUnstageVolumeRequest(
            volume_id=volume.id, staging_target_path=str(volume.staging_path)),
            timeout=limit_s or self._limit_s)

    def publish(self, volume):
        volume.target_path.parent.mkdir(parents=True, exist_ok=True)
        self._node.NodePublishVolume(csi.NodePublishVolumeRequest(
            volume_id=volume.id, staging_target_path=str(volume.staging_path),
            target_path=str(volume.target_path), volume_capability=volume.capability),
            timeout=self._limit_s)

    def unpublish(self, volume):
        self._node.NodeUnpublishVolume(csi.NodeUnpublishVolumeRequest(
            volume_id=volume.id, target_path=str(volume.target_path)), timeout=self._limit_s)
