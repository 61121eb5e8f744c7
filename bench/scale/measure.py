# SPDX-License-Identifier: Apache-2.0
"""One controller with a given number of nodes: its resources and its speed."""
import dataclasses
import time

from harness.sides import percentile

VOLUMES = 20  # of each node
SETTLE_SECONDS = 11  # the time after a start in which a controller waits for nodes to come back


@dataclasses.dataclass(frozen=True)
class Settings:
    sizes: tuple[int, ...]
    idle_seconds: int
    capacity_calls: int
    creations: int
    restarts: int


FULL = Settings(sizes=(0, 1000, 5000), idle_seconds=30, capacity_calls=10_000, creations=2000,
                restarts=3)
QUICK = Settings(sizes=(0, 200, 1000), idle_seconds=10, capacity_calls=2000, creations=400,
                 restarts=1)
WORKERS = (1, 4, 16)
PUSH_SECONDS = 10  # each node's free space changes once in this time, in the background


def size(controller, nodes, count: int, settings: Settings, say) -> dict:
    started = controller.start()
    found = {"nodes": count}
    if count == 0:
        time.sleep(SETTLE_SECONDS)
        found |= _idle(controller, settings)
        controller.stop()
        return found
    say(f"{count} nodes: registration")
    nodes.start(count, VOLUMES)
    controller.call("await", nodes=count)
    time.sleep(max(0.0, started + SETTLE_SECONDS - time.monotonic()))
    found |= _idle(controller, settings)
    say(f"{count} nodes: calls")
    found |= _calls(controller, count, settings)
    found["after_calls"] = controller.use()
    say(f"{count} nodes: restarts")
    found["restarts"] = [_restart(controller, count) for _ in range(settings.restarts)]
    found["seen_by_nodes"] = nodes.stop()
    say(f"{count} nodes: all of them lost, and back with changes in the background")
    found |= _busy(controller, nodes, count, settings)
    nodes.stop()
    controller.stop()
    return found


def _idle(controller, settings: Settings) -> dict:
    before = controller.use()["cpu_seconds"]
    time.sleep(settings.idle_seconds)
    used = controller.use()["cpu_seconds"] - before
    return {"idle": controller.use(), "idle_cpu_percent": 100 * used / settings.idle_seconds}


def _calls(controller, count: int, settings: Settings) -> dict:
    capacity = {str(workers): _summary(controller.call(
        "capacity", nodes=count, calls=settings.capacity_calls, workers=workers))["capacity"]
        for workers in WORKERS}
    volumes = {str(workers): _summary(controller.call(
        "volumes", nodes=count, calls=settings.creations, workers=workers)) for workers in WORKERS}
    anywhere = _summary(controller.call("anywhere", nodes=count, calls=settings.creations // 20,
                                        workers=4))
    whole = _summary(controller.call("list", nodes=count, calls=3))
    return {"capacity": capacity, "volumes": volumes, "anywhere": anywhere, "list": whole["list"]}


def _restart(controller, count: int) -> dict:
    controller.kill()
    started = controller.start()
    answered = controller.call("await", nodes=count)
    return {"seconds": round(answered - started, 2), **controller.use()}


def _busy(controller, nodes, count: int, settings: Settings) -> dict:
    rate = max(1, count // PUSH_SECONDS)
    nodes.start(count, VOLUMES, rate)
    controller.call("await", nodes=count)
    time.sleep(SETTLE_SECONDS)
    before, start = controller.use()["cpu_seconds"], time.monotonic()
    time.sleep(settings.idle_seconds)
    percent = 100 * (controller.use()["cpu_seconds"] - before) / (time.monotonic() - start)
    capacity = {str(workers): _summary(controller.call(
        "capacity", nodes=count, calls=settings.capacity_calls, workers=workers))["capacity"]
        for workers in WORKERS}
    return {"busy": {"pushes_per_second": rate, "cpu_percent": percent, "capacity": capacity,
                     **controller.use()}}


def _summary(result: dict) -> dict:
    return {step: {"p50_us": percentile(times, 50), "p99_us": percentile(times, 99),
                   "max_us": round(max(times), 1), "count": len(times),
                   "per_second": round(len(times) / result["seconds"][step], 1),
                   "refusals": result["refusals"]}
            for step, times in result["microseconds"].items()}
