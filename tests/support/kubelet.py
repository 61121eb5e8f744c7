# SPDX-License-Identifier: Apache-2.0
"""kubelet's CSI client as a driver meets it: its calls in its order, its paths, its own steps.

`call` makes one CSI call; tests replace it to lose answers, run into time-outs or kill the driver.
"""

import dataclasses
import hashlib
import json
import shutil
import time

import csi_client
import host
import mount_table
import pool_disk
from pool_disk import run

DRIVER_NAME = "csi.holdfast.dev"
DETACH_SECONDS = 30


def await_detached(loop, backing):
    """The last closer detaches it: perhaps a program that looks at every loop device of the host."""
    deadline = time.monotonic() + DETACH_SECONDS
    while host.loop_backings().get(loop) == str(backing):
        assert time.monotonic() < deadline, f"{loop} is still attached"
        time.sleep(0.002)


@dataclasses.dataclass(frozen=True)
class PersistentVolume:
    """kubelet's knowledge about a volume: the PV and its attributes."""
    handle: str
    name: str
    access: str = "mount"
    filesystem: str = ""
    # RWO for a driver with SINGLE_NODE_MULTI_WRITER; RWOP is SINGLE_NODE_SINGLE_WRITER.
    mode: str = "SINGLE_NODE_MULTI_WRITER"
    flags: tuple = ()

    def capability(self):
        return csi_client.capability(self.access, self.filesystem, self.mode, self.flags)

    # Keys that the provisioner and kubelet add; a driver must accept them as they are.
    def context(self, pod=None):
        context = {"storage.kubernetes.io/csiProvisionerIdentity": f"1-8081-{DRIVER_NAME}"}
        if pod:
            context |= {"csi.storage.k8s.io/pod.name": pod, "csi.storage.k8s.io/pod.uid": pod,
                        "csi.storage.k8s.io/ephemeral": "false"}
        return context


class Kubelet:
    def __init__(self, root, call):
        self.root = root
        self.call = call
        self.lock_devices = {}  # (volume, pod) -> loop device of kubelet's own

    def plain_call(self, method, **fields):
        self.call("NodeGetCapabilities")
        return self.call(method, **fields)

    # Paths.

    def plugin_directory(self):
        return self.root / "plugins" / "kubernetes.io" / "csi"

    def stage_directory(self, volume):
        digest = hashlib.sha256(volume.handle.encode()).hexdigest()
        return self.plugin_directory() / DRIVER_NAME / digest

    def global_mount(self, volume):
        return self.stage_directory(volume) / "globalmount"

    def pod_volume_directory(self, volume, pod):
        return self.root / "pods" / pod / "volumes" / "kubernetes.io~csi" / volume.name

    def mount_path(self, volume, pod):
        return self.pod_volume_directory(volume, pod) / "mount"

    def devices_directory(self):
        return self.plugin_directory() / "volumeDevices"

    def block_staging_directory(self, volume):
        return self.devices_directory() / "staging" / volume.name

    def publish_file(self, volume, pod):
        return self.devices_directory() / "publish" / volume.name / pod

    def device_path(self, volume, pod):
        """Where kubelet itself shows the device; statistics are asked for here."""
        return self.devices_directory() / volume.name / "dev" / pod

    def device_link(self, volume, pod):
        return (self.root / "pods" / pod / "volumeDevices" / "kubernetes.io~csi" / volume.name)

    def staging_path(self, volume):
        return (self.block_staging_directory(volume) if volume.access == "block"
                else self.global_mount(volume))

    # The two calls that both kinds share.

    def node_stage(self, volume):
        self.plain_call("NodeStageVolume", volume_id=volume.handle,
                        staging_target_path=str(self.staging_path(volume)),
                        volume_capability=volume.capability(), volume_context=volume.context())

    def node_publish(self, volume, pod, target, read_only):
        self.plain_call("NodePublishVolume", volume_id=volume.handle,
                        staging_target_path=str(self.staging_path(volume)), target_path=str(target),
                        volume_capability=volume.capability(), readonly=read_only,
                        volume_context=volume.context(pod))

    # Filesystem volumes.

    def stage(self, volume):
        """MountDevice."""
        self.global_mount(volume).mkdir(mode=0o750, parents=True, exist_ok=True)
        data = {"volumeHandle": volume.handle, "driverName": DRIVER_NAME}
        (self.stage_directory(volume) / "vol_data.json").write_text(json.dumps(data))
        self.node_stage(volume)

    def publish(self, volume, pod, read_only=False):
        """SetUp; the driver makes the last part of the path."""
        parent = self.pod_volume_directory(volume, pod)
        parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        data = {"volumeHandle": volume.handle, "specVolID": volume.name}
        (parent / "vol_data.json").write_text(json.dumps(data))
        self.node_publish(volume, pod, self.mount_path(volume, pod), read_only)
        return self.mount_path(volume, pod)

    def mount(self, volume, pod, read_only=False, expand_to=0):
        """A pod starts; expand_to is set if the PV has grown beyond the size in the PVC's
        status."""
        self.stage(volume)
        path = self.publish(volume, pod, read_only)
        if expand_to:
            self.expand(volume, path, expand_to)
        return path

    def expand(self, volume, path, size):
        return self.plain_call("NodeExpandVolume", volume_id=volume.handle, volume_path=str(path),
                               staging_target_path=str(self.staging_path(volume)),
                               capacity_range=csi_client.at_least(size),
                               volume_capability=volume.capability()).capacity_bytes

    def stats(self, volume, path):
        """Usage by unit; kubelet sends no staging path here."""
        answer = self.plain_call("NodeGetVolumeStats", volume_id=volume.handle,
                                 volume_path=str(path))
        assert answer.usage, "kubelet rejects statistics without usage"
        return answer

    def unpublish(self, volume, pod):
        """TearDown; only plain removals, so that whatever a driver leaves behind shows."""
        path = self.mount_path(volume, pod)
        self.plain_call("NodeUnpublishVolume", volume_id=volume.handle, target_path=str(path))
        assert not mount_table.is_mount_point(path)
        if path.exists():
            path.rmdir()
        parent = self.pod_volume_directory(volume, pod)
        (parent / "vol_data.json").unlink(missing_ok=True)
        parent.rmdir()

    def unstage(self, volume):
        """UnmountDevice. kubelet refuses while the filesystem is mounted elsewhere."""
        path = self.global_mount(volume)
        assert not mount_table.other_mounts_of(path), "GetDeviceMountRefs finds other mounts"
        self.plain_call("NodeUnstageVolume", volume_id=volume.handle, staging_target_path=str(path))
        assert not mount_table.is_mount_point(path)
        if path.exists():
            path.rmdir()
        (self.stage_directory(volume) / "vol_data.json").unlink(missing_ok=True)
        self.stage_directory(volume).rmdir()

    def unmount(self, volume, pod):
        """The last pod is removed."""
        self.unpublish(volume, pod)
        self.unstage(volume)

    # Raw block volumes.

    def map_block(self, volume, pod, read_only=False):
        """A pod starts; returns the path that the container runtime is given."""
        self.stage_block(volume)
        self.publish_block(volume, pod, read_only)
        return self.take_device(volume, pod)

    def stage_block(self, volume):
        self.block_staging_directory(volume).mkdir(mode=0o750, parents=True, exist_ok=True)
        self.node_stage(volume)

    def publish_block(self, volume, pod, read_only=False):
        file = self.publish_file(volume, pod)
        file.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        self.node_publish(volume, pod, file, read_only)
        assert file.is_block_device()
        return file

    def take_device(self, volume, pod):
        """kubelet's own: a bind of the device, a link for the pod, a loop device as a lock."""
        device = self.device_path(volume, pod)
        if not mount_table.is_mount_point(device):
            device.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
            device.touch()
            run("mount", "--bind", self.publish_file(volume, pod).resolve(), device)
        link = self.device_link(volume, pod)
        link.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(device)
        if (volume, pod) not in self.lock_devices:
            self.lock_devices[volume, pod] = pool_disk.attach(device)
        return link

    def unmap_block(self, volume, pod):
        self.unpublish_block(volume, pod)
        self.unstage_block(volume)

    def unpublish_block(self, volume, pod):
        device = self.device_path(volume, pod)
        if lock := self.lock_devices.pop((volume, pod), None):
            run("losetup", "--detach", lock)
            await_detached(lock, device)
        self.device_link(volume, pod).unlink(missing_ok=True)
        if mount_table.is_mount_point(device):
            run("umount", device)
        device.unlink(missing_ok=True)
        file = self.publish_file(volume, pod)
        self.plain_call("NodeUnpublishVolume", volume_id=volume.handle, target_path=str(file))
        assert not file.exists(), "the driver must take away the file that it made"

    def unstage_block(self, volume):
        staging = self.block_staging_directory(volume)
        if staging.exists():
            self.plain_call("NodeUnstageVolume", volume_id=volume.handle,
                            staging_target_path=str(staging))
            assert not mount_table.is_mount_point(staging)
            assert not list(staging.iterdir()), "kubelet removes all below here, bytes and all"
            shutil.rmtree(staging)
        publish = self.publish_file(volume, "-").parent
        if publish.exists():
            publish.rmdir()
        for directory in (self.device_path(volume, "-").parent,
                          self.device_path(volume, "-").parent.parent):
            if directory.exists():
                directory.rmdir()

    # Either kind, for tests that run with both.

    def start_pod(self, volume, pod):
        """Returns a path to write to."""
        return (self.map_block if volume.access == "block" else self.mount)(volume, pod)

    def end_pod(self, volume, pod):
        (self.unmap_block if volume.access == "block" else self.unmount)(volume, pod)

    def restart(self, pods):
        """After a restart kubelet stages and publishes everything that is wanted again."""
        for volume, pod, read_only in pods:
            if volume.access == "block":
                self.map_block(volume, pod, read_only)
            else:
                self.mount(volume, pod, read_only)
