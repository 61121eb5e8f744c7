# SPDX-License-Identifier: Apache-2.0
"""A secret of a request does not appear anywhere: in the log, a file, a program, a message, a node,
a core."""

import contextlib
import os
import re
import signal
import subprocess

import grpc
import pytest

import csi_client
import csi_pb2
import driver as driver_module
import hostile_values
import requests_of
from driver_fixtures import binary
from kubelet import Kubelet, PersistentVolume

# A text that no program would write by itself.
SENTINEL = "sentinel-8e1f4711-secret"
# Calls that read data into the process. All other system calls are watched.
INPUT = "!read,readv,pread64,recvmsg,recvfrom,recvmmsg,epoll_wait,poll,futex,mmap,mprotect"
LONGEST_TEXT = 1 << 16  # bytes of each argument that strace shows


def secret_fields(message_type):
    return [field for field in message_type.fields
            if field.GetOptions().Extensions[csi_pb2.csi_secret]]


def with_secrets(method, fields):
    """The fields of a call and the sentinel in every secret one, as key and as value."""
    secrets = {}
    for field in secret_fields(method.input_type):
        assert hostile_values.is_map(field), "tell this test how such a secret is set"
        secrets[field.name] = {SENTINEL: SENTINEL}
    return secrets | fields


class SecretTeller:
    """Calls that have the sentinel in every secret; the answers never contain it."""

    def __init__(self, client):
        self.client = client
        self.told = set()

    def __call__(self, rpc, /, **fields):
        method = csi_client.METHODS[rpc]
        if secret_fields(method.input_type):
            self.told.add(rpc)
        try:
            answer = self.client.call(rpc, **with_secrets(method, fields))
        except grpc.RpcError as error:
            assert SENTINEL not in error.details()
            raise
        assert SENTINEL not in str(answer)
        return answer


def fail(call, rpc, /, **fields):
    with pytest.raises(grpc.RpcError):
        call(rpc, **fields)


def whole_life(driver, call, kubelet, filesystem):
    """Every call of a volume's life, also such that fail, late ones and repeated ones."""
    volume = PersistentVolume(
        driver.create("pv", filesystem=filesystem, call=call).volume_id, "pv",
        filesystem=filesystem)
    kubelet.mount(volume, "pod")
    kubelet.mount(volume, "pod")
    size = driver_module.SIZES[filesystem] * 2
    call("ControllerExpandVolume", volume_id=volume.handle,
         capacity_range=csi_client.at_least(size), volume_capability=volume.capability())
    if filesystem != "ext4":
        kubelet.expand(volume, kubelet.mount_path(volume, "pod"), size)
    call("ValidateVolumeCapabilities", volume_id=volume.handle,
         volume_capabilities=[volume.capability()])
    fail(call, "DeleteVolume", volume_id=volume.handle)
    kubelet.unmount(volume, "pod")
    kubelet.mount(volume, "pod")
    kubelet.unmount(volume, "pod")
    damage(driver, volume)
    fail(call, "NodeStageVolume", volume_id=volume.handle,
         staging_target_path=str(driver.directory), volume_capability=volume.capability())
    call("DeleteVolume", volume_id=volume.handle)


def damage(driver, volume):
    with open(driver.image(volume.handle), "r+b") as image:
        image.write(b"\0" * (1 << 20))


def call_everything_else(call, driver):
    """Calls that are refused, or not served at all."""
    for name, method in csi_client.METHODS.items():
        if name not in call.told and secret_fields(method.input_type):
            with contextlib.suppress(grpc.RpcError):  # an empty list needs no arguments
                call(name)
            call.told.add(name)
    for name in sorted(call.told):
        for fields in ({}, {"volume_id": "x" * 200}, {"volume_id": driver.pool.name}):
            if "volume_id" in csi_client.METHODS[name].input_type.fields_by_name:
                try:
                    call(name, **fields)
                except grpc.RpcError:
                    continue


def all_with_secrets():
    return {name for name, method in csi_client.METHODS.items()
            if secret_fields(method.input_type)}


def files_with_the_sentinel(directory, *leave_out):
    found = subprocess.run(
        ["grep", "--recursive", "--files-with-matches", "--text", "--fixed-strings",
         *(f"--exclude={name}" for name in leave_out), SENTINEL, str(directory)],
        capture_output=True, text=True, check=False)
    assert found.returncode in (0, 1), found.stderr
    return found.stdout.splitlines()


@pytest.fixture
def new_driver_command(directory):
    """Starts a driver by a command of the test; afterwards it must have been stopped."""
    def make(wrap, flags=(), environment=()):
        driver = driver_module.Driver(binary(), directory)
        driver.server.command = [*wrap, *driver.server.command, *flags]
        if environment:
            driver.server.command = ["env", *environment, *driver.server.command]
        return driver.start()
    return make


def test_nothing_that_the_process_asks_of_the_kernel_has_a_secret(new_driver_command, directory):
    trace = directory / "trace"
    driver = new_driver_command(["strace", "--follow-forks", "--quiet=all", f"--output={trace}",
                                 f"--string-limit={LONGEST_TEXT}", f"--trace={INPUT}"],
                                ["--log-level=debug"])
    call = SecretTeller(driver.client)
    for filesystem in ("ext4", "xfs", "btrfs"):
        whole_life(driver, call, Kubelet(directory / f"kubelet-{filesystem}", call), filesystem)
    call_everything_else(call, driver)
    assert call.told == all_with_secrets(), "a new RPC with secrets: add it to the life above"
    stop_traced(driver)
    lines = trace.read_text(errors="replace")
    programs = set(re.findall(r'execve\("[^"]*/([^"/]+)"', lines))
    assert {"mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"} <= programs, "the trace has no children"
    assert "NodeStageVolume" in lines, "the trace has no writes"
    leaks = [line for line in lines.splitlines() if SENTINEL in line]
    assert not leaks, "\n".join(line[:500] for line in leaks[:5])
    trace.unlink()
    assert not files_with_the_sentinel(directory)


def stop_traced(driver):
    """SIGTERM to the driver below strace, which ends with it."""
    with open(f"/proc/{driver.server.process.pid}/task/{driver.server.process.pid}/children",
              encoding="ascii") as children:
        os.kill(int(children.read().split()[0]), signal.SIGTERM)
    assert driver.server.process.wait(60) == 0


def test_the_library_logs_no_secret_even_when_told_to_trace(new_driver_command, directory):
    """gRPC logs the bytes of each message if GRPC_TRACE is set."""
    driver = new_driver_command([], ["--log-level=debug"],
                                ["GRPC_TRACE=all", "GRPC_VERBOSITY=DEBUG"])
    call = SecretTeller(driver.client)
    whole_life(driver, call, Kubelet(directory / "kubelet", call), "ext4")
    call_everything_else(call, driver)
    assert driver.server.stop() is None
    assert "NodeStageVolume" in driver.log()
    # In plain, or byte by byte as traces have it.
    octets = " ".join(f"{byte:02x}" for byte in SENTINEL.encode())
    assert SENTINEL not in driver.log() and octets not in driver.log()
    assert not files_with_the_sentinel(directory)


def cores(directory):
    return [path for path in directory.rglob("core*") if path.is_file()]


def can_dump_core(directory):
    """Returns whether this host writes core files into a process's working directory (core(5))."""
    place = directory / "control"
    place.mkdir()
    subprocess.run(["prlimit", "--core=unlimited", "sh", "-c", "kill -ABRT $$"], cwd=place,
                   check=False)
    found = cores(place)
    for core in found:
        core.unlink()
    return bool(found)


@pytest.mark.parametrize("signal_number", [signal.SIGABRT, signal.SIGSEGV], ids=["abort", "fault"])
def test_a_crash_in_the_middle_of_a_call_leaves_no_core(new_driver_command, program_gate, directory,
                                                        signal_number):
    if not can_dump_core(directory):
        pytest.skip("this host hands cores to a program (/proc/sys/kernel/core_pattern), which a "
                    "test must not change")
    driver = new_driver_command(["prlimit", "--core=unlimited"])
    call = SecretTeller(driver.client)
    kubelet = Kubelet(directory / "kubelet", call)
    volume = PersistentVolume(driver.create("pv", call=call).volume_id, "pv", filesystem="ext4")
    mkfs = program_gate("mkfs.ext4")
    staging = kubelet.global_mount(volume)
    staging.mkdir(parents=True)
    with pytest.raises(grpc.RpcError):
        driver.client.call("NodeStageVolume", timeout=1, **with_secrets(
            csi_client.METHODS["NodeStageVolume"],
            {"volume_id": volume.handle, "staging_target_path": str(staging),
             "volume_capability": volume.capability()}))
    mkfs.wait_until_started()
    os.kill(driver.server.process.pid, signal_number)
    assert driver.server.process.wait(60) == -signal_number
    assert not cores(directory), "the memory of the process, with its secrets, is on disk"
    assert not files_with_the_sentinel(directory)
    driver.server.command = driver.server.command[2:]
    driver.start()
    driver.delete(volume.handle)
    assert driver.server.stop() is None
