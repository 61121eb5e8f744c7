"""A Ceph in the guest, drivers that use it, and their volumes as the cluster and the kernel show
them."""

import json
import os
import pathlib
import subprocess
import sys
import time

import grpc
from driver import Driver

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "support"))
import ceph_cluster  # noqa: E402

CEPH = pathlib.Path("/data/ceph")
DEVICES = pathlib.Path("/sys/bus/rbd/devices")
LIMIT_S = 240
# Every driver here is under the system calls of deploy/seccomp/node-rbd.json.
CONFINED = ("env", "HOLDFAST_SECCOMP=node-rbd", "HOLDFAST_CONFINED=/usr/bin/env",
            str(pathlib.Path(__file__).resolve().parents[3] / "hostile/confined"))


def wake_ceph(seed):
    # Of a store on disk most is holes.
    subprocess.run(["cp", "-a", "--sparse=always", seed, CEPH], check=True)
    configuration = CEPH / "ceph.conf"
    there = str(seed).removeprefix("/run/host")  # as the host calls it
    configuration.write_text(configuration.read_text().replace(there, str(CEPH)))
    os.sync()  # before the power is cut
    return GuestCeph()


class GuestCeph(ceph_cluster.Ceph):
    """The one that is on the data disk, also after a power cut."""

    def __init__(self):
        super().__init__(CEPH)
        self._daemons = [self._start(daemon) for daemon in ("mon.a", "osd.0")]
        subprocess.run(["modprobe", "rbd"], check=True)

    def _start(self, daemon):
        with open(CEPH / "log" / f"{daemon}.out", "ab") as log:
            return subprocess.Popen(ceph_cluster.daemon_command(daemon, self.configuration),
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def signal_store(self, number):
        self._daemons[1].send_signal(number)

    def stop(self):
        """Until then they keep the data disk busy."""
        for daemon in self._daemons:
            daemon.kill()
            daemon.wait()


def driver_on(run_dir, pool, node_id="vm", within=(), **options):
    return Driver(run_dir, LIMIT_S, pool=pool, node_id=node_id, within=(*within, *CONFINED),
                  **options)


def answers(driver):
    try:
        driver.list()
        return True
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNAVAILABLE, error
        return False


def await_cluster(driver):
    """Until the driver reaches it; of one that it does not reach the logs are shown."""
    try:
        until(lambda: answers(driver), "the driver does not reach the cluster")
    except AssertionError:
        for log in (CEPH / "log").iterdir():
            print(log.name, log.read_text(errors="replace")[-3000:], flush=True)
        raise


def until(condition, problem):
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, problem
        time.sleep(0.1)


def mapped():
    return sorted(path.name for path in DEVICES.iterdir())


def refused(code, text, call):
    try:
        call()
    except grpc.RpcError as error:
        assert (error.code().name, text in error.details()) == (code, True), error
        return
    raise AssertionError(f"not refused: want {code} with '{text}'")


def works(call):
    try:
        call()
        return True
    except grpc.RpcError:
        return False


def ignore_errors(call):
    try:
        call()
    except (grpc.RpcError, OSError, ValueError):  # its channel was closed
        pass


def recorded(ceph, volume, key=""):
    """The volume's record, or another value next to it."""
    uuid = volume.id[-36:]
    path = CEPH / "recorded"
    ceph.rados("getomapval", f"holdfast.volumes.{uuid[0]}", uuid + key, path)
    return json.loads(path.read_text())


def keys(ceph, volume):
    return ceph.rados("listomapkeys", f"holdfast.volumes.{volume.id[-36]}").split()


def unrecord_nodes(ceph, volume):
    ceph.rados("rmomapkey", f"holdfast.volumes.{volume.id[-36]}", f"{volume.id[-36:]}/nodes")


def holders(ceph, volume):
    return recorded(ceph, volume, "/nodes")["holders"]


def holder(ceph, volume):
    """The only one."""
    [found] = holders(ceph, volume)
    return found


def condition(driver, volume):
    """The volume's problem; empty if there is none."""
    [found] = [one for one in driver.inventory("volumes") if one["id"] == volume.id]
    return found["condition"] if found["abnormal"] else ""


def made(driver, volume):
    driver.create(volume)
    driver.stage(volume)
    driver.publish(volume)
    return volume


def gone(driver, volume):
    driver.unpublish(volume)
    driver.unstage(volume)
    driver.delete(volume.id)
