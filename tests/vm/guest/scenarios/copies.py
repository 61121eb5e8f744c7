"""Restored volumes and clones beside their origin, on a kernel that takes two btrfs with one UUID for
the same filesystem (before Linux 6.7). The pool is on xfs."""

import durable_file
import leftovers
from driver import MIB, POOL, Driver, Volume

SIZES = {"ext4": 64 * MIB, "xfs": 320 * MIB, "btrfs": 256 * MIB}
GROWTH = 64 * MIB


def run(run_dir):
    driver = Driver(run_dir)
    baseline = leftovers.Baseline.take(POOL)
    for fs in SIZES:
        beside_their_origin(driver, fs, "thick" if fs == "xfs" else "thin")
        assert not driver.list()
    baseline.assert_restored()
    driver.stop()


def beside_their_origin(driver, fs, provisioning):
    """A clean copy, one with a log to replay, and a clone, all mounted at the same time."""
    origin = Volume("origin", SIZES[fs], fs=fs, provisioning=provisioning)
    driver.create(origin)
    driver.stage(origin)
    driver.publish(origin)
    before = durable_file.write(origin.target_path / "data")
    frozen = driver.snapshot(origin, "frozen")
    later = durable_file.write(origin.target_path / "data")
    dirty = driver.snapshot(origin, "dirty", consistency="crash")
    copies = [Volume(name, SIZES[fs] + GROWTH, fs=fs, provisioning=provisioning)
              for name in ("clean", "replayed", "clone")]
    driver.create(copies[0], snapshot=frozen)
    driver.create(copies[1], snapshot=dirty)
    driver.create(copies[2], clone_of=origin)
    uuids = {leftovers.filesystem_uuid(origin.staging_path, fs)}
    for copy, expected in zip(copies, (before, later, later)):
        driver.stage(copy)
        driver.publish(copy)
        assert durable_file.checksum(copy.target_path / "data") == expected, (fs, copy)
        uuids.add(leftovers.filesystem_uuid(copy.staging_path, fs))
        grown = (leftovers.filesystem_size(copy.target_path)
                 - leftovers.filesystem_size(origin.target_path))
        assert grown > 0.6 * GROWTH, f"{fs}: {copy.name} is {grown} bytes larger than its origin"
        durable_file.write(copy.target_path / "own")
        assert not (origin.target_path / "own").exists(), f"{fs}: both show the same files"
    assert len(uuids) == 4, f"{fs}: {uuids}"
    assert durable_file.checksum(origin.target_path / "data") == later
    end(driver, origin)
    for copy in copies:
        expected = before if copy.name == "clean" else later
        assert durable_file.checksum(copy.target_path / "data") == expected, (fs, copy)
        end(driver, copy)
    for snapshot in (frozen, dirty):
        driver.delete_snapshot(snapshot)


def end(driver, volume):
    driver.unpublish(volume)
    driver.unstage(volume)
    driver.delete(volume.id)
