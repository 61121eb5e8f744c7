# SPDX-License-Identifier: Apache-2.0
"""The growth of one claim: asked for, watched through the states of the resize, and its end."""

import pathlib

from cluster.processes import until
from workloads import number_of_bytes

CAP_SYS_RESOURCE = 24
GROWTH_SECONDS = 120
RESIZE_CONDITIONS = {"Resizing", "FileSystemResizePending", "ControllerResizeError",
                     "NodeResizeError"}


def kernel_grows_ext4_online():
    status = pathlib.Path("/proc/self/status").read_text()
    bounding = next(line.split()[1] for line in status.splitlines() if line.startswith("CapBnd"))
    return bool(int(bounding, 16) >> CAP_SYS_RESOURCE & 1)


class Growth:
    def __init__(self, workloads, claim, size):
        self.workloads = workloads
        self.claim = claim
        self.size = size
        self.seen = []  # the resize states, each once in a row
        workloads.api.patch("PersistentVolumeClaim", claim,
                            {"spec": {"resources": {"requests": {"storage": str(size)}}}})

    def status(self):
        return self.workloads.api.get("PersistentVolumeClaim", self.claim)["status"]

    def conditions(self):
        return {condition["type"]: condition for condition in self.status().get("conditions", [])}

    def resize_status(self):
        found = self.status().get("allocatedResourceStatuses", {}).get("storage")
        if self.seen[-1:] != [found]:
            self.seen.append(found)
        return found

    def describe(self):
        events = self.workloads.events("PersistentVolumeClaim", self.claim)[-3:]
        return f"claim {self.claim}: {self.status()}, seen {self.seen}, events " + "; ".join(
            event["message"] for event in events)

    def wait_for_status(self, wanted):
        until(lambda: self.resize_status() == wanted, self.describe, GROWTH_SECONDS)

    def wait_for_volume(self):
        """Waits until the controller has done its part."""
        def done():
            self.resize_status()
            volume = self.workloads.volume_of(self.claim)
            return number_of_bytes(volume["spec"]["capacity"]["storage"]) >= self.size
        until(done, self.describe, GROWTH_SECONDS)

    def wait_until_the_node_is_asked(self):
        until(lambda: (self.resize_status() or "").startswith("NodeResize"), self.describe,
              GROWTH_SECONDS)

    def wait(self):
        """Waits until the claim reports the size."""
        def done():
            self.resize_status()
            return number_of_bytes(self.status()["capacity"]["storage"]) >= self.size
        until(done, self.describe, GROWTH_SECONDS)

    def check_end(self):
        """The claim's status shows no trace of the growth."""
        until(lambda: self.resize_status() is None and not RESIZE_CONDITIONS & set(
            self.conditions()), self.describe, GROWTH_SECONDS)
        assert number_of_bytes(self.status()["capacity"]["storage"]) == self.size
