# SPDX-License-Identifier: Apache-2.0
"""The state of one volume and the answer that each call must get; knows nothing about the driver.

Every call is answered in every state, so any part of a recorded run is a valid run. This makes
shrinking possible.
"""

import dataclasses

MIB = 1 << 20
GRANULARITY = 4096
MULTI, SINGLE = "SINGLE_NODE_MULTI_WRITER", "SINGLE_NODE_WRITER"
GROWS_ONLINE = {"xfs", "btrfs", "block"}
CAP_SYS_RESOURCE = 24  # capability.h


def can_grow_ext_online():
    with open("/proc/self/status", encoding="ascii") as status:
        held = next(line for line in status if line.startswith("CapEff"))
    return bool(int(held.split()[1], 16) >> CAP_SYS_RESOURCE & 1)


EXT_GROWS_ONLINE = can_grow_ext_online()


def round_up(size):
    return -(-size // GRANULARITY) * GRANULARITY


@dataclasses.dataclass(frozen=True)
class Spec:
    """The permanent properties of a volume; `kind` is its filesystem, or "block"."""
    kind: str
    provisioning: str

    @property
    def access(self):
        return "block" if self.kind == "block" else "mount"


@dataclasses.dataclass
class Volume:
    name: str
    handle: str = ""  # the id, also of the last volume of that name
    spec: Spec = None
    capacity: int = 0  # 0: the volume does not exist
    filesystem_size: int = 0  # capacity when the filesystem last filled it; None: not known
    filesystem_uuid: str = ""
    half_formatted: bool = False  # by a call that was interrupted and given up
    staged_at: int = None  # number of the staging path
    staged_mode: str = ""
    mounted: bool = False  # at the staging path
    published: dict = dataclasses.field(default_factory=dict)  # target number -> read-only
    content: bytes = b""  # the data written last
    source: str = ""  # the id of the snapshot or volume that it was made from
    snapshots: list = dataclasses.field(default_factory=list)  # that outlive it

    @property
    def exists(self):
        return self.capacity > 0

    @property
    def block(self):
        return self.spec.access == "block"

    def forget(self):
        """The volume is deleted; its name and id may be used again."""
        fresh = Volume(self.name, self.handle, snapshots=self.snapshots)
        self.__dict__.update(fresh.__dict__)

    # Each function returns the permitted codes. `done` has the effects of a granted call.

    def create(self, spec, size, limit, source=""):
        if limit and limit < size:
            return {"OUT_OF_RANGE"}
        if not self.exists:
            if limit and round_up(size) > limit:
                return {"OUT_OF_RANGE"}
            return {"OK", "RESOURCE_EXHAUSTED"}
        same = (spec == self.spec and source == self.source and size <= self.capacity
                and (not limit or self.capacity <= limit))
        return {"OK"} if same else {"ALREADY_EXISTS"}

    def delete(self):
        return {"FAILED_PRECONDITION"} if self.staged_at is not None else {"OK"}

    def expand(self, size, limit):
        if limit and limit < size:
            return {"OUT_OF_RANGE"}
        if not self.exists:
            return {"NOT_FOUND"}
        if limit and self.capacity > limit:
            return {"OUT_OF_RANGE"}
        if size <= self.capacity:
            return {"OK"}
        if limit and round_up(size) > limit:
            return {"OUT_OF_RANGE"}
        return {"OK", "OUT_OF_RANGE"}

    def stage(self, path, access, mode):
        if not self.exists:
            return {"NOT_FOUND"}
        if access != self.spec.access:
            return {"FAILED_PRECONDITION"}
        if self.staged_at is None:
            return {"OK"}
        if self.staged_at != path:
            return {"FAILED_PRECONDITION"}
        return {"OK"} if mode == self.staged_mode else {"ALREADY_EXISTS"}

    def unstage(self, path):
        busy = self.staged_at == path and self.published
        return {"FAILED_PRECONDITION"} if busy else {"OK"}

    def publish(self, path, target, access, read_only):
        if not self.exists:
            return {"NOT_FOUND"}
        if access != self.spec.access or self.staged_at is None:
            return {"FAILED_PRECONDITION"}
        if not self.block and not (self.mounted and self.staged_at == path):
            return {"FAILED_PRECONDITION"}
        if target in self.published:
            return {"OK"} if self.published[target] == read_only else {"ALREADY_EXISTS"}
        # A raw device is read-only as a whole or not at all.
        if self.block and self.published and read_only not in self.published.values():
            return {"FAILED_PRECONDITION"}
        return {"OK"}

    def node_expand(self, size):
        if not self.exists:
            return {"NOT_FOUND"}
        if self.staged_at is None:
            return {"FAILED_PRECONDITION"}
        if not self.published and not self.mounted:
            return {"NOT_FOUND"}  # it is not visible anywhere
        space = {"OUT_OF_RANGE"} if size > self.capacity else set()
        if self.block:
            return {"OK"} | space
        # A filesystem grows through a mount that is writable.
        if not self.mounted and not any(not ro for ro in self.published.values()):
            return {"FAILED_PRECONDITION"} | space
        if self.spec.kind in GROWS_ONLINE or EXT_GROWS_ONLINE:
            return {"OK"} | space
        full = self.filesystem_size == max(self.capacity, round_up(size))
        known = self.filesystem_size is not None
        return space | ({"OK"} if full else {"FAILED_PRECONDITION"} if known
                        else {"OK", "FAILED_PRECONDITION"})

    def stats(self, target):
        return {"OK"} if self.exists and target in self.published else {"NOT_FOUND"}

    def get(self):
        return {"OK"} if self.exists else {"NOT_FOUND"}

    # The effects of calls.

    def created(self, handle, spec, capacity, source=""):
        self.handle, self.spec, self.capacity, self.source = handle, spec, capacity, source

    def staged(self, path, mode):
        self.staged_at, self.staged_mode = path, mode
        if not self.block:
            if not self.mounted:
                # ext grows before the mount, which it cannot while a pod still has it mounted.
                self.filesystem_size = None if self.published else self.capacity
            self.mounted = True

    def unstaged(self, path, code):
        if self.staged_at == path and code == "OK":
            self.mounted = False
            self.staged_at, self.staged_mode = None, ""

    def writable(self):
        """The number of a target through which the volume can be written, or None."""
        return next((target for target, ro in sorted(self.published.items()) if not ro), None)


@dataclasses.dataclass
class Snapshot:
    """Of one volume, also of a later volume with that name and so that id."""
    name: str
    handle: str = ""
    spec: Spec = None
    capacity: int = 0  # 0: it does not exist
    content: bytes = b""

    @property
    def exists(self):
        return self.capacity > 0

    def create(self, volume):
        if self.exists:
            return {"OK"}
        if volume.half_formatted:
            return {"FAILED_PRECONDITION"}  # there is nothing to copy yet
        return {"OK", "RESOURCE_EXHAUSTED"} if volume.exists else {"NOT_FOUND"}

    def created(self, handle, volume):
        self.handle, self.spec = handle, volume.spec
        self.capacity, self.content = volume.capacity, volume.content

    def forget(self):
        self.capacity, self.content = 0, b""
