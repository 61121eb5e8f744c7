"""The power is cut under volumes of a Ceph in the same guest, which loses power too.

Each boot recovers what earlier boots acknowledged and continues with the same volumes."""

import itertools

import grpc
import kernel_log
import ledger
import recovery
import workload
from driver import MIB, Driver, Volume
from promises import Promises
from scenarios.rbd_ceph import (CEPH, CONFINED, DEVICES, LIMIT_S, GuestCeph, await_cluster, holder,
                                keys, mapped, until, wake_ceph)

STEP = 64 * MIB
CHUNKS = 16
SIZES = {"ext4": 128 * MIB, "xfs": 300 * MIB, "btrfs": 256 * MIB}
# Conditions that block a volume until the cluster has forgotten the earlier clients.
CLIENTS_OF_BEFORE = ("no node of Holdfast is recorded to have", "in another boot")
RAW = Volume("raw", 32 * MIB, fs="", provisioning="thin")


def work(run_dir):
    """Volumes live their lives until the power is cut."""
    told = ledger.read(run_dir)
    if told.entries:
        _, driver, promised = recovered(run_dir, told)
        raw = promised.volumes[RAW.name].volume
    else:
        driver, promised, raw = driver_of(run_dir, wake_ceph(run_dir / "ceph")), Promises([]), RAW
        ledger.ack("start", "", **promised.facts())
        workload.create(driver, raw)
        workload.stage(driver, raw)
        workload.publish(driver, raw)
    before = None
    for number, (fs, size) in enumerate(itertools.cycle(SIZES.items())):
        volume = Volume(f"{fs}-{promised.boot}-{number}", size, fs=fs, provisioning="thin")
        workload.create(driver, volume)
        workload.stage(driver, volume)
        workload.write(volume, "first")
        workload.overwrite(raw, number % CHUNKS)
        workload.expand(driver, volume, volume.size + STEP)
        workload.expand_filesystem(driver, volume)
        workload.write(volume, "directory/second")
        if before:  # one of each boot stays
            workload.unstage(driver, before)
            workload.delete(driver, before)
        before = volume


def check(run_dir):
    ceph, driver, promised = recovered(run_dir, ledger.read(run_dir))
    recovery.end_lives(driver, promised)
    for promise in promised.volumes.values():
        assert not keys(ceph, promise.volume)
    assert not mapped() and not ceph.images()
    driver.stop()
    ceph.stop()


def recovered(run_dir, told):
    """Everything acknowledged is there; this node's claims from before the cut do not block it."""
    ceph = GuestCeph()
    driver = driver_of(run_dir, ceph)
    promised = recovery.settle(driver, told)
    for promise in list(promised.volumes.values()):
        recovery.assert_kept(driver, promised, promise)
        if promise.volume.name in promised.volumes:
            claim = holder(ceph, promise.volume)
            assert claim["node"] == "vm" and claim["client_address"] in client_addresses(), claim
    kernel_log.assert_content()
    files = sum(len(promise.files) for promise in promised.volumes.values())
    ledger.ack("start", "", **promised.facts(), verified=[len(promised.volumes), files])
    return ceph, driver, promised


def client_addresses():
    return [(DEVICES / index / "client_addr").read_text().strip() for index in mapped()]


class PatientDriver(Driver):
    """Repeats a staging, as kubelet does, until the cluster has forgotten the earlier client."""

    def stage(self, volume):
        until(lambda: self._stages(volume), f"the client of before keeps {volume.name}")

    def _stages(self, volume):
        try:
            super().stage(volume)
            return True
        except grpc.RpcError as error:
            if not any(words in error.details() for words in CLIENTS_OF_BEFORE):
                raise
            return False


def driver_of(run_dir, ceph):
    pool = (f"ceph=rbd:rbd,monitors={ceph.monitors},user=holdfast,"
            f"keyring={CEPH}/holdfast.keyring")
    driver = PatientDriver(run_dir, LIMIT_S, pool=pool, within=CONFINED)
    await_cluster(driver)
    return driver
