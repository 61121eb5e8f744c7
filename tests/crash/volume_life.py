# SPDX-License-Identifier: Apache-2.0
"""One volume from its creation to its deletion, as provisioner, resizer and kubelet handle it.

Every step may be repeated until it succeeds, as its caller does. The guarantees of successful steps
are recorded, and checked by the following steps."""

import dataclasses
import errno
import fcntl
import os
import subprocess

import grpc

import content
import csi_client
import driver
import mount_table
from kubelet import PersistentVolume

POD = "pod"
DATA = driver.MIB
GROWTH = 64 * driver.MIB
FIFREEZE, FITHAW = 0xC0045877, 0xC0045878  # linux/fs.h
FORMATTERS = ("mkfs.ext4", "mkfs.xfs", "mkfs.btrfs")


@dataclasses.dataclass(frozen=True)
class Kind:
    filesystem: str  # or "block"
    provisioning: str

    def __str__(self):
        return f"{self.filesystem} {self.provisioning}"

    @property
    def access(self):
        return "block" if self.filesystem == "block" else "mount"


class Life:
    def __init__(self, world, kind, number=1):
        self.number = number  # among the volumes of a case
        self.world, self.driver, self.kubelet, self.kind = world, world.driver, world.kubelet, kind
        self.size = driver.SIZES[kind.filesystem]
        self.volume = None
        self.parameters = {}  # of its class
        self.source = None  # of a copy: the id of a snapshot or a volume
        self.read_only = False
        self.checksum = None  # the checksum of the written data
        self.filesystem_uuid = None
        self.formats = 0  # how often a mkfs was started until there was data
        self.expanded = self.deleted = False

    # Calls of the controller's side.

    def create(self):
        fields = {} if self.kind.access == "block" else {"filesystem": self.kind.filesystem}
        made = self.driver.create(f"pvc-{self.number}", size=self.size, access=self.kind.access,
                                  provisioning=self.kind.provisioning, source=self.source, **fields,
                                  **self.parameters)
        assert made.capacity_bytes == self.size, f"created with {made.capacity_bytes}"
        filesystem = "" if self.kind.access == "block" else self.kind.filesystem
        self.volume = PersistentVolume(made.volume_id, f"pv-{self.number}", self.kind.access,
                                       filesystem)

    def expand(self):
        grown = driver.SIZES[self.kind.filesystem] + GROWTH
        answer = self.driver.call("ControllerExpandVolume", volume_id=self.volume.handle,
                                  capacity_range=csi_client.at_least(grown),
                                  volume_capability=self.volume.capability())
        assert answer.capacity_bytes == grown, f"expanded to {answer.capacity_bytes}"
        self.size, self.expanded = grown, True

    def delete(self):
        self.driver.delete(self.volume.handle)
        self.deleted = True

    # Calls of kubelet.

    def stage(self):
        block = self.kind.access == "block"
        (self.kubelet.stage_block if block else self.kubelet.stage)(self.volume)

    def publish(self):
        block = self.kind.access == "block"
        publish = self.kubelet.publish_block if block else self.kubelet.publish
        publish(self.volume, POD, self.read_only)

    def publish_read_only(self):
        self.read_only = True
        self.publish()

    def expand_node(self):
        self.kubelet.expand(self.volume, self.target(), self.size)

    def unpublish(self):
        block = self.kind.access == "block"
        (self.kubelet.unpublish_block if block else self.kubelet.unpublish)(self.volume, POD)
        self.read_only = False

    def unstage(self):
        block = self.kind.access == "block"
        (self.kubelet.unstage_block if block else self.kubelet.unstage)(self.volume)

    def target(self):
        return (self.kubelet.publish_file(self.volume, POD) if self.kind.access == "block"
                else self.kubelet.mount_path(self.volume, POD))

    # The pod's actions.

    def data_path(self):
        return self.target() if self.kind.access == "block" else self.target() / "data"

    def write(self):
        self.filesystem_uuid = self.read_filesystem_uuid()
        self.formats = self.formatted()
        self.checksum = content.write(self.data_path(), DATA)

    def verify(self):
        found = content.checksum(self.data_path(), DATA)
        assert found == self.checksum, "the data is not what was written"
        found = self.read_filesystem_uuid()
        if self.filesystem_uuid is None:  # of a copy: it has one of its own since the first stage
            self.filesystem_uuid = found
        assert found == self.filesystem_uuid, f"filesystem {found}, was {self.filesystem_uuid}"
        assert self.formatted() == self.formats, "a mkfs was run where data was"

    def use(self):
        """A pod's whole life, with data."""
        self.stage()
        self.publish()
        self.write()
        self.unpublish()
        self.unstage()

    # The checks.

    def read_filesystem_uuid(self):
        """As the device shows it; the record must say the same."""
        if self.kind.access == "block":
            return ""
        record = self.driver.record(self.volume.handle)
        device = self.driver.loop(self.volume.handle)
        found = subprocess.run(["blkid", "-p", "-o", "value", "-s", "UUID", device], check=True,
                               capture_output=True, text=True).stdout.strip()
        assert (record["state"], record["filesystem_uuid"]) == ("formatted", found), record
        return found

    def formatted(self):
        """How often a mkfs was started on this volume."""
        return self.world.programs_started(FORMATTERS)

    def check_size(self):
        """Device and filesystem have the provisioned size."""
        device = self.driver.loop(self.volume.handle)
        with open(device, "rb") as opened:
            shown = opened.seek(0, os.SEEK_END)
        assert shown == self.size, f"{device} has {shown} bytes, the volume {self.size}"
        if self.kind.access == "mount":
            facts = os.statvfs(self.target())
            total = facts.f_blocks * facts.f_frsize
            assert total > 0.75 * self.size, f"the filesystem has {total} of {self.size} bytes"

    def check_absent(self):
        """After a creation that was refused for good: no caller will ever delete what remains."""
        assert not self.driver.leftovers(), self.driver.leftovers()
        self.world.check_capacity()

    def check_unstaged(self):
        """After a stage that was refused for good: no caller will ever unstage the volume."""
        staging = self.kubelet.staging_path(self.volume)
        assert not mount_table.is_mount_point(staging), "still mounted after the final error"
        assert self.driver.loop(self.volume.handle) is None, "still attached after the final error"

    def check_unpublished(self):
        assert not mount_table.is_mount_point(self.target()), "still published after the error"

    def check_accounts(self):
        self.world.check_accounts()

    def check_not_frozen(self):
        """By freezing it for a moment, which is refused where it is frozen."""
        root = os.open(self.target(), os.O_RDONLY)
        try:
            fcntl.ioctl(root, FIFREEZE, 0)
            fcntl.ioctl(root, FITHAW, 0)
        except OSError as error:
            assert error.errno != errno.EBUSY, "the filesystem was left frozen"
            if error.errno != errno.EINVAL:  # thawed by the driver meanwhile
                raise
        finally:
            os.close(root)

    # The rest of the life, from wherever it is.

    def finish(self):
        """The volume is complete, has the provisioned size and its data; then it is removed."""
        if self.deleted:
            return
        self.begin_use()
        if self.checksum:
            self.verify()
        self.check_size()
        self.world.check_accounts()
        self.unpublish()
        self.unstage()
        self.delete()

    def begin_use(self):
        """A pod starts and, if there is no data yet, writes."""
        if self.volume is None:
            self.create()
        self.stage()
        self.publish()
        if self.expanded:
            self.grow()
        if self.checksum is None and not self.read_only:
            self.write()

    def grow(self):
        """The filesystem grows to the volume's size. If a fault prevented the growth before the
        mount, the pod has its data in the meantime, and is restarted."""
        try:
            self.expand_node()
        except grpc.RpcError as error:
            if csi_client.code_of(error) != "FAILED_PRECONDITION":
                raise
            if self.checksum:
                self.verify()
            self.unpublish()
            self.unstage()
            self.stage()
            self.publish()
            self.expand_node()

    def tidy_publication(self):
        """Removes what kubelet removes after a final error of a publication."""
        if self.kind.access == "block":
            return
        if self.target().exists():
            self.target().rmdir()
        directory = self.kubelet.pod_volume_directory(self.volume, POD)
        (directory / "vol_data.json").unlink()
        directory.rmdir()

    def tidy_stage(self):
        """Removes what kubelet removes after a final error of a stage."""
        directory = self.kubelet.stage_directory(self.volume)
        if self.kind.access == "mount" and directory.exists():
            self.kubelet.global_mount(self.volume).rmdir()
            (directory / "vol_data.json").unlink()
            directory.rmdir()
