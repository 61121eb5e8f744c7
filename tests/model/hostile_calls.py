# SPDX-License-Identifier: Apache-2.0
"""Calls that a CO must not make, each with the one code that it must get in every state. Another
suite has the whole table of hostile values; these calls are mixed with all others."""

import uuid

import csi_client
import csi_pb2

LONG = "x" * 129


def no_volume(name):
    """The id of a volume that never was; another one for each name, so that callers do not meet."""
    return f"default:test-node:{uuid.uuid5(uuid.NAMESPACE_URL, name)}"


def no_snapshot(name):
    """The id of a snapshot that never was."""
    return f"s:{no_volume(name)}"


def calls(volume):
    """(method, fields, code) for a volume of the model that may or may not be there."""
    nothing = no_volume(volume.name)
    handle = volume.handle or nothing
    mount, block = csi_client.capability(), csi_client.capability("block")
    unset = csi_pb2.VolumeCapability()
    flags = csi_client.capability(flags=("bind",))
    many = csi_client.capability(mode="MULTI_NODE_MULTI_WRITER")
    size = csi_client.at_least(1 << 20)

    def stage(**changed):
        return {"volume_id": handle, "staging_target_path": "/nowhere/stage",
                "volume_capability": mount, **changed}

    def publish(**changed):
        return {"volume_id": handle, "staging_target_path": "/nowhere/stage",
                "target_path": "/nowhere/target", "volume_capability": mount, **changed}

    def create(**changed):
        return {"name": volume.name, "capacity_range": size, "volume_capabilities": [mount],
                **changed}

    return [
        ("CreateVolume", create(name=""), "INVALID_ARGUMENT"),
        ("CreateVolume", create(name=LONG), "INVALID_ARGUMENT"),
        ("CreateVolume", create(volume_capabilities=[]), "INVALID_ARGUMENT"),
        ("CreateVolume", create(volume_capabilities=[unset]), "INVALID_ARGUMENT"),
        ("CreateVolume", create(volume_capabilities=[mount, block]), "INVALID_ARGUMENT"),
        ("CreateVolume", create(parameters={"unheard": "of"}), "INVALID_ARGUMENT"),
        ("CreateVolume", create(parameters={"provisioning": "thicc"}), "INVALID_ARGUMENT"),
        ("CreateVolume", create(volume_capabilities=[flags]), "INVALID_ARGUMENT"),
        ("CreateVolume", create(volume_capabilities=[many]), "INVALID_ARGUMENT"),
        ("CreateVolume", create(capacity_range=csi_client.at_least(-1)), "INVALID_ARGUMENT"),
        ("DeleteVolume", {"volume_id": ""}, "INVALID_ARGUMENT"),
        ("DeleteVolume", {"volume_id": "../../etc"}, "OK"),
        ("DeleteVolume", {"volume_id": nothing}, "OK"),
        ("ControllerExpandVolume", {"volume_id": handle}, "INVALID_ARGUMENT"),
        ("ControllerExpandVolume", {"volume_id": nothing, "capacity_range": size}, "NOT_FOUND"),
        ("ControllerGetVolume", {"volume_id": LONG}, "INVALID_ARGUMENT"),
        ("ListVolumes", {"max_entries": -1}, "INVALID_ARGUMENT"),
        ("ListVolumes", {"starting_token": "nobody gave this"}, "ABORTED"),
        ("NodeStageVolume", stage(staging_target_path=""), "INVALID_ARGUMENT"),
        ("NodeStageVolume", stage(volume_id="", staging_target_path="/x"), "INVALID_ARGUMENT"),
        ("NodeStageVolume", stage(volume_id=nothing), "NOT_FOUND"),
        ("NodePublishVolume", publish(target_path=""), "INVALID_ARGUMENT"),
        ("NodePublishVolume", publish(staging_target_path=""), "FAILED_PRECONDITION"),
        ("NodeUnpublishVolume", {"volume_id": handle, "target_path": "relative"},
         "INVALID_ARGUMENT"),
        ("NodeUnstageVolume", {"volume_id": handle, "staging_target_path": "/a/../b"},
         "INVALID_ARGUMENT"),
    ]
