"""Several nodes that want one volume; each is a driver in the guest, and ends without volumes."""

import dataclasses
import errno
import json
import mmap
import os
import pathlib
import signal
import subprocess
import sys
import threading

import durable_file
import kernel_log
from driver import MIB, Volume
from scenarios.rbd_ceph import (LIMIT_S, answers, condition, driver_on, gone, holder, holders,
                                ignore_errors, made, mapped, refused, until, works)


# A separate machine for a driver: the mounts and devices of the others can be hidden from it.
ALONE = ["unshare", "--mount", "--propagation", "private"]


def readers(driver, run_dir, pool, ceph):
    """Any number of nodes can read, none can write, and no writer is admitted as long as a reader
    may live."""
    volume = made(driver, Volume("read", 64 * MIB, provisioning="thin"))
    checksum = durable_file.write(volume.target_path / "file", chunks=1)
    driver.unpublish(volume)
    driver.unstage(volume)
    driver.stop()
    names = ("first", "second")
    nodes = [driver_on(run_dir, pool, name, within=ALONE) for name in names]
    until(lambda: all(answers(node) for node in nodes), "the nodes do not reach the cluster")
    read = [dataclasses.replace(volume, name=f"read-{name}", mode="MULTI_NODE_READER_ONLY")
            for name in names]
    devices = have_it(nodes, read)
    for node, seen in zip(nodes, read):
        there = node.root / str(seen.target_path).lstrip("/")
        assert durable_file.checksum(there / "file") == checksum
        fails_as_read_only(lambda there=there: (there / "new").write_text("x"))
    for index in devices:
        fails_as_read_only(lambda index=index: overwrite(f"/dev/rbd{index}"))
        subprocess.run(["blockdev", "--setrw", f"/dev/rbd{index}"], check=False)
        fails_as_read_only(lambda index=index: overwrite(f"/dev/rbd{index}"))
    recorded_nodes = holders(ceph, volume)
    assert [one["node"] for one in recorded_nodes] == ["first", "second"]
    assert {(one["sharing"], one["read_only"]) for one in recorded_nodes} == {("readers", True)}
    assert not condition(nodes[0], volume)
    writer = driver_on(run_dir, pool, "writer", within=ALONE)
    hide(writer, devices)
    until(lambda: answers(writer), "the writer does not reach the cluster")
    written = dataclasses.replace(volume, name="read-writer")
    refused("FAILED_PRECONDITION", "in use on node 'first'", lambda: writer.stage(written))
    refused("FAILED_PRECONDITION", "in use on node 'first'", lambda: writer.delete(volume.id))
    nodes[0].unpublish(read[0])
    nodes[0].unstage(read[0])
    # The second dies: no driver, no mounts, no device, but its claim.
    in_second = ["nsenter", f"--target={nodes[1].root.parent.name}", "--mount", "--root"]
    for path in (read[1].target_path, read[1].staging_path):
        subprocess.run([*in_second, "umount", path], check=True)
    nodes[1].crash()
    pathlib.Path("/sys/bus/rbd/remove_single_major").write_text(mapped()[0])
    refused("FAILED_PRECONDITION", "in use on node 'second'", lambda: writer.stage(written))
    ceph.ceph("osd", "blocklist", "add", holder(ceph, volume)["client_address"])
    writer.stage(written)
    writer.publish(written)
    there = writer.root / str(written.target_path).lstrip("/")
    assert durable_file.checksum(there / "file") == checksum
    gone(writer, written)
    for node in (nodes[0], writer):
        node.stop()
    return driver_on(run_dir, pool)


def fails_as_read_only(call):
    try:
        call()
    except OSError as error:
        assert error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO), error
        return
    raise AssertionError("not refused")


def overwrite(path):
    with open(path, "r+b", buffering=0) as device:
        device.write(bytes(4096))
        os.fsync(device.fileno())


def have_it(nodes, volumes):
    """Stages and publishes on one node after the other; returns the devices in their order."""
    devices = []
    for node, volume in zip(nodes, volumes):
        hide(node, devices)
        before = mapped()
        node.stage(volume)
        node.publish(volume)
        [device] = set(mapped()) - set(before)
        for other in nodes[:len(devices)]:
            hide(other, [device])
        devices.append(device)
    return devices


def writers_of_raw_block(driver, run_dir, pool, ceph):
    """Each sees the other's writes, and the volume's growth."""
    volume = Volume("many", 32 * MIB, fs="", provisioning="thin", mode="MULTI_NODE_MULTI_WRITER")
    driver.create(volume)
    driver.stop()
    names = ("first", "second")
    nodes = [driver_on(run_dir, pool, name, within=ALONE) for name in names]
    until(lambda: all(answers(node) for node in nodes), "the nodes do not reach the cluster")
    volumes = [dataclasses.replace(volume, name=f"many-{name}") for name in names]
    devices = have_it(nodes, volumes)
    paths = [f"/dev/rbd{index}" for index in devices]
    assert {one["sharing"] for one in holders(ceph, volume)} == {"writers"}
    for turn in range(4):
        block = bytes([turn + 1]) * 4096
        with open(paths[turn % 2], "r+b", buffering=0) as device:
            device.seek(turn * MIB)
            device.write(block)
            os.fsync(device.fileno())
        assert read_past_cache(paths[(turn + 1) % 2], turn * MIB) == block
    refused("FAILED_PRECONDITION", "in use", lambda: nodes[0].delete(volume.id))
    size = nodes[0].expand(volumes[0], 48 * MIB)
    until(lambda: [size_of(path) for path in paths] == [size, size], "a device does not grow")
    for node, one in zip(nodes, volumes):
        node.expand_filesystem(one, size)  # nothing is left to be done
        node.unpublish(one)
        node.unstage(one)
    nodes[0].delete(volume.id)
    for node in nodes:
        node.stop()
    return driver_on(run_dir, pool)


def read_past_cache(path, offset):
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        memory = mmap.mmap(-1, 4096)  # aligned, as O_DIRECT requires
        os.preadv(file, [memory], offset)
        return bytes(memory)
    finally:
        os.close(file)


def size_of(path):
    with open(path, "rb", buffering=0) as device:
        return device.seek(0, os.SEEK_END)


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
    """It is writing when another node takes over; its writes are refused when it is back. Each sees
    a separate machine, without the other's device in sysfs."""
    network = Network(ceph)
    first = driver_on(run_dir, pool, "first", within=[*network.command, *ALONE])
    until(lambda: answers(first), "the first node does not reach the cluster")
    volume = made(first, Volume("cut", 64 * MIB, provisioning="thin"))
    here = first.root / str(volume.target_path).lstrip("/")
    checksum = durable_file.write(here / "file")
    address = holder(ceph, volume)["client_address"]
    firsts = mapped()
    driver.stop()
    second = driver_on(run_dir, pool, "second", within=ALONE)
    hide(second, firsts)
    until(lambda: answers(second), "the second node does not reach the cluster")
    elsewhere = dataclasses.replace(volume, name="cut-elsewhere")
    refused("FAILED_PRECONDITION", "in use on node 'first'", lambda: second.stage(elsewhere))
    kernel_log.excuse(rf"\brbd{firsts[0]}\b")  # but not the second's device
    network.cut()
    late = threading.Thread(target=lambda: ignore_errors(
        lambda: durable_file.write(here / "late", chunks=8)), daemon=True)
    late.start()
    until(lambda: "node 'first' has the volume, but its client" in condition(second, volume),
          "it is not told that the first node is gone")
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
    return driver_on(run_dir, pool)


def hide(driver, devices):
    for index in devices:
        subprocess.run(["nsenter", f"--target={driver.root.parent.name}", "--mount", "--root",
                        "mount", "-t", "tmpfs", "none", f"/sys/devices/rbd/{index}"], check=True)


class Network:
    """A network namespace that reaches the Ceph, until it is cut."""

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
