# SPDX-License-Identifier: Apache-2.0
"""An honest request for every RPC of the contract, which changes nothing because its result exists
already. A hostile field is then the only thing that could change anything."""

import csi_client
import csi_pb2
from cluster import segment
from google.protobuf.descriptor import FieldDescriptor as Field

SIZE = 64 << 20
SNAPSHOT, GROUP = "snap", "group"
# Given only as an attack: an honest caller leaves them out, because they are not supported.
LEFT_OUT = {"volume_content_source", "mutable_parameters", "volume_mount_group"}


class Callers:
    """A volume that is staged and published and has a snapshot, and the arguments of each RPC about
    it."""

    def __init__(self, driver, kubelet, volume, snapshot, pod):
        other = volume.handle[:-36] + "00000000-0000-4000-8000-000000000000"
        elsewhere = kubelet.pod_volume_directory(volume, "other-pod")
        elsewhere.mkdir(parents=True)
        self.driver = driver
        group = driver.call("CreateVolumeGroupSnapshot", name=GROUP,
                            source_volume_ids=[volume.handle]).group_snapshot
        self.group = group.group_snapshot_id
        self.values = {
            "name": volume.name, "volume_id": volume.handle, "readonly": False,
            "source_volume_id": volume.handle, "snapshot_id": snapshot,
            "source_volume_ids": [volume.handle], "group_snapshot_id": self.group,
            "snapshot_ids": [member.snapshot_id for member in group.snapshots],
            "base_snapshot_id": snapshot, "target_snapshot_id": snapshot,
            "staging_target_path": str(kubelet.staging_path(volume)),
            "target_path": str(kubelet.mount_path(volume, pod)),
            "volume_path": str(kubelet.mount_path(volume, pod)),
            "capacity_range": csi_pb2.CapacityRange(required_bytes=SIZE),
            "volume_capability": volume.capability(),
            "volume_capabilities": [volume.capability()],
            "parameters": {"provisioning": "thin"}, "secrets": {"user": "key"},
            "volume_context": volume.context(), "publish_context": {"a": "b"},
            "accessible_topology": segment("test-node"),
            "accessibility_requirements": csi_pb2.TopologyRequirement(
                requisite=[segment("test-node")], preferred=[segment("test-node")]),
            # A command about an entry that is there would restore or purge it.
            "id": f"{other}.20261125T084500Z",
            "max_entries": 1, "starting_token": "", "starting_offset": 0, "max_results": 1}
        # These would remove the volume; instead they name one that does not exist.
        self.special = {("DeleteVolume", "volume_id"): other,
                        ("DeleteSnapshot", "snapshot_id"): "s:" + other,
                        ("CreateSnapshot", "name"): SNAPSHOT,
                        ("CreateSnapshot", "parameters"): {},
                        ("CreateVolumeGroupSnapshot", "name"): GROUP,
                        ("CreateVolumeGroupSnapshot", "parameters"): {},
                        ("DeleteVolumeGroupSnapshot", "group_snapshot_id"):
                            "g:00000000-0000-4000-8000-000000000000",
                        ("NodeUnpublishVolume", "target_path"): str(elsewhere / "mount"),
                        ("NodeUnstageVolume", "staging_target_path"): str(elsewhere)}

    def texts(self, method):
        """The honest value of each text field by its name; of paths that which would take effect."""
        return {name: value for name, value in self.values.items() if isinstance(value, str)}

    def request(self, method):
        request = method.input_type._concrete_class()
        for field in method.input_type.fields:
            if field.name not in LEFT_OUT:
                self.fill(request, field, self.special.get((method.name, field.name)))
        return request

    def fill(self, request, field, value):
        value = value if value is not None else self.values.get(field.name)
        if value is None:
            return  # a field of an RPC that is not served
        if isinstance(value, list):
            getattr(request, field.name).extend(value)
        elif field.type != Field.TYPE_MESSAGE:
            setattr(request, field.name, value)
        elif isinstance(value, dict):
            getattr(request, field.name).update(value)
        else:
            getattr(request, field.name).CopyFrom(value)


def all_methods():
    return {**csi_client.METHODS, **{f"Admin.{name}": method for name, method
                                     in csi_client.ADMIN_METHODS.items()}}
