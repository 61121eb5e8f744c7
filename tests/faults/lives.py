# SPDX-License-Identifier: Apache-2.0
"""Volumes with data in them, and how each call fares while something is wrong with the host."""

import dataclasses

import grpc

import content
import csi_client
import mount_table
from driver import MIB
from kubelet import PersistentVolume


@dataclasses.dataclass
class Kept:
    """A volume that a pod wrote to and left."""
    volume: PersistentVolume
    checksum: str


def new_volume(driver, name, filesystem="ext4", **properties):
    created = driver.create(name, filesystem=filesystem, **properties)
    return PersistentVolume(created.volume_id, name, filesystem=filesystem)


def keep(driver, kubelet, name, **properties):
    """Creates a volume, lets a pod write a file to it, and removes the pod."""
    volume = new_volume(driver, name, **properties)
    path = kubelet.mount(volume, f"{name}-pod")
    checksum = content.write(path / "data", MIB)
    kubelet.unmount(volume, f"{name}-pod")
    return Kept(volume, checksum)


def assert_kept(kubelet, kept):
    """A new pod finds what the old one wrote."""
    pod = f"{kept.volume.name}-pod"
    path = kubelet.mount(kept.volume, pod)
    found = content.checksum(path / "data")
    kubelet.unmount(kept.volume, pod)
    assert found == kept.checksum, f"the data of {kept.volume.name} differ"


def leads_a_life(driver, kubelet, name="afterwards", **properties):
    """From creation to deletion, with data."""
    kept = keep(driver, kubelet, name, **properties)
    assert_kept(kubelet, kept)
    driver.delete(kept.volume.handle)


def outcome(action, allowed):
    """OK, or the code of the refusal, which must be allowed and say something."""
    try:
        action()
    except grpc.RpcError as error:
        code = csi_client.code_of(error)
        assert code in allowed, f"{code}: {error.details()}"
        assert error.details(), "an error must say what failed and why"
        return code
    return "OK"


def grow(driver, volume, size):
    return driver.call("ControllerExpandVolume", volume_id=volume.handle,
                       capacity_range=csi_client.at_least(size)).capacity_bytes


def take_down(kubelet, volume, pod):
    """The calls that kubelet repeats until they work, also after a publish or a stage that
    failed."""
    kubelet.plain_call("NodeUnpublishVolume", volume_id=volume.handle,
                       target_path=str(kubelet.mount_path(volume, pod)))
    kubelet.plain_call("NodeUnstageVolume", volume_id=volume.handle,
                       staging_target_path=str(kubelet.global_mount(volume)))
    assert not mount_table.is_mount_point(kubelet.global_mount(volume))
