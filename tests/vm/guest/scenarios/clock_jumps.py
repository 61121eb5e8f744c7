"""The guest's clock is set back and forth by years while volumes lead their lives."""

import contextlib
import threading
import time

import durable_file
import leftovers
from driver import MIB, POOL, Driver, Volume

DAY = 24 * 3600
JUMPS = (-1, 1, -3600, 3600, -DAY, DAY, -3650 * DAY, 3650 * DAY)


def jump(seconds):
    time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)


def run(run_dir):
    driver = unhurried_driver(run_dir)
    baseline = leftovers.Baseline.take(POOL)
    kept = Volume("kept", 64 * MIB)
    driver.create(kept)
    driver.stage(kept)
    checksum = durable_file.write(kept.staging_path / "file")
    for number, seconds in enumerate(JUMPS):
        with jumping(seconds):
            live(driver, Volume(f"during-{number}", 320 * MIB, fs=("ext4", "xfs")[number % 2]))
        assert durable_file.checksum(kept.staging_path / "file") == checksum
    restart_in_the_past(run_dir, driver, kept)
    driver = unhurried_driver(run_dir)
    driver.stage(kept)
    assert durable_file.checksum(kept.staging_path / "file") == checksum
    driver.unstage(kept)
    driver.delete(kept.id)
    baseline.assert_restored()
    driver.stop()


def unhurried_driver(run_dir):
    """Without limits for its calls: the client's library reckons them by the clock that is set."""
    return Driver(run_dir, call_limit_s=None)


@contextlib.contextmanager
def jumping(seconds):
    """Between and during the calls: there, and back again."""
    ended = threading.Event()

    def swing():
        direction = 1
        while not ended.wait(0.05) or direction < 0:
            jump(direction * seconds)
            direction = -direction

    thread = threading.Thread(target=swing)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def live(driver, volume):
    driver.create(volume)
    driver.stage(volume)
    driver.publish(volume)
    checksum = durable_file.write(volume.target_path / "file")
    driver.expand_filesystem(volume, driver.expand(volume, volume.size + 96 * MIB))
    assert durable_file.checksum(volume.target_path / "file") == checksum
    driver.unpublish(volume)
    driver.unstage(volume)
    driver.delete(volume.id)


def restart_in_the_past(run_dir, driver, kept):
    """A driver that starts at a time before its own records were written still accepts them."""
    driver.stop()
    jump(-3650 * DAY)
    second = unhurried_driver(run_dir)
    assert list(second.list()) == [kept.id]
    live(second, Volume("in-the-past", 64 * MIB))
    second.stop()
    jump(3650 * DAY)
