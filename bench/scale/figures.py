# SPDX-License-Identifier: Apache-2.0
"""The figures of a large cluster that have a target, from the results."""
from harness.figures import Row

RESTART_SECONDS = 30
CAPACITY_US = 1000


def growth_kib(results: dict, key: str = "idle") -> float:
    """Resident memory per node, from no node to the most."""
    none, most = results["sizes"][0], results["sizes"][-1]
    return (most[key]["VmRSS"] - none["idle"]["VmRSS"]) / most["nodes"]


def rows(results: dict) -> list[Row]:
    most = results["sizes"][-1]
    group = f"{most['nodes']} nodes"
    slowest = max(restart["seconds"] for restart in most["restarts"])
    found = [Row(group, "All nodes back after the controller was killed and started again",
                 f"≤ {RESTART_SECONDS} s", f"{slowest:.1f} s", slowest <= RESTART_SECONDS)]
    for name, capacity in (("quiet", most["capacity"]), ("with changes", most["busy"]["capacity"])):
        measured = capacity["1"]["p99_us"]
        found.append(Row(group, f"GetCapacity of a node, p99, {name}",
                         f"≤ {CAPACITY_US / 1000:g} ms", f"{measured / 1000:.3f} ms",
                         measured <= CAPACITY_US))
    return found
