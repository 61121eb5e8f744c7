"""A mounted ext4 volume grows while a program writes to it; the whole life of the volume. Blocks of
4 KiB and of 1 KiB."""

import os
import subprocess
import threading

import accounting
import durable_file
import grpc
import leftovers
from driver import MIB, POOL, Driver, Volume


class Writer(threading.Thread):
    """Writes and flushes one file after the other until it is stopped."""

    def __init__(self, directory):
        super().__init__(daemon=True)
        self._directory = directory
        self._told_to_end = threading.Event()
        self._progress = threading.Condition()
        self.checksums = {}

    def run(self):
        while not self._told_to_end.is_set():
            name = f"during-{len(self.checksums)}"
            checksum = durable_file.write(self._directory / name)
            with self._progress:
                self.checksums[name] = checksum
                self._progress.notify_all()

    def await_files(self, count):
        """Waits until `count` more files are written."""
        with self._progress:
            wanted = len(self.checksums) + count
            done = self._progress.wait_for(lambda: len(self.checksums) >= wanted, timeout=30)
        assert done, "the writer does not get on"

    def finish(self):
        self._told_to_end.set()
        self.join()


def run(run_dir):
    driver = Driver(run_dir)
    baseline = leftovers.Baseline.take(POOL)
    for volume in (Volume("grown", 256 * MIB),
                   Volume("grown-1k", 256 * MIB, mkfs_options="-b 1024")):
        live(driver, volume)
        assert not driver.list()
        assert not volume.target_path.exists(), "the target path is left"
        baseline.assert_restored()
    driver.stop()


def live(driver, volume):
    driver.create(volume)
    driver.stage(volume)
    driver.publish(volume)
    refuse_while_frozen(driver, volume)
    grow_under_load(driver, volume)
    driver.unpublish(volume)
    driver.unstage(volume)
    check_filesystem(volume)
    driver.delete(volume.id)


def refuse_while_frozen(driver, volume):
    """Another program's freeze is neither ended nor waited for."""
    subprocess.run(["fsfreeze", "-f", volume.target_path], check=True)
    try:
        driver.expand(volume, volume.size + 64 * MIB)
        code = "OK"
        try:
            driver.expand_filesystem(volume, volume.size + 64 * MIB)
        except grpc.RpcError as error:
            code = error.code().name
        assert code == "FAILED_PRECONDITION", f"growth of a frozen filesystem: {code}"
    finally:  # fails if it is not frozen any more
        subprocess.run(["fsfreeze", "-u", volume.target_path], check=True)
    volume.size += 64 * MIB
    driver.expand_filesystem(volume, volume.size)


def check_filesystem(volume):
    subprocess.run(["e2fsck", "-f", "-n", accounting.image(volume)], check=True)


def grow_under_load(driver, volume):
    uuid = leftovers.filesystem_uuid(volume.staging_path, volume.fs)
    first = durable_file.write(volume.target_path / "before", chunks=8)
    before = leftovers.filesystem_size(volume.target_path)
    writer = Writer(volume.target_path)
    writer.start()
    writer.await_files(1)
    added = driver.expand(volume, 512 * MIB) - volume.size
    driver.expand_filesystem(volume, volume.size + added)
    after = leftovers.filesystem_size(volume.target_path)
    writer.await_files(2)
    writer.finish()
    assert after - before > 0.9 * added, f"ext4 grew from {before} to {after} bytes only"
    assert leftovers.filesystem_uuid(volume.staging_path, volume.fs) == uuid
    check_files(volume, {"before": first, **writer.checksums})
    fill_beyond(volume, before)
    check_files(volume, {"before": first})


def check_files(volume, checksums):
    for name, checksum in checksums.items():
        found = durable_file.checksum(volume.target_path / name)
        assert found == checksum, f"{name} differs after growth"


def fill_beyond(volume, old_size):
    """The new space can be used: one file fills as much as the whole filesystem had before."""
    with (volume.target_path / "beyond").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, old_size)
        os.fsync(file.fileno())
