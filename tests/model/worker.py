# SPDX-License-Identifier: Apache-2.0
"""A caller with its own volumes. It makes operations one after the other and compares each answer
with the model. If a kill interrupts a call, it repeats the call until it has an answer."""

import collections
import os
import time

import grpc

import csi_client
import hostile_calls
import operations
from connection import Connection
from volume_model import MIB, MULTI, round_up

# An operation without an answer for this long counts as failing permanently.
PATIENCE_SECONDS = 120
PAUSE_SECONDS = 0.02
UNCERTAIN = ("UNAVAILABLE", "CANCELLED", "DEADLINE_EXCEEDED")
# Only after an interrupted call: running work may continue for a moment, and a program of the
# killed driver holds its device until the kernel has ended it.
AFTER_A_CUT = ("ABORTED", "FAILED_PRECONDITION")
# Data written to an image while the driver compares images with the free space counts twice, which
# is the safe side. A refusal without another reason must end when the writing ends.
WRITING_SECONDS = 20
OPPOSITE = {"stage": "unstage", "publish": "unpublish"}
# A busy machine may take longer than a filesystem may stay frozen: ABORTED, and the next call tries
# again.
COPYING = ("snapshot", "restore")
BLOCK_SIZE = 4096


class Violation(AssertionError):
    """The driver did what the model does not allow."""


class Worker:
    def __init__(self, number, ground, volumes, counter):
        self.number, self.ground, self.volumes, self.counter = number, ground, volumes, counter
        self.connection = Connection(ground.driver.server.socket)
        self.answers = collections.Counter()  # by method and code

    def run(self, plan):
        """Makes the planned operations until the run is asked to end."""
        for operation in plan:
            if self.counter.ended:
                return
            self.perform(operation)
            self.counter.done()

    def perform(self, operation):
        try:
            if "shared" in operation:
                self.perform_shared(operation)
            else:
                getattr(self, operation["call"])(self.volumes[operation["volume"]], operation)
        except Violation as violation:
            raise Violation(f"worker {self.number}, {operation}: {violation}") from None

    # Asking.

    def ask(self, method, fields, twice=False):
        """(code, message, answer), the second one's of two calls that were made at once."""
        try:
            answer = (self.ask_twice if twice else self.ask_once)(method, fields)
            code, message = "OK", ""
        except grpc.RpcError as error:
            code, message, answer = csi_client.code_of(error), error.details(), None
        self.answers[f"{method} {code}"] += 1
        return code, message, answer

    def ask_once(self, method, fields):
        return self.connection.call(method, **fields)

    def ask_twice(self, method, fields):
        self.connection.call("Probe")  # connects
        descriptor = csi_client.METHODS[method]
        invoke = self.connection.invokers[descriptor.full_name] = csi_client.invoker(
            self.connection.channel, descriptor)
        first = invoke.future(csi_client.request(descriptor, fields),
                              timeout=csi_client.CALL_SECONDS)
        try:
            return self.connection.call(method, **fields)
        finally:
            first.exception()  # waits: no call may be under way when the next operation begins

    def settle(self, method, fields, allowed, uncertain=False):
        """Asks until the answer is definite; it must be an allowed one."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            code, message, answer = self.ask(method, fields)
            if code not in allowed and (code in UNCERTAIN or (code in AFTER_A_CUT and uncertain)):
                uncertain = True
                if code in UNCERTAIN:
                    self.connection.close()
                if time.monotonic() > deadline:
                    raise Violation(f"{method}: no answer for {PATIENCE_SECONDS} s but {code}: "
                                    f"{message}")
                time.sleep(PAUSE_SECONDS)
                continue
            if code not in allowed:
                raise Violation(f"{method} {fields}: {code}: {message}; want {sorted(allowed)}")
            return code, answer

    def change(self, operation, method, fields, allowed):
        """A call that changes something, in the operation's style; None if it was given up."""
        twice = operation.get("twice", False)
        copying = operation["call"] in COPYING
        if not twice and not operation.get("give_up"):
            return self.settle(method, fields, allowed, uncertain=copying)
        code, message, answer = self.ask(method, fields, twice)
        if code in UNCERTAIN:
            self.connection.close()
            if operation.get("give_up") and operation["call"] in OPPOSITE and allowed == {"OK"}:
                return None, None
        elif code in allowed and not twice:
            return code, answer
        elif code not in allowed and not ((twice or copying) and code == "ABORTED"):
            raise Violation(f"{method} {fields}: {code}: {message}; want {sorted(allowed)}")
        return self.settle(method, fields, allowed, uncertain=True)

    def draw_on_space(self, operation, method, fields, allowed, refusal, add, exact=True):
        """A change that needs `add` more bytes, or may be refused for lack of space."""
        deadline = time.monotonic() + WRITING_SECONDS
        while True:
            with self.ground.space.claim(add=add, exact=exact) as claim:
                code, answer = self.change(operation, method, fields, allowed)
                refused = add > 0 and code == refusal
                self.ground.space.settle(claim, not refused)
                if not refused and add > 0 and not claim.may_be_granted():
                    raise Violation(f"{method}: {add} bytes granted, though {claim.least} of "
                                    f"{self.ground.space.room} were promised")
                if not refused or claim.may_be_refused():
                    return code, answer
            if time.monotonic() > deadline:
                raise Violation(f"{method}: {add} bytes refused, though at most {claim.most} of "
                                f"{self.ground.space.room} were promised")
            time.sleep(PAUSE_SECONDS)

    # The controller's calls.

    def create(self, volume, operation):
        allowed = volume.create(operations.spec_of(operation), operation["size"],
                                operation["limit"])
        self.make(volume, operation, creation(volume.name, operation), allowed)

    def restore(self, volume, operation):
        """A volume from a snapshot or another volume, perhaps larger."""
        origin = self.volumes[operation["origin"]]
        source = origin if operation["slot"] is None else self.slot(origin, operation)
        made = {"kind": source.spec.kind if source.exists else "ext4", "limit": 0,
                "provisioning": operation["provisioning"],
                "size": (source.capacity or 32 * MIB) + operation["more"]}
        handle = source.handle or hostile_calls.no_snapshot(origin.name)
        if operation["slot"] is None:
            handle = self.handle_of(origin)["volume_id"]
        allowed = volume.create(operations.spec_of(made), made["size"], 0, handle)
        if operation["slot"] is None and origin.half_formatted and not volume.exists:
            allowed = {"FAILED_PRECONDITION"}
        if not source.exists:  # it need not be there for a call that was answered before
            allowed = (allowed - {"RESOURCE_EXHAUSTED"} if volume.exists else set()) | {"NOT_FOUND"}
        fields = creation(volume.name, made) | {
            "volume_content_source": csi_client.content_source(handle)}
        content = source.content
        fresh = not volume.exists
        self.make(volume, operation | made, fields, allowed, handle)
        if fresh and volume.exists:
            volume.content = content

    def make(self, volume, operation, fields, allowed, source=""):
        size = operation["size"]
        add = round_up(size) if "RESOURCE_EXHAUSTED" in allowed else 0
        code, answer = self.draw_on_space(operation, "CreateVolume", fields, allowed,
                                          "RESOURCE_EXHAUSTED", add)
        if code != "OK":
            return
        made = answer.volume
        want = volume.capacity or round_up(size)
        if made.capacity_bytes != want or (volume.exists and made.volume_id != volume.handle):
            raise Violation(f"{made} instead of {want} bytes, {volume.handle}")
        if made.content_source.WhichOneof("type") and not source:
            raise Violation(f"{made} has a source")
        if not volume.exists:
            volume.created(made.volume_id, operations.spec_of(operation), made.capacity_bytes,
                           source)

    def delete(self, volume, operation):
        fields = {"volume_id": volume.handle or hostile_calls.no_volume(volume.name)}
        allowed = volume.delete()
        gone = volume.capacity if "OK" in allowed else 0
        with self.ground.space.claim(remove=gone) as claim:
            code, _ = self.change(operation, "DeleteVolume", fields, allowed)
            self.ground.space.settle(claim, granted=code == "OK")
        if code == "OK":
            volume.forget()

    @staticmethod
    def slot(volume, operation):
        return volume.snapshots[operation["slot"]]

    def snapshot(self, volume, operation):
        snapshot = self.slot(volume, operation)
        allowed = snapshot.create(volume)
        add = volume.capacity if "RESOURCE_EXHAUSTED" in allowed else 0
        handle = self.handle_of(volume)["volume_id"]
        code, answer = self.draw_on_space(
            operation, "CreateSnapshot", {"source_volume_id": handle, "name": snapshot.name},
            allowed, "RESOURCE_EXHAUSTED", add, exact=False)
        if code != "OK":
            return
        made = answer.snapshot
        want = snapshot.capacity or volume.capacity
        if (made.source_volume_id, made.size_bytes, made.ready_to_use) != (handle, want, True) or (
                snapshot.exists and made.snapshot_id != snapshot.handle):
            raise Violation(f"{made} instead of {want} bytes of {handle}")
        if not snapshot.exists:
            snapshot.created(made.snapshot_id, volume)

    def unsnapshot(self, volume, operation):
        snapshot = self.slot(volume, operation)
        handle = snapshot.handle or hostile_calls.no_snapshot(snapshot.name)
        with self.ground.space.claim(remove=snapshot.capacity, exact=False) as claim:
            self.change(operation, "DeleteSnapshot", {"snapshot_id": handle}, {"OK"})
            self.ground.space.settle(claim, granted=True)
        snapshot.forget()

    def find_snapshot(self, volume, operation):
        snapshot = self.slot(volume, operation)
        handle = snapshot.handle or hostile_calls.no_snapshot(snapshot.name)
        code, answer = self.settle("GetSnapshot", {"snapshot_id": handle},
                                   {"OK"} if snapshot.exists else {"NOT_FOUND"})
        if code == "OK" and answer.snapshot.size_bytes != snapshot.capacity:
            raise Violation(f"{answer}, want {snapshot.capacity}")

    def expand(self, volume, operation):
        size, limit = operation["size"], operation["limit"]
        allowed = volume.expand(size, limit)
        add = round_up(size) - volume.capacity if "OK" in allowed else 0
        code, answer = self.draw_on_space(
            operation, "ControllerExpandVolume",
            {"volume_id": volume.handle or hostile_calls.no_volume(volume.name),
             "capacity_range": csi_client.at_least(size, limit)}, allowed, "OUT_OF_RANGE",
            max(add, 0))
        if code != "OK":
            return
        volume.capacity = max(volume.capacity, round_up(size))
        formatted = not volume.block and volume.filesystem_uuid != ""
        if (answer.capacity_bytes, answer.node_expansion_required) != (volume.capacity, formatted):
            raise Violation(f"{answer}, want {volume.capacity}, {formatted}")

    def get(self, volume, _):
        code, answer = self.settle("ControllerGetVolume", self.handle_of(volume), volume.get())
        if code == "OK":
            self.compare(volume, answer.volume.capacity_bytes, answer.status.volume_condition)

    def list(self, volume, _):
        _, answer = self.settle("ListVolumes", {}, {"OK"})
        entries = {entry.volume.volume_id: entry for entry in answer.entries}
        if (volume.handle in entries) != volume.exists:
            raise Violation(f"{volume.handle} is {'' if volume.exists else 'not '}there, the list "
                            "says otherwise")
        if volume.exists:
            entry = entries[volume.handle]
            self.compare(volume, entry.volume.capacity_bytes, entry.status.volume_condition)

    def validate(self, volume, _):
        fields = self.handle_of(volume) | {"volume_capabilities": [csi_client.capability(
            volume.spec.access if volume.spec else "mount")]}
        code, answer = self.settle("ValidateVolumeCapabilities", fields, volume.get())
        if code == "OK" and not answer.HasField("confirmed"):
            raise Violation(f"not confirmed: {answer.message}")

    def capacity(self, *_):
        self.settle("GetCapacity", {"parameters": {"provisioning": "thin"}}, {"OK"})

    # The node's calls.

    def stage(self, volume, operation):
        path, mode = operation["path"], operation["mode"]
        allowed = volume.stage(path, operation["access"], mode)
        place = self.ground.staging_path(volume.name, path)
        fields = self.handle_of(volume) | {
            "staging_target_path": str(place),
            "volume_capability": csi_client.capability(operation["access"], mode=mode)}
        fresh = volume.staged_at is None
        code, _ = self.change(operation | {"give_up": operation.get("give_up") and fresh},
                              "NodeStageVolume", fields, allowed)
        if code is None:
            self.settle("NodeUnstageVolume", self.handle_of(volume) |
                        {"staging_target_path": str(place)}, {"OK"}, uncertain=True)
        elif code == "OK":
            volume.staged(path, mode)
        if code in (None, "OK"):
            self.compare_filesystem(volume, surely_formatted=code == "OK")

    def unstage(self, volume, operation):
        path = operation["path"]
        fields = self.handle_of(volume) | {
            "staging_target_path": str(self.ground.staging_path(volume.name, path))}
        code, _ = self.change(operation, "NodeUnstageVolume", fields, volume.unstage(path))
        volume.unstaged(path, code)

    def publish(self, volume, operation):
        path, target = operation["path"], operation["target"]
        read_only, access = operation["read_only"], operation["access"]
        allowed = volume.publish(path, target, access, read_only)
        place = self.ground.target_path(volume.name, target)
        fields = self.handle_of(volume) | {
            "staging_target_path": str(self.ground.staging_path(volume.name, path)),
            "target_path": str(place), "readonly": read_only,
            "volume_capability": csi_client.capability(access, mode=MULTI)}
        fresh = target not in volume.published
        code, _ = self.change(operation | {"give_up": operation.get("give_up") and fresh},
                              "NodePublishVolume", fields, allowed)
        if code is None:
            self.settle("NodeUnpublishVolume",
                        self.handle_of(volume) | {"target_path": str(place)}, {"OK"},
                        uncertain=True)
        elif code == "OK":
            volume.published[target] = read_only
            self.check(volume, operation)

    def unpublish(self, volume, operation):
        target = operation["target"]
        place = self.ground.target_path(volume.name, target)
        self.change(operation, "NodeUnpublishVolume",
                    self.handle_of(volume) | {"target_path": str(place)}, {"OK"})
        volume.published.pop(target, None)
        if os.path.lexists(place):
            raise Violation(f"{place} is still there")

    def node_expand(self, volume, operation):
        size = operation["size"]
        allowed = volume.node_expand(size)
        seen = volume.exists and (volume.published or volume.mounted)
        add = max(round_up(size) - volume.capacity, 0) if seen else 0
        fields = self.handle_of(volume) | {
            "volume_path": str(self.place_of(volume)),
            "capacity_range": csi_client.at_least(size)}
        code, _ = self.draw_on_space(operation, "NodeExpandVolume", fields, allowed,
                                     "OUT_OF_RANGE", add)
        if seen and code != "OUT_OF_RANGE":
            volume.capacity += add
            if code == "OK":
                volume.filesystem_size = volume.capacity

    def place_of(self, volume):
        """A path at which the volume is visible, if there is one."""
        if volume.published or not volume.mounted:
            return self.ground.target_path(volume.name, min(volume.published, default=0))
        return self.ground.staging_path(volume.name, volume.staged_at)

    def stats(self, volume, operation):
        target = operation["target"]
        fields = self.handle_of(volume) | {
            "volume_path": str(self.ground.target_path(volume.name, target))}
        code, answer = self.settle("NodeGetVolumeStats", fields, volume.stats(target))
        if code == "OK" and (not answer.usage or answer.volume_condition.abnormal):
            raise Violation(f"{answer}")

    def hostile(self, volume, operation):
        method, fields, code = hostile_calls.calls(volume)[operation["kind"]]
        self.settle(method, fields, {code})

    # The pods' actions.

    def write(self, volume, operation):
        target = volume.writable()
        if target is None:
            return
        content = os.urandom(BLOCK_SIZE)
        self.with_file(volume, target, os.O_WRONLY | (0 if volume.block else os.O_CREAT),
                       lambda file: (os.pwrite(file, content, 0), os.fsync(file)))
        volume.content = content
        self.check(volume, operation)

    def check(self, volume, _):
        """The data written last is there, through every publication."""
        if not volume.content:
            return
        for target in volume.published:
            found = self.with_file(volume, target, os.O_RDONLY,
                                   lambda file: os.pread(file, BLOCK_SIZE, 0))
            if found != volume.content:
                raise Violation(f"other data is at target {target} of {volume}")

    def with_file(self, volume, target, flags, act):
        place = self.ground.target_path(volume.name, target)
        file = os.open(place if volume.block else place / "data", flags, 0o600)
        try:
            return act(file)
        except OSError as error:
            raise Violation(f"{place}: {error}") from None
        finally:
            os.close(file)

    # Comparing.

    def handle_of(self, volume):
        return {"volume_id": volume.handle or hostile_calls.no_volume(volume.name)}

    def compare(self, volume, capacity, condition):
        if capacity != volume.capacity or condition.abnormal:
            raise Violation(f"{capacity} bytes, {condition}; want {volume.capacity}, sound")

    def compare_filesystem(self, volume, surely_formatted):
        """Once a filesystem is there it stays the same one."""
        record = self.ground.driver.record(volume.handle)
        uuid = record["filesystem_uuid"] if record["state"] == "formatted" else ""
        if volume.filesystem_uuid:
            if uuid != volume.filesystem_uuid:
                raise Violation(f"formatted again: {record}, was {volume.filesystem_uuid}")
        elif surely_formatted and not volume.block and not uuid:
            raise Violation(f"staged and not formatted: {record}")
        others = [other.filesystem_uuid for other in self.volumes if other is not volume]
        if uuid and uuid in others:
            raise Violation(f"a copy has the UUID of another volume: {record}")
        volume.filesystem_uuid = uuid
        volume.half_formatted = not volume.block and record["state"] == "formatting"

    # Volumes that all workers use at once: any proper code of a call is accepted here, and the
    # remaining state is checked when all workers are idle.

    def perform_shared(self, operation):
        name = shared_name(operation["shared"])
        method, fields, codes = shared_call(self.ground, name, operation)
        code, answer = self.settle(method, fields, codes | {"OK", "ABORTED"})
        if method == "CreateVolume" and code == "OK":
            self.ground.shared_handles[name] = answer.volume.volume_id


def shared_name(number):
    return f"shared-{number}"


def creation(name, operation):
    kind = operation["kind"]
    block = kind == "block"
    return {"name": name,
            "capacity_range": csi_client.at_least(operation["size"], operation["limit"]),
            "volume_capabilities": [csi_client.capability("block" if block else "mount",
                                                          "" if block else kind)],
            "parameters": {"provisioning": operation["provisioning"]}}


def shared_call(ground, name, operation):
    call = operation["call"]
    known = {"volume_id": ground.shared_handles.get(name, hostile_calls.no_volume(name))}
    if call == "create":
        return ("CreateVolume", creation(name, operation), {"ALREADY_EXISTS", "RESOURCE_EXHAUSTED"})
    if call == "delete":
        return "DeleteVolume", known, {"FAILED_PRECONDITION"}
    if call == "get":
        return "ControllerGetVolume", known, {"NOT_FOUND"}
    if call in ("expand", "node_expand"):
        fields = known | {"capacity_range": csi_client.at_least(operation["size"])}
        if call == "expand":
            return "ControllerExpandVolume", fields, {"NOT_FOUND", "OUT_OF_RANGE"}
        return ("NodeExpandVolume", fields | {"volume_path": "/nowhere"},
                {"NOT_FOUND", "OUT_OF_RANGE", "FAILED_PRECONDITION"})
    if call == "unpublish":
        target = ground.target_path(name, operation["target"])
        return "NodeUnpublishVolume", known | {"target_path": str(target)}, {"FAILED_PRECONDITION"}
    if call == "stats":
        target = ground.target_path(name, operation["target"])
        return "NodeGetVolumeStats", known | {"volume_path": str(target)}, {"NOT_FOUND"}
    stage = known | {"staging_target_path": str(ground.staging_path(name, operation["path"]))}
    if call == "unstage":
        return "NodeUnstageVolume", stage, {"FAILED_PRECONDITION"}
    stage |= {"volume_capability": csi_client.capability(operation["access"], mode=MULTI)}
    codes = {"NOT_FOUND", "FAILED_PRECONDITION", "ALREADY_EXISTS"}
    if call == "stage":
        return "NodeStageVolume", stage, codes
    target = ground.target_path(name, operation["target"])
    return "NodePublishVolume", stage | {"target_path": str(target), "readonly": False}, codes
