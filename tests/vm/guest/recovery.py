"""After a power cut: everything that was acknowledged is there, works, and can be deleted."""

import grpc

import kernel_log
import ledger
import leftovers
import promises
import workload
from driver import MIB, POOL, Driver, Volume

GROWTH = 64 * MIB


def check(run_dir):
    """The phase `check` of every power-cut scenario; leaves an empty pool.

    The power may also be cut here: the ledger records each of its steps.
    """
    driver, promised = recover(run_dir, ledger.read(run_dir))
    end_lives(driver, promised)
    restore_snapshots(driver, promised)
    leftovers.Baseline(POOL, *promised.baseline).assert_restored()
    driver.stop()


def end_lives(driver, promised):
    for promise in list(promised.volumes.values()):
        assert_kept(driver, promised, promise)
        if promise.volume.name in promised.volumes:
            assert_can_grow(driver, promise)
            driver.unpublish(promise.volume)
            workload.unstage(driver, promise.volume)
            promise.volume.staging_path.rmdir()  # as kubelet does: nothing may be left in it
            workload.delete(driver, promise.volume)
            driver.delete(promise.volume.id)
    assert not driver.list(), f"volumes left after deleting all: {driver.list()}"


def restore_snapshots(driver, promised):
    """Each has the files that its volume had, which is gone by now."""
    for number, snapshot in enumerate(list(promised.snapshots.values())):
        copy = Volume(f"restored-in-the-end-{number}", snapshot.volume.size, fs=snapshot.volume.fs,
                      source=snapshot.id)
        workload.create(driver, copy)
        workload.stage(driver, copy)
        for name, checksum in snapshot.files.items():
            found = workload.checksum(copy, name)
            assert found == checksum, f"{name} in snapshot {snapshot.name} differs"
        workload.unstage(driver, copy)
        workload.delete(driver, copy)
        workload.delete_snapshot(driver, snapshot.name, snapshot.id)
    assert not driver.snapshots()


def recover(run_dir, told):
    """Starts the driver; returns it and the current guarantees."""
    assert told.entries, "nothing was acknowledged before the power cut"
    ledger.begin("recover", "")
    driver = Driver(run_dir)
    promised = settle(driver, told)
    ledger.ack("recover", "")
    return driver, promised


def settle(driver, told):
    """Repeats unanswered calls, as their callers would.

    Returns the current guarantees, with nothing pending any more.
    """
    promised = promises.replay(told.entries)
    assert_listed(driver, promised)
    for promise in list(promised.volumes.values()):
        if promise.pending:
            repeat(driver, promised, promise)
    settle_snapshots(driver, promised)
    known = {promise.volume.id for promise in promised.volumes.values()}
    assert driver.list().keys() == known, f"listed {driver.list()}, known {known}"
    return promised


def settle_snapshots(driver, promised):
    listed = driver.snapshots()
    for snapshot in list(promised.snapshots.values()):
        assert snapshot.id in listed or snapshot.pending, f"{snapshot} is lost: {listed}"
        if snapshot.pending == "snapshot":
            snapshot.id = workload.snapshot(driver, snapshot.volume, snapshot.name)
            snapshot.pending = ""
        elif snapshot.pending:
            workload.delete_snapshot(driver, snapshot.name, snapshot.id)
            del promised.snapshots[snapshot.name]
    known = {snapshot.id for snapshot in promised.snapshots.values()}
    assert driver.snapshots() == known, f"listed {driver.snapshots()}, known {known}"


def assert_listed(driver, promised):
    """Only a request without an answer may have had more or less effect than was acknowledged."""
    listed = driver.list()
    back = promised.gone & listed.keys()
    assert not back, f"deleted volumes are back: {back}"
    unknown_limit = 0
    for name, promise in promised.volumes.items():
        if not promise.volume.id:  # its creation was never answered
            unknown_limit += 1
            continue
        found = listed.pop(promise.volume.id, None)
        assert found in promise.sizes, (
            f"volume {name} is listed with {found}, promised: {promise.sizes}")
    assert len(listed) <= unknown_limit, f"volumes nobody knows are listed: {listed}"


def repeat(driver, promised, promise):
    name = promise.volume.name
    match promise.pending:
        case {"op": "create"}:
            workload.create(driver, promise.volume)
        case {"op": "delete"}:
            workload.delete(driver, promise.volume)
            promised.gone.add(promised.volumes.pop(name).volume.id)
        case {"op": "expand", "size": size}:
            workload.expand(driver, promise.volume, size)
    promise.pending = None


def assert_kept(driver, promised, promise):
    """Stages the volume, which must have its filesystem and its files. It stays staged."""
    volume = promise.volume
    driver.unpublish(volume)  # kubelet cleans up what it knew before the reboot
    driver.unstage(volume)
    try:
        uuid = workload.stage(driver, volume)
    except grpc.RpcError as error:
        if not is_kernel_fault(promise, error):
            raise
        give_up(driver, promised, promise)
        return
    assert promise.filesystem_uuid in ("", uuid), f"{volume.name} has another filesystem: {uuid}"
    promise.filesystem_uuid, promise.growing = uuid, False
    if not volume.fs:
        workload.publish(driver, volume)
    assert_files(promise)


def is_kernel_fault(promise, error):
    """The kernel cannot replay xfs's log after a cut growth (docs/adr/0009)."""
    return (promise.volume.fs == "xfs" and promise.growing
            and error.code() == grpc.StatusCode.INTERNAL and "damaged" in error.details())


def give_up(driver, promised, promise):
    kernel_log.excuse(r"XFS \((loop|rbd)")
    ledger.begin("kernel-fault", promise.volume.name)
    workload.delete(driver, promise.volume)
    promised.gone.add(promised.volumes.pop(promise.volume.name).volume.id)


def assert_files(promise):
    for name, checksum in promise.files.items():
        found = workload.checksum(promise.volume, name)
        assert found == checksum, f"{name} on {promise.volume.name} differs"


def assert_can_grow(driver, promise):
    volume = promise.volume
    before = workload.capacity(volume)
    workload.expand(driver, volume, volume.size + GROWTH)
    workload.expand_filesystem(driver, volume)
    grown = workload.capacity(volume) - before
    assert grown > 0.8 * GROWTH, f"{volume.name} grew by {grown} instead of {GROWTH}"
    assert_files(promise)
