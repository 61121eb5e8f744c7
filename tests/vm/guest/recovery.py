"""After a power cut: everything that was acknowledged is there, works, and can be deleted."""

import dataclasses

import durable_file
import ledger
import leftovers
from driver import MIB, POOL, Driver, Volume

GROWTH = 64 * MIB


@dataclasses.dataclass
class Expected:
    """What the acknowledgements promise about one volume."""
    volume: Volume
    filesystem_uuid: str = ""
    files: dict = dataclasses.field(default_factory=dict)


def promises(told):
    """Replays the ledger's acknowledgements; returns the expected volumes by name."""
    volumes = {}
    for entry in told.acknowledged:
        name, operation = entry["volume"], entry["op"]
        if operation == "create":
            volumes[name] = Expected(Volume(**entry["created"]))
        elif operation == "delete":
            del volumes[name]
        elif operation == "stage":
            volumes[name].filesystem_uuid = entry["filesystem_uuid"]
        elif operation == "write":
            volumes[name].files[entry["file"]] = entry["checksum"]
        elif operation == "expand":
            volumes[name].volume.size = entry["size"]
    return volumes


def deleted_ids(told):
    created = {entry["volume"]: entry["created"]["id"] for entry in told.acknowledged
               if entry["op"] == "create"}
    return {created[entry["volume"]] for entry in told.acknowledged if entry["op"] == "delete"}


def check(run_dir):
    """The phase `check` of every power-cut scenario; leaves an empty pool."""
    told = ledger.read(run_dir)
    assert told.acknowledged, "nothing was acknowledged before the power cut"
    baseline = leftovers.Baseline(POOL, *told.acknowledged.pop(0)["baseline"])
    expected = promises(told)
    driver = Driver(run_dir)
    check_listing(driver, told, expected)
    repeat_interrupted(driver, told.interrupted, expected)
    for volume in expected.values():
        check_volume(driver, volume)
        driver.delete(volume.volume.id)
        driver.delete(volume.volume.id)
    assert not driver.list(), f"volumes left after deleting all: {driver.list()}"
    baseline.assert_restored()
    driver.stop()


def check_listing(driver, told, expected):
    """Only the interrupted operation may have left more or less than was acknowledged."""
    listed = driver.list()
    operation = told.interrupted["op"] if told.interrupted else ""
    unsure = told.interrupted["volume"] if told.interrupted else ""
    for name, promise in expected.items():
        found, promised = listed.pop(promise.volume.id, None), promise.volume.size
        allowed = {promised}
        if name == unsure and operation == "delete":
            allowed.add(None)
        if name == unsure and operation == "expand":
            allowed.add(told.interrupted["size"])
        assert found in allowed, f"volume {name} is listed with {found}, promised: {promised}"
    back = deleted_ids(told) & listed.keys()
    assert not back, f"deleted volumes are back: {back}"
    unknown_limit = 1 if operation == "create" else 0
    assert len(listed) <= unknown_limit, f"volumes nobody knows are listed: {listed}"


def repeat_interrupted(driver, interrupted, expected):
    """Sends the interrupted request again as its caller would. Staging is repeated for all."""
    name = interrupted["volume"] if interrupted else ""
    match interrupted:
        case {"op": "create", "wanted": wanted}:
            before = driver.list()
            expected[name] = Expected(Volume(**wanted))
            driver.create(expected[name].volume)
            identifier = expected[name].volume.id
            added = driver.list().keys() - before.keys()
            assert added <= {identifier}, f"repeating create of {name} added {added}"
            known = {promise.volume.id for promise in expected.values()}
            assert driver.list().keys() == known, f"listed {driver.list()}, known {known}"
        case {"op": "delete"}:
            driver.delete(expected.pop(name).volume.id)
        case {"op": "expand", "size": size}:
            expected[name].volume.size = driver.expand(expected[name].volume, size)


def check_volume(driver, promise):
    """Identity and data of one volume, through staging, growth and unstaging."""
    volume = promise.volume
    driver.unpublish(volume)  # kubelet cleans up what it knew before the reboot
    driver.unstage(volume)
    driver.stage(volume)
    if promise.filesystem_uuid:
        found = leftovers.filesystem_uuid(volume.staging_path)
        assert found == promise.filesystem_uuid, f"{volume.name} has another filesystem: {found}"
    check_files(promise)
    before = leftovers.filesystem_size(volume.staging_path)
    size = driver.expand(volume, volume.size + GROWTH)
    driver.expand_filesystem(volume, size)
    grown = leftovers.filesystem_size(volume.staging_path) - before
    assert grown > 0.8 * GROWTH, f"{volume.name} grew by {grown} instead of {GROWTH}"
    check_files(promise)
    driver.unstage(volume)
    volume.staging_path.rmdir()  # as kubelet does: nothing may be left in it


def check_files(promise):
    for name, checksum in promise.files.items():
        found = durable_file.checksum(promise.volume.staging_path / name)
        assert found == checksum, f"{name} on {promise.volume.name} differs"
