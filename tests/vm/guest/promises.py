"""The guarantees about each volume that follow from the ledger of earlier boots."""

import dataclasses

from driver import Volume


@dataclasses.dataclass
class Promise:
    """The guarantees for one volume, and its request that was started and never answered."""
    volume: Volume
    filesystem_uuid: str = ""
    files: dict = dataclasses.field(default_factory=dict)  # checksum by name
    pending: dict | None = None
    growing: bool = False  # larger since its filesystem was last known to fill it

    @staticmethod
    def from_facts(facts):
        return Promise(**{**facts, "volume": Volume(**facts["volume"])})

    @property
    def sizes(self):
        """The sizes that the volume may have; None for a volume that may not be there."""
        operation = self.pending["op"] if self.pending else ""
        allowed = {self.volume.size}
        if operation in ("create", "delete"):
            allowed.add(None)
        if operation == "expand":
            allowed.add(self.pending["size"])
        return allowed


@dataclasses.dataclass
class Snapshot:
    """The guarantees for one snapshot, which outlives its volume."""
    name: str
    volume: Volume  # as it was at the time
    files: dict
    id: str = ""  # unknown: its creation was never answered
    pending: str = ""  # the request that was started and never answered

    @staticmethod
    def from_facts(facts):
        return Snapshot(**{**facts, "volume": Volume(**facts["volume"])})


@dataclasses.dataclass
class Promises:
    baseline: list  # of the empty pool: its tree, its free space
    volumes: dict = dataclasses.field(default_factory=dict)  # by name
    gone: set = dataclasses.field(default_factory=set)  # ids whose deletion was acknowledged
    boot: int = 0
    snapshots: dict = dataclasses.field(default_factory=dict)  # by name

    def facts(self):
        """The content of the ledger's next `start`."""
        return {"baseline": self.baseline, "gone": sorted(self.gone), "boot": self.boot + 1,
                "volumes": [dataclasses.asdict(promise) for promise in self.volumes.values()],
                "snapshots": [dataclasses.asdict(one) for one in self.snapshots.values()]}

    def files_in(self, snapshot_id):
        """That a volume from the snapshot has; none without a snapshot."""
        return next((dict(one.files) for one in self.snapshots.values()
                     if snapshot_id and one.id == snapshot_id), {})


def replay(entries):
    """Processes the entries since the last start, which is the first of them."""
    start = entries[0]
    assert (start["event"], start["op"]) == ("ack", "start"), f"the ledger begins with {start}"
    promises = Promises(start["baseline"], gone=set(start["gone"]), boot=start["boot"])
    for facts in start["volumes"]:
        promise = Promise.from_facts(facts)
        promises.volumes[promise.volume.name] = promise
    for facts in start["snapshots"]:
        snapshot = Snapshot.from_facts(facts)
        promises.snapshots[snapshot.name] = snapshot
    for entry in entries[1:]:
        (take_begin if entry["event"] == "begin" else take_ack)(promises, entry)
    return promises


def take_begin(promises, entry):
    name, operation = entry["volume"], entry["op"]
    if operation == "create" and name not in promises.volumes:
        volume = Volume(**entry["wanted"])
        promises.volumes[name] = Promise(volume, files=promises.files_in(volume.source))
    if operation == "snapshot" and name not in promises.snapshots:
        origin = promises.volumes[entry["origin"]]
        promises.snapshots[name] = Snapshot(name, origin.volume, dict(origin.files))
    if operation in ("snapshot", "delete-snapshot"):
        promises.snapshots[name].pending = operation
    if operation in ("create", "delete", "expand"):
        promises.volumes[name].pending = entry
    if operation in ("expand", "expand-filesystem"):
        promises.volumes[name].growing = True
    if operation == "write":
        promises.volumes[name].files.pop(entry["file"], None)


def take_ack(promises, entry):
    name, operation = entry["volume"], entry["op"]
    if operation == "delete":
        promises.gone.add(promises.volumes.pop(name).volume.id)
        return
    if operation == "delete-snapshot":
        promises.snapshots.pop(name)
        return
    if operation == "snapshot":
        promises.snapshots[name].id, promises.snapshots[name].pending = entry["id"], ""
        return
    promise = promises.volumes.get(name)
    if operation == "create":
        promise.volume, promise.pending = Volume(**entry["created"]), None
    elif operation == "expand":
        promise.volume.size, promise.pending = entry["size"], None
    elif operation == "stage":
        promise.filesystem_uuid, promise.growing = entry["filesystem_uuid"], False
    elif operation == "expand-filesystem":
        promise.growing = False
    elif operation == "write":
        promise.files[entry["file"]] = entry["checksum"]
