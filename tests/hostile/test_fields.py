# SPDX-License-Identifier: Apache-2.0
"""Every field of every RPC with hostile values: the correct code and the field's name, and no
change on disk, in the kernel or outside the driver's roots.

A new field in the contract is attacked automatically. Any answer other than INVALID_ARGUMENT must
be listed in ALLOWED, with a reason."""

import json
import re

import csi_client
import grpc
import hostile_values
import pytest
import requests_of
import surroundings
from kubelet import PersistentVolume

METHODS = requests_of.all_methods()
ANSWER_SECONDS = 60
MAX_MESSAGE = 2048  # clients accept 8 KiB of headers, in which a byte may take three
MAX_LOG_LINE = 16 << 10

NOT_SERVED = {"ControllerPublishVolume", "ControllerUnpublishVolume", "ControllerModifyVolume"}
NOT_THERE = {"Admin.RestoreTrash", "Admin.PurgeTrash"}  # what their honest requests name

# (RPC, field, value): codes besides INVALID_ARGUMENT. Regular expressions; all that match count.
ALLOWED = [
    # Not used by the driver, and never looked at. Kubernetes puts whole tokens into them.
    (".*", "(secrets|volume_context|publish_context)", ".*", {"OK"}),
    # Any text is a name; it becomes a hash.
    ("CreateVolume", "name", "traversal|format|shell|option|bidirectional", {"OK"}),
    # An id that Holdfast did not make is of no volume: not there, or gone already.
    (".*", "volume_id", "(?!mebibyte|wide).*", {"NOT_FOUND"}),
    ("DeleteVolume|NodeUnpublishVolume|NodeUnstageVolume", "volume_id", "(?!mebibyte|wide).*",
     {"OK"}),
    ("Create(VolumeGroup)?Snapshot", "name", "traversal|format|shell|option|bidirectional", {"OK"}),
    (".*Snapshot|CreateVolume", r"(.*\.)?(source_volume_ids?|(group_)?snapshot_id|volume_id)",
     "(?!mebibyte|wide).*", {"NOT_FOUND"}),
    ("DeleteSnapshot", "snapshot_id", "(?!mebibyte|wide).*", {"OK"}),
    ("DeleteVolumeGroupSnapshot", "group_snapshot_id", "(?!mebibyte|wide).*", {"OK"}),
    # Of a group that is not there, no snapshot is wrong.
    ("DeleteVolumeGroupSnapshot", "snapshot_ids", ".*", {"OK"}),
    ("GetMetadata.*", "(base_|target_)?snapshot_id", "(?!mebibyte|wide).*", {"NOT_FOUND"}),
    # Where no byte is, or not the first of a block.
    ("GetMetadata.*", "starting_offset", ".*", {"OUT_OF_RANGE", "OK"}),
    ("GetMetadata.*", "max_results", "most|almost most|not a multiple", {"OK"}),
    # Of what is not there is nothing to list.
    ("ListSnapshots", "source_volume_id|snapshot_id", ".*", {"OK"}),
    # The CSI spec's word for a token that is none.
    ("ListVolumes|ListSnapshots", "starting_token", ".*", {"ABORTED"}),
    ("ListVolumes|ListSnapshots", "max_entries", "most|almost most|not a multiple", {"OK"}),
    # Values that are valid, but not for this volume, have other codes.
    ("CreateVolume", ".*bytes|.*mode|.*block.*|.*volume_capabilities.mount|parameters",
     "most|almost most|not a multiple|enum SINGLE.*|empty|provisioning .*", {"ALREADY_EXISTS"}),
    ("CreateVolume|ControllerExpandVolume|NodeExpandVolume", ".*bytes",
     "most|almost most|not a multiple", {"OUT_OF_RANGE", "OK"}),
    ("NodeStage.*|NodePublish.*|Validate.*|GetCapacity", ".*mode|.*fs_type", ".*",
     {"FAILED_PRECONDITION", "ALREADY_EXISTS"}),
    ("NodeStage.*|NodePublish.*", ".*mount|.*block", "empty",
     {"ALREADY_EXISTS", "FAILED_PRECONDITION"}),
    (".*", ".*mode", "enum SINGLE.*", {"OK"}),
    # Every pool serves readers, and an expansion is none of the uses that exclude each other.
    ("(Controller|Node)ExpandVolume", ".*mode", "enum MULTI_NODE_READER_ONLY", {"OK"}),
    ("GetCapacity|Validate.*", ".*mode|.*fs_type", ".*", {"OK"}),
    (".*", ".*(mount|block|volume_capabilities)", "empty|many", {"OK"}),
    ("NodeExpandVolume|ControllerExpandVolume", "capacity_range|volume_capability", "empty",
     {"OK"}),
    # A topology of another node is not an error: there is no space for it here.
    ("CreateVolume", r"accessibility_requirements\.requisite.*", ".*", {"RESOURCE_EXHAUSTED", "OK"}),
    ("CreateVolume", r"accessibility_requirements(\.preferred.*)?", ".*", {"OK"}),
    ("GetCapacity", "accessible_topology.*", ".*", {"OK"}),
    # There is space, whether or not mkfs accepts its options: CreateVolume decides that.
    ("GetCapacity", "parameters", "mkfsOptions .*", {"OK"}),
    # The call asks whether the parameters fit.
    ("ValidateVolumeCapabilities", "parameters", ".*", {"OK"}),
    # A path where the volume is not; csi-sanity requires this for relative paths too.
    ("NodeGetVolumeStats", "volume_path", "own.*|deep|traversal|mebibyte|wide|format|shell|option|"
     "bidirectional|relative", {"NOT_FOUND"}),
    ("NodePublishVolume|NodeStageVolume", ".*path", "own.*|deep", {"FAILED_PRECONDITION"}),
    ("NodeUnpublishVolume|NodeUnstageVolume", ".*path", "own.*|deep", {"OK"}),
    ("NodeExpandVolume|NodeGetVolumeStats", ".*path", "own.*|deep", {"OK", "NOT_FOUND"}),
]


def allowed(method, attack):
    codes = {"INVALID_ARGUMENT"}
    for rpc, field, label, more in ALLOWED:
        if (re.fullmatch(rpc, method) and re.fullmatch(field, ".".join(attack.fields))
                and re.fullmatch(label, attack.label)):
            codes |= more
    return codes


@pytest.fixture
def driver(new_disk, new_driver):
    """On a disk that can share blocks, as snapshots need it."""
    new_disk(2 << 30, filesystem="xfs")
    return new_driver()


@pytest.fixture
def canary(directory):
    """Files that no call may touch."""
    path = directory / "canary"
    path.mkdir(mode=0o711)
    (path / "shadow").write_text("root:secret")
    (path / "shadow").chmod(0o640)
    return path


@pytest.fixture
def volume(driver, kubelet):
    volume = PersistentVolume(driver.create("pv", size=requests_of.SIZE).volume_id, "pv",
                              filesystem="ext4", flags=("noatime",))
    path = kubelet.mount(volume, "pod")
    (path / "data").write_text("precious")
    yield volume
    assert (path / "data").read_text() == "precious"
    kubelet.unmount(volume, "pod")


def answer(channel, method, request):
    """The code and the message or response of one call."""
    try:
        response = csi_client.invoker(channel, method)(request, timeout=ANSWER_SECONDS)
        return "OK", response
    except grpc.RpcError as error:
        return csi_client.code_of(error), error.details()


def undo(driver, method, response, volume, snapshot, group):
    """An allowed name creates a volume or snapshots, and only those are deleted again."""
    if (method == "CreateVolumeGroupSnapshot"
            and response.group_snapshot.group_snapshot_id != group):
        for member in response.group_snapshot.snapshots:
            driver.delete_snapshot(member.snapshot_id)
    if method == "CreateSnapshot" and response.snapshot.snapshot_id != snapshot:
        driver.delete_snapshot(response.snapshot.snapshot_id)
    if method == "CreateVolume" and response.volume.volume_id != volume.handle:
        driver.delete(response.volume.volume_id)


def complaint(method, attack, code, message):
    """The problem with an answer, or None."""
    if code not in allowed(method, attack):
        return f"is answered with {code}: {message!s:.300}"
    if code == "OK":
        return None
    if len(message.encode()) > MAX_MESSAGE:
        return f"is answered with {len(message)} characters"
    if any(ord(character) < 0x20 or ord(character) == 0x7f for character in message):
        return f"is answered with control characters: {message!r:.300}"
    # In the singular; of a map, the entry suffices.
    names = {re.sub("(y|ies|s)$", "", name) for name in (*attack.fields, attack.label.split()[0])}
    if code == "INVALID_ARGUMENT" and not any(name in message for name in names):
        return f"is refused without naming the field: {message}"
    return None


def honest_requests_succeed(channel, callers):
    for name, method in METHODS.items():
        code, said = answer(channel, method, callers.request(method))
        want = "UNIMPLEMENTED" if name in NOT_SERVED else "OK"
        want = "NOT_FOUND" if name in NOT_THERE else want
        assert code == want, f"an honest {name} is answered with {code}: {said}"


@pytest.mark.parametrize("name", METHODS)
def test_every_field(driver, kubelet, volume, canary, name):
    snapshot = driver.snapshot(volume.handle, requests_of.SNAPSHOT).snapshot_id
    callers = requests_of.Callers(driver, kubelet, volume, snapshot, "pod")
    method = METHODS[name]
    found = []
    with grpc.insecure_channel(driver.client.target,
                               options=csi_client.CHANNEL_OPTIONS) as channel:
        honest_requests_succeed(channel, callers)
        watched = surroundings.Surroundings(driver, kubelet.root, canary)
        before = watched.take()
        for attack in hostile_values.attacks(method.input_type, callers.texts(method)):
            request = callers.request(method)
            attack.apply(request)
            code, said = answer(channel, method, request)
            if name in NOT_SERVED:
                found += [] if code == "UNIMPLEMENTED" else [f"{attack} is answered with {code}"]
            elif problem := complaint(name, attack, code, said):
                found.append(f"{attack} {problem}")
            if code == "OK":
                undo(driver, name, said, volume, snapshot, callers.group)
            if name not in NOT_SERVED:  # one check at the end is enough for all of them
                found += [f"{attack}: {change}"
                          for change in surroundings.differences(before, watched.take())]
        honest_requests_succeed(channel, callers)
        assert not surroundings.differences(before, watched.take())
    (kubelet.pod_volume_directory(volume, "other-pod")).rmdir()
    assert not found, "\n".join(found)
    check_log(driver)


def check_log(driver):
    for line in driver.log().splitlines():
        assert len(line) <= MAX_LOG_LINE, f"a line of {len(line)} characters: {line[:200]}"
        assert isinstance(json.loads(line), dict)
