"""Volumes of a Ceph that runs in the guest, as devices of the guest's kernel (krbd)."""

import dataclasses
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import durable_file
import grpc
import kernel_log
import leftovers
from driver import MIB, Driver, Volume, csi

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "support"))
import ceph_cluster  # noqa: E402

CEPH = pathlib.Path("/data/ceph")
DEVICES = pathlib.Path("/sys/bus/rbd/devices")
LIMIT_S = 240
MKFS = pathlib.Path("/sbin/mkfs.ext4")
STATE = pathlib.Path("/data/state-vm")


@dataclasses.dataclass
class BlockVolume(Volume):
    @property
    def capability(self):
        mode = csi.VolumeCapability.AccessMode.SINGLE_NODE_WRITER
        return csi.VolumeCapability(block=csi.VolumeCapability.BlockVolume(),
                                    access_mode=csi.VolumeCapability.AccessMode(mode=mode))


def run(run_dir):
    ceph = wake_ceph(run_dir / "ceph")
    pool = f"ceph=rbd:rbd,monitors={ceph.monitors},user=holdfast,keyring={CEPH}/holdfast.keyring"
    driver = driver_on(run_dir, pool)
    try:
        until(lambda: answers(driver), "the driver does not reach the cluster")
    except AssertionError:
        for log in (CEPH / "log").iterdir():
            print(log.name, log.read_text(errors="replace")[-3000:], flush=True)
        raise
    for step in (a_life_with_growth, a_restart_under_writes, raw_block, other_filesystems,
                 mkfs_cut_short, another_image_of_that_name):
        began = time.monotonic()
        driver = step(driver, run_dir, pool, ceph) or driver
        assert not mapped(), f"{step.__name__} left devices: {mapped()}"
        print(f"rbd: {step.__name__} {time.monotonic() - began:.0f} s", flush=True)
    assert not driver.list()
    for step in (what_a_kill_left_mapped, two_nodes, a_client_that_is_cut_off):
        began = time.monotonic()
        driver = step(driver, run_dir, pool, ceph)
        assert not mapped(), f"{step.__name__} left devices: {mapped()}"
        print(f"rbd: {step.__name__} {time.monotonic() - began:.0f} s", flush=True)


def driver_on(run_dir, pool, node_id="vm", within=()):
    return Driver(run_dir, LIMIT_S, pool=pool, node_id=node_id, within=within)


# The Ceph: made and put to rest on the host.


def wake_ceph(seed):
    shutil.copytree(seed, CEPH)
    configuration = CEPH / "ceph.conf"
    there = str(seed).removeprefix("/run/host")  # as the host calls it
    configuration.write_text(configuration.read_text().replace(there, str(CEPH)))
    for daemon in ("mon.a", "osd.0"):
        log = open(CEPH / "log" / f"{daemon}.out", "ab")
        subprocess.Popen(ceph_cluster.daemon_command(daemon, configuration),
                         stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    subprocess.run(["modprobe", "rbd"], check=True)
    return ceph_cluster.Ceph(CEPH)


def answers(driver):
    try:
        driver.list()
        return True
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNAVAILABLE, error
        return False


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


def recorded(ceph, volume, key=""):
    """The volume's record, or what is beside it."""
    uuid = volume.id[-36:]
    path = CEPH / "recorded"
    ceph.rados("getomapval", f"holdfast.volumes.{uuid[0]}", uuid + key, path)
    return json.loads(path.read_text())


def keys(ceph, volume):
    return ceph.rados("listomapkeys", f"holdfast.volumes.{volume.id[-36]}").split()


def holder(ceph, volume):
    return recorded(ceph, volume, "/holder")


def made(driver, volume):
    driver.create(volume)
    driver.stage(volume)
    driver.publish(volume)
    return volume


def gone(driver, volume):
    driver.unpublish(volume)
    driver.unstage(volume)
    driver.delete(volume.id)


# The steps; each ends without volumes or devices.


def a_life_with_growth(driver, run_dir, pool, ceph):
    """The image grows, then its filesystem, under a program that writes; the data outlives it."""
    volume = made(driver, Volume("life", 64 * MIB, provisioning="thin"))
    assert leftovers.mount_source(volume.staging_path).startswith("/dev/rbd")
    index = mapped()[0]
    attributes = {path.name: path.read_text() for path in (DEVICES / index).iterdir()
                  if path.name in ("config_info", "name", "client_addr")}
    key = (CEPH / "holdfast.keyring").read_text().split("key = ")[1].strip()
    assert key not in attributes.get("config_info", ""), "the key is to be seen in sysfs"
    claim = holder(ceph, volume)
    assert (claim["node"], claim["client_address"]) == ("vm", attributes["client_addr"].strip())
    uuid = leftovers.filesystem_uuid(volume.staging_path, "ext4")
    first = durable_file.write(volume.target_path / "first")
    before = leftovers.filesystem_size(volume.target_path)
    writer = Writer(volume.target_path)
    writer.start()
    size = driver.expand(volume, 128 * MIB)
    driver.expand_filesystem(volume, size)
    writer.finish()
    assert leftovers.filesystem_size(volume.target_path) - before > 50 * MIB
    refused("FAILED_PRECONDITION", "in use", lambda: driver.delete(volume.id))
    driver.unpublish(volume)
    driver.unstage(volume)
    assert not mapped(), "unstaging unmaps"
    driver.stage(volume)
    driver.publish(volume)
    assert leftovers.filesystem_uuid(volume.staging_path, "ext4") == uuid, "never formatted again"
    assert durable_file.checksum(volume.target_path / "first") == first
    for name, checksum in writer.checksums.items():
        assert durable_file.checksum(volume.target_path / name) == checksum
    gone(driver, volume)


class Writer(threading.Thread):
    """Writes and flushes one small file after the other until told to stop."""

    def __init__(self, directory):
        super().__init__(daemon=True)
        self._directory = directory
        self._told_to_end = threading.Event()
        self.checksums = {}
        self.error = None

    def run(self):
        try:
            while not self._told_to_end.is_set() and len(self.checksums) < 8:
                name = f"during-{len(self.checksums)}"
                self.checksums[name] = durable_file.write(self._directory / name, chunks=1)
        except OSError as error:
            self.error = error

    def finish(self):
        self._told_to_end.set()
        self.join()
        assert not self.error, f"writing failed: {self.error}"


def a_restart_under_writes(driver, run_dir, pool, ceph):
    """The kernel has the device: a driver that is killed interrupts nothing."""
    volume = made(driver, Volume("restart", 64 * MIB, provisioning="thin"))
    writer = Writer(volume.target_path)
    writer.start()
    driver.crash()
    driver = driver_on(run_dir, pool)
    until(lambda: answers(driver), "the driver does not reach the cluster again")
    writer.finish()
    before = mapped()
    driver.stage(volume)
    driver.publish(volume)
    assert mapped() == before, "the same device, found again"
    gone(driver, volume)
    return driver


def raw_block(driver, run_dir, pool, ceph):
    volume = made(driver, BlockVolume("block", 32 * MIB, provisioning="thin"))
    with open(volume.target_path, "r+b", buffering=0) as device:
        device.write(b"holdfast" * 512)
    size = driver.expand(volume, 48 * MIB)
    with open(volume.target_path, "rb", buffering=0) as device:
        assert device.seek(0, 2) == size == 48 * MIB, "the device shows its new size at once"
    driver.unpublish(volume)
    driver.unstage(volume)
    driver.stage(volume)
    driver.publish(volume)
    with open(volume.target_path, "rb", buffering=0) as device:
        assert device.read(4096) == b"holdfast" * 512
    gone(driver, volume)


def other_filesystems(driver, run_dir, pool, ceph):
    for filesystem, size in (("xfs", 300 * MIB), ("btrfs", 256 * MIB)):
        volume = made(driver, Volume(filesystem, size, fs=filesystem, provisioning="thin"))
        before = leftovers.filesystem_size(volume.target_path)
        checksum = durable_file.write(volume.target_path / "file", chunks=1)
        driver.expand_filesystem(volume, driver.expand(volume, size + 128 * MIB))
        assert leftovers.filesystem_size(volume.target_path) > before + 100 * MIB, filesystem
        assert durable_file.checksum(volume.target_path / "file") == checksum
        gone(driver, volume)


def mkfs_cut_short(driver, run_dir, pool, ceph):
    """Killed while it formats: the device is made blank and formatted anew."""
    volume = Volume("cut", 64 * MIB, provisioning="thin")
    driver.create(volume)
    real = MKFS.resolve()
    kept = real.with_suffix(".kept")
    real.rename(kept)
    started = pathlib.Path("/tmp/mkfs-started")
    # It leaves its traces, and then does not end.
    real.write_text(f"#!/bin/sh\n{kept} \"$@\"\n: >{started}\nexec sleep 1000\n")
    real.chmod(0o755)
    staging = threading.Thread(target=lambda: ignore_errors(lambda: driver.stage(volume)))
    staging.start()
    until(started.exists, "mkfs is not started")
    driver.crash()
    staging.join()
    real.unlink()
    kept.rename(real)
    driver = driver_on(run_dir, pool)
    until(lambda: answers(driver), "the driver does not reach the cluster again")
    driver.stage(volume)
    driver.publish(volume)
    durable_file.write(volume.target_path / "file", chunks=1)
    gone(driver, volume)
    return driver


def ignore_errors(call):
    try:
        call()
    except (grpc.RpcError, OSError, ValueError):  # its channel was closed
        pass


def another_image_of_that_name(driver, run_dir, pool, ceph):
    """Only the image that the record names is used, not one that somebody put in its place."""
    volume = Volume("swapped", 64 * MIB, provisioning="thin")
    driver.create(volume)
    name = f"rbd/{recorded(ceph, volume)['image_name']}"
    ceph.rbd("rm", "--no-progress", name)
    ceph.rbd("create", "--size", "64M", name)
    refused("FAILED_PRECONDITION", "replaced", lambda: driver.stage(volume))
    assert not mapped()
    driver.delete(volume.id)


def what_a_kill_left_mapped(driver, run_dir, pool, ceph):
    """The reconciler unmaps what nobody staged, and leaves alone what somebody mapped by hand."""
    volume, by_hand = [Volume(name, 64 * MIB, provisioning="thin") for name in ("left", "by-hand")]
    for one in (volume, by_hand):
        driver.create(one)
    image = recorded(ceph, by_hand)["image_name"]
    ceph.rbd("map", "--options", "noudev", f"rbd/{image}")
    foreign = mapped()
    driver.stage(volume)
    driver.crash()
    # As if the kill had come before the stage record.
    subprocess.run(["umount", volume.staging_path], check=True)
    (STATE / "stages" / f"{volume.id}.json").unlink()
    driver = driver_on(run_dir, pool)
    until(lambda: mapped() == foreign, "the device stays mapped")
    until(lambda: "somebody else" in doctor(run_dir), "the foreign device is not told of")
    assert f"{volume.id[-36:]}/holder" not in keys(ceph, volume), "the claim is given back"
    driver.stage(volume)
    driver.unstage(volume)
    assert mapped() == foreign
    ceph.rbd("unmap", "--options", "noudev", f"/dev/rbd{foreign[0]}")
    for one in (volume, by_hand):
        driver.delete(one.id)
    return driver


def doctor(run_dir):
    return subprocess.run([run_dir / "holdfast", "doctor", "--endpoint=unix:///run/hf/vm.sock"],
                          check=False, text=True, stdout=subprocess.PIPE).stdout


def two_nodes(driver, run_dir, pool, ceph):
    """One node at a time; a dead one is fenced and its volume taken over."""
    volume = made(driver, Volume("two", 64 * MIB, provisioning="thin"))
    checksum = durable_file.write(volume.target_path / "file", chunks=1)
    other = driver_on(run_dir, pool, "other")
    until(lambda: answers(other), "the second driver does not reach the cluster")
    elsewhere = dataclasses.replace(volume, name="two-elsewhere")
    refused("FAILED_PRECONDITION", "in use on node 'vm'", lambda: other.stage(elsewhere))
    address = holder(ceph, volume)["client_address"]
    # The first node dies: no driver, no mounts, no device, but its claim.
    driver.crash()
    subprocess.run(["umount", volume.target_path, volume.staging_path], check=True)
    pathlib.Path("/sys/bus/rbd/remove_single_major").write_text(mapped()[0])
    other.stage(elsewhere)
    other.publish(elsewhere)
    assert durable_file.checksum(elsewhere.target_path / "file") == checksum
    assert holder(ceph, volume)["node"] == "other"
    assert address in ceph.ceph("osd", "blocklist", "ls"), "the dead client is fenced"
    gone(other, elsewhere)
    assert not other.list()
    other.stop()
    return driver_on(run_dir, pool)


def a_client_that_is_cut_off(driver, run_dir, pool, ceph):
    """It has writes under way; another node takes over; what the first one writes when it is back
    is refused. Each sees a machine of its own, without the other's device in sysfs."""
    network = Network(ceph)
    alone = ["unshare", "--mount", "--propagation", "private"]
    first = driver_on(run_dir, pool, "first", within=[*network.command, *alone])
    until(lambda: answers(first), "the first node does not reach the cluster")
    volume = made(first, Volume("cut", 64 * MIB, provisioning="thin"))
    here = first.root / str(volume.target_path).lstrip("/")
    checksum = durable_file.write(here / "file")
    address = holder(ceph, volume)["client_address"]
    firsts = mapped()
    driver.stop()
    second = driver_on(run_dir, pool, "second", within=alone)
    hide(second, firsts)
    until(lambda: answers(second), "the second node does not reach the cluster")
    elsewhere = dataclasses.replace(volume, name="cut-elsewhere")
    refused("FAILED_PRECONDITION", "in use on node 'first'", lambda: second.stage(elsewhere))
    kernel_log.excuse(rf"\brbd{firsts[0]}\b")  # but not the second's device
    network.cut()
    late = threading.Thread(target=lambda: ignore_errors(
        lambda: durable_file.write(here / "late", chunks=8)), daemon=True)
    late.start()
    until(lambda: works(lambda: second.stage(elsewhere)), "the volume is not taken over")
    hide(first, [index for index in mapped() if index not in firsts])
    second.publish(elsewhere)
    assert address in ceph.ceph("osd", "blocklist", "ls"), "the first client is fenced"
    there = second.root / str(elsewhere.target_path).lstrip("/")
    assert durable_file.checksum(there / "file") == checksum
    mine = durable_file.write(there / "mine", chunks=8)
    network.heal()
    late.join(LIMIT_S)
    assert not late.is_alive(), "the first node's writes end"
    until(lambda: works(lambda: first.unpublish(volume)), "unpublish")
    until(lambda: works(lambda: first.unstage(volume)), "unstage")
    second.unpublish(elsewhere)
    second.unstage(elsewhere)
    second.stage(elsewhere)  # from the cluster, not from memory
    second.publish(elsewhere)
    assert durable_file.checksum(there / "file") == checksum
    assert durable_file.checksum(there / "mine") == mine
    assert not (there / "late").exists()
    gone(second, elsewhere)
    second.stop()
    first.stop()
    network.end()
    return None


def hide(driver, devices):
    for index in devices:
        subprocess.run(["nsenter", f"--target={driver.root.parent.name}", "--mount", "--root",
                        "mount", "-t", "tmpfs", "none", f"/sys/devices/rbd/{index}"], check=True)


class Network:
    """A network name space that reaches the Ceph, until it is cut."""

    def __init__(self, ceph):
        self._space = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        path = pathlib.Path(f"/proc/{self._space.pid}/ns/net")
        until(lambda: path.stat().st_ino != pathlib.Path("/proc/self/ns/net").stat().st_ino,
              "no network name space")
        self.command = ["nsenter", f"--net={path}"]
        subprocess.run([*self.command, "ip", "link", "set", "lo", "up"], check=True)
        addresses = [*json.loads(ceph.ceph("mon", "dump"))["mons"][0]["public_addrs"]["addrvec"],
                     *json.loads(ceph.ceph("osd", "dump"))["osds"][0]["public_addrs"]["addrvec"]]
        ports = [address["addr"].rsplit(":", 1)[1] for address in addresses]
        directory = pathlib.Path("/run/relay")
        directory.mkdir()
        relay = [sys.executable, pathlib.Path(__file__).resolve().parents[1] / "relay.py"]
        outside = subprocess.Popen([*relay, "outside", directory, *ports])
        until(lambda: len(list(directory.iterdir())) == len(ports), "the relay does not start")
        self._inside = subprocess.Popen([*self.command, *relay, "inside", directory, *ports])
        self._all = [self._inside, outside, self._space]

    def cut(self):
        self._inside.send_signal(signal.SIGSTOP)

    def heal(self):
        self._inside.send_signal(signal.SIGCONT)

    def end(self):
        for process in self._all:
            process.kill()
            process.wait()


def works(call):
    try:
        call()
        return True
    except grpc.RpcError:
        return False
