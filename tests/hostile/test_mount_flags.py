# SPDX-License-Identifier: Apache-2.0
"""Mount flags are one plain option each, and cannot be used for anything else."""

import pytest

import csi_client
import mount_table
from csi_client import refused
from kubelet import PersistentVolume

CAN_SMUGGLE = [
    "noatime,suid", "noatime,bind", ",", "", " ", "noatime ", "\tnoatime", "noatime\n", "noatime\0",
    "-o", "--bind", "-obind", "--make-shared", "=", "=value", "noatime=\"a,b\"", 'a="', "a='b,c'",
    "a=b\\", "\\", "na\u00efve", "a=\u202e",
    "bind", "rbind", "move", "remount", "remount=x", "shared", "rshared", "slave", "private",
    "unbindable", "runbindable", "loop", "loop=/dev/loop0", "offset=512", "sizelimit=1",
    "encryption=aes", "helper=mount.sh", "uhelper=x", "user", "users", "owner", "group", "nofail",
    "noauto", "comment=x", "x-mount.mkdir", "X-mount.mkdir", "X-mount.subdir=etc",
    "X-mount.idmap=b:0:100000:65536", "X-mount.owner=0", "x-systemd.automount",
    "verity.hashdevice=/dev/sda", "verity.roothash=00", "source=/dev/sda", "device=/dev/sda",
    "journal_dev=0x801", "journal_path=/dev/sda1", "logdev=/dev/sda", "rtdev=/dev/sda",
    "errors=panic", "fatal_errors=panic", "context=\"a,b=c\"", "context=\"system_u",
]
# Of the kernel's own refusal: the option is plain, and the filesystem does not know it.
UNKNOWN = ["lowerdir=/etc", "upperdir=/etc", "subdir=/etc", "mode=0777", "size=1k", "addr=10.0.0.1"]


def staging(kubelet, volume):
    path = kubelet.global_mount(volume)
    path.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_flags_that_are_more_than_an_option(driver, kubelet, filesystem):
    plain = PersistentVolume(driver.create("pv", filesystem=filesystem).volume_id, "pv",
                             filesystem=filesystem)
    path = staging(kubelet, plain)
    for flag in CAN_SMUGGLE:
        bent = csi_client.capability(filesystem=filesystem, flags=["noatime", flag])
        with refused("INVALID_ARGUMENT", r"mount_flags\[1\]"):
            driver.call("CreateVolume", name="other", volume_capabilities=[bent])
        with refused("INVALID_ARGUMENT", r"mount_flags\[1\]"):
            driver.call("NodeStageVolume", volume_id=plain.handle, staging_target_path=str(path),
                        volume_capability=bent)
        assert driver.loop(plain.handle) is None, flag
        assert not mount_table.is_mount_point(path), flag
    assert driver.listed() == [plain.handle]
    kubelet.mount(plain, "pod")
    for flag in CAN_SMUGGLE:
        bent = csi_client.capability(filesystem=filesystem, flags=["noatime", flag])
        with refused("INVALID_ARGUMENT", r"mount_flags\[1\]"):
            driver.call("NodePublishVolume", volume_id=plain.handle, staging_target_path=str(path),
                        target_path=str(kubelet.root / "target"), volume_capability=bent)
        assert not (kubelet.root / "target").exists(), flag
    kubelet.unmount(plain, "pod")


@pytest.mark.parametrize("flag", UNKNOWN)
def test_flags_that_the_filesystem_does_not_know(driver, kubelet, flag):
    volume = PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4",
                              flags=(flag,))
    path = staging(kubelet, volume)
    with refused("INVALID_ARGUMENT", flag.partition("=")[0]):
        kubelet.node_stage(volume)
    assert driver.loop(volume.handle) is None
    assert not mount_table.is_mount_point(path)


def test_a_publication_cannot_take_back_what_the_class_has_set(driver, kubelet):
    """Flags of a bind only add restrictions."""
    strict = PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4",
                              flags=("nosuid", "nodev", "noexec"))
    loose = PersistentVolume(strict.handle, "pv", filesystem="ext4",
                             flags=("suid", "dev", "exec"))
    kubelet.stage(strict)
    path = kubelet.publish(loose, "pod")
    assert {"nosuid", "nodev", "noexec"} <= set(mount_table.mounts_at(path)[-1].options.split(","))
    kubelet.unmount(strict, "pod")
