# SPDX-License-Identifier: Apache-2.0
"""One line of text in a volume, a file's or a device's first."""

from workloads import DATA, DEVICE


def write(workloads, kind, pod, text):
    if kind == "block":
        workloads.sh(pod, f"echo {text} | dd of={DEVICE} conv=notrunc,sync,fsync")
    else:
        workloads.sh(pod, f"echo {text} > {DATA}/file && sync")


def read(workloads, kind, pod):
    where = DEVICE if kind == "block" else f"{DATA}/file"
    return workloads.sh(pod, f"head -n 1 {where}")
