"""The kernel's client waits for a cluster that does not answer; callers do not."""

import contextlib
import os
import pathlib
import signal
import subprocess
import threading

import durable_file
from driver import MIB, Volume
from scenarios.rbd_ceph import gone, holder, mapped, refused, unrecord_nodes, until, works

MAP_FILE = "/sys/bus/rbd/add_single_major"
STAGE_S, UNSTAGE_S = 20, 5


def a_store_that_stops_during_a_mapping(driver, run_dir, pool, ceph):
    """The caller gets an answer in time; a device that appears later is removed."""
    volume = Volume("stops", 64 * MIB, provisioning="thin")
    driver.create(volume)
    with held_mapping(driver) as mapping:
        staging = InThread(lambda: driver.stage(volume, STAGE_S))
        mapping.await_begin()
        ceph.signal_store(signal.SIGSTOP)
        mapping.let_go()
    refused("UNAVAILABLE", "mapping of image", staging.result)
    driver.unstage(volume, UNSTAGE_S)  # it is not in use, and will not be
    assert not mapped()
    ceph.signal_store(signal.SIGCONT)
    until(mapping.has_ended, "the kernel does not come back")
    until(lambda: not mapped(), "the late device stays")
    until(lambda: works(lambda: driver.stage(volume)), "the volume cannot be staged any more")
    driver.publish(volume)
    durable_file.write(volume.target_path / "file", chunks=1)
    gone(driver, volume)


def a_device_that_comes_too_late(driver, run_dir, pool, ceph):
    """Another node may have had the volume by then: no call would ever unmap it."""
    volume = Volume("late", 64 * MIB, provisioning="thin")
    driver.create(volume)
    with held_mapping(driver) as mapping:
        staging = InThread(lambda: driver.stage(volume, STAGE_S))
        mapping.await_begin()
        refused("UNAVAILABLE", "mapping of image", staging.result)
        driver.unstage(volume, UNSTAGE_S)
        assert holder(ceph, volume).items() >= {
            "node": "vm", "client_address": "", "sharing": "alone", "read_only": False,
            }.items(), "it is still announced"
        refused("UNAVAILABLE", "mapping of image", lambda: driver.stage(volume, STAGE_S))
        unrecord_nodes(ceph, volume)
        mapping.let_go()
        until(mapping.has_ended, "the kernel does not come back")
    until(lambda: not mapped(), "the late device stays")
    driver.stage(volume)
    driver.unstage(volume)
    driver.delete(volume.id)


@contextlib.contextmanager
def held_mapping(driver):
    """The driver's next mapping does not reach the kernel before it is released."""
    held = HeldMapping(driver.pid)
    try:
        yield held
    finally:
        held.let_go()


class HeldMapping:
    def __init__(self, pid):
        self._files = pathlib.Path(f"/proc/{pid}/fd")
        self._tracer = subprocess.Popen(
            ["strace", "-f", "-p", str(pid), "-P", MAP_FILE, "-e", "trace=write",
             "-e", "inject=write:delay_enter=1000s"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = self._tracer.stderr.readline()
        assert "attached" in line, line
        threading.Thread(target=self._tracer.stderr.read, daemon=True).start()

    def _is_open(self):
        for file in self._files.iterdir():
            with contextlib.suppress(OSError):  # closed meanwhile
                if os.readlink(file) == MAP_FILE:
                    return True
        return False

    def await_begin(self):
        until(self._is_open, "nothing is mapped")

    def has_ended(self):
        return not self._is_open()

    def let_go(self):
        self._tracer.terminate()
        self._tracer.wait()


class InThread:
    def __init__(self, call):
        self._error = None
        self._thread = threading.Thread(target=self._run, args=(call,))
        self._thread.start()

    def _run(self, call):
        try:
            call()
        except Exception as error:  # to be thrown where the result is asked for
            self._error = error

    def result(self):
        self._thread.join()
        if self._error:
            raise self._error
