# SPDX-License-Identifier: Apache-2.0
"""A kill, or a broken connection, at each system call with which an operation sends something to
the cluster: the CO's repeated call finishes the work. (test_kills.py does this between the
libraries' calls; here messages are cut off within one.)"""

import collections
import contextlib
import pathlib
import shutil
import subprocess

import pytest

import csi_client
import driver as driver_module
from cluster import until
from rbd_driver import has_all_parts, image_of, record, residue
from test_faults import until_it_works

MIB = driver_module.MIB
SENDING = "sendmsg"  # of Ceph's messenger, one thread per connection, and of the answer
NEVER = (1 << 16) - 1
ATTACH_SECONDS = 30
STRACE_SECONDS = 2  # to detach
FAULTS = {"kill": "signal=KILL", "broken": "error=EPIPE"}

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is missing")


@pytest.fixture(params=FAULTS)
def fault(request):
    return request.param


class Tracer:
    """While it is there, each thread of the driver meets the fault at its send of that number."""

    def __init__(self, driver, fault, number):
        self.pid = driver.server.process.pid
        self.trace = driver.directory / "trace"
        self.process = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", self.trace, "-e", f"trace={SENDING}", "-e",
             f"inject={SENDING}:{FAULTS[fault]}:when={number}", "-p", str(self.pid)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        until(self.is_everywhere, "strace does not attach", ATTACH_SECONDS)
        return self

    def is_everywhere(self):
        return all("TracerPid:\t0" not in status.read_text()
                   for status in pathlib.Path(f"/proc/{self.pid}/task").glob("*/status"))

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(STRACE_SECONDS)
        except subprocess.TimeoutExpired:  # it can miss the end of its victim
            self.process.kill()
            self.process.wait()


def at_sends(driver, fault, prepare, call, check):
    """The fault at each send of the call, with a new call each time."""
    sends = count_sends(driver, prepare, call, check)
    assert sends >= 4, "it speaks to the cluster"
    struck = 0
    for number in range(1, sends + 1):
        context = prepare(number)
        with Tracer(driver, fault, number) as tracer:
            with contextlib.suppress(csi_client.grpc.RpcError):
                call(context)
        died = has_died(driver)
        if died:
            driver.start()
        struck += died or "INJECTED" in tracer.trace.read_text()
        check(context)
    print(f"{fault}: {struck} of {sends} sends")
    assert struck >= sends // 2, "calls differ a little in how much they send"


def count_sends(driver, prepare, call, check):
    """The sends of the busiest thread, which serves the object store once it is connected."""
    warm = prepare(-1)
    call(warm)
    check(warm)
    context = prepare(0)
    with Tracer(driver, "broken", NEVER) as tracer:
        call(context)
    check(context)
    threads = collections.Counter(line.split()[0] for line in
                                  tracer.trace.read_text().splitlines() if f"{SENDING}(" in line)
    return max(threads.values(), default=0)


def has_died(driver):
    """A process that has been sent SIGKILL answers nothing more."""
    try:
        driver.listed()
        return False
    except csi_client.grpc.RpcError:
        driver.server.process.wait(ATTACH_SECONDS)
        return True


def test_create(driver, ceph, fault):
    def create(name):
        return driver.create(name, size=64 * MIB)

    def check(name):
        volume = until_it_works(lambda: create(name))
        assert driver.listed() == [volume.volume_id]
        assert ceph.images() == [image_of(ceph, volume.volume_id)]
        assert has_all_parts(ceph, volume.volume_id)
        until_it_works(lambda: driver.delete(volume.volume_id))
        assert residue(ceph) == []
    at_sends(driver, fault, "pvc-{}".format, create, check)


def test_delete(driver, ceph, fault):
    def check(volume):
        until_it_works(lambda: driver.delete(volume.volume_id))
        assert driver.listed() == [] and residue(ceph) == []
    at_sends(driver, fault, lambda number: driver.create(f"pvc-{number}", size=64 * MIB),
             lambda volume: driver.delete(volume.volume_id), check)


def test_expand(driver, ceph, fault):
    def grow(volume):
        return driver.call("ControllerExpandVolume", volume_id=volume.volume_id,
                           capacity_range=csi_client.at_least(96 * MIB))

    def check(volume):
        assert until_it_works(lambda: grow(volume)).capacity_bytes == 96 * MIB
        stored = record(ceph, volume.volume_id)
        assert (stored["capacity_bytes"], stored["grow_to_bytes"]) == (96 * MIB, 0)
        until(lambda: not ceph.watchers(image_of(ceph, volume.volume_id)), "a watch stays", 60)
        driver.delete(volume.volume_id)
    at_sends(driver, fault, lambda number: driver.create(f"pvc-{number}", size=64 * MIB), grow,
             check)
