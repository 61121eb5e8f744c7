# SPDX-License-Identifier: Apache-2.0
"""Pods on the node in the virtual machine, and the volumes as they and its kernel see them."""

from workloads import DATA, DEVICE, MIB

SECONDS = 300  # everything on the node is emulated
DEVICES = "/sys/bus/rbd/devices"


def pod_of(workloads, guest, claim, block=False):
    return workloads.running(workloads.pod(
        None if block else claim, block_claims=[claim] if block else [], node=guest.name),
        seconds=SECONDS)


def write(workloads, pod, block=False):
    """Returns the command that prints the checksum of the written data, and the checksum."""
    where = DEVICE if block else f"{DATA}/file"
    workloads.sh(pod, f"dd if=/dev/urandom of={where} bs=1M count=16 conv=notrunc,fsync")
    command = f"head -c {16 * MIB} {where} | sha256sum"
    return command, workloads.sh(pod, command)


def size_in_pod(workloads, pod, block=False):
    if block:
        return int(workloads.sh(pod, f"blockdev --getsize64 {DEVICE}"))
    blocks, size = workloads.sh(pod, f"stat -f -c '%b %S' {DATA}").split()
    return int(blocks) * int(size)


def remove(workloads, kind, name):
    workloads.delete(kind, name)
    workloads.gone(kind, name, seconds=SECONDS)


def devices_of(workloads, guest):
    """Returns the devices that the node's kernel has mapped."""
    pod = workloads.running(workloads.pod(node=guest.name), seconds=SECONDS)
    devices = workloads.sh(pod, f"ls {DEVICES}").split()
    remove(workloads, "Pod", pod)
    return devices
