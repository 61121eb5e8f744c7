"""The driver's resources: memory, threads, processes, disk, and its behaviour with many volumes."""
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import time

from .server import Server, ThreadWatch
from .settings import SIZE_MIB
from .sides import Samples

_LOOKS = 20  # at the memory, over all cycles


def memory(bench, settings, say) -> dict:
    """Of a server that has just started and answered a few probes; then staged volumes; then
    creations and deletions for as long as `settings.cycles` says."""
    say("memory and threads")
    server = bench.server
    bench.driver("reads", volumes=4, page=10)
    figures = {"idle": server.status()}
    held = {"volumes": settings.staged, "size_mib": 32, "filesystem": "ext4", "prefix": "held"}
    bench.driver("hold", workers=4, **held)
    figures["staged"] = {"volumes": settings.staged, **server.status()}
    bench.driver("release", workers=4, **held)
    before = server.cpu_seconds()
    with ThreadWatch(server) as watch:
        bench.driver("lives", workers=16, volumes=settings.lives, size_mib=SIZE_MIB["ext4"])
    figures["cpu_ms_per_life"] = round(1000 * (server.cpu_seconds() - before) / settings.lives, 2)
    figures["threads_at_16_workers"] = watch.most
    say(f"{settings.cycles} cycles")
    figures["cycles"] = [{"cycles": 0, **server.status()}]
    for look in range(1, _LOOKS + 1):
        bench.driver("storage", workers=4, volumes=settings.cycles // _LOOKS, size_mib=16,
                     thin=True, block=True)
        figures["cycles"].append({"cycles": look * settings.cycles // _LOOKS, **server.status()})
    return figures


def processes(bench, say) -> dict:
    """The programs that a whole life starts, as seen by strace. Every step except the first stage
    runs twice, so a single mkfs means that nothing else starts anything."""
    if shutil.which("strace") is None:
        return {"skipped": "strace is not installed"}
    say("processes of a life")
    trace = bench.place.directory / "trace"
    tracer = subprocess.Popen(["strace", "-f", "-qq", "-e", "trace=execve", "-o", trace, "-p",
                               str(bench.server.process.pid)], stderr=subprocess.PIPE, text=True)
    _await_tracer(bench.server.process.pid)
    bench.driver("phases", volumes=1, size_mib=SIZE_MIB["ext4"], prefix="traced")
    tracer.terminate()
    tracer.communicate()
    started = re.findall(r'execve\("([^"]+)".* = 0$', trace.read_text(encoding="utf-8"),
                         re.MULTILINE)
    return {"programs": started}


def _await_tracer(pid: int) -> None:
    """Every thread of the process has a tracer."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        states = [status.read_text(encoding="utf-8")
                  for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status")]
        if all(re.search(r"^TracerPid:\s*[1-9]", state, re.MULTILINE) for state in states):
            return
        time.sleep(0.01)
    raise RuntimeError("strace does not attach")


def size(binary: pathlib.Path, place) -> dict:
    stripped = place.directory / "stripped"
    subprocess.run(["strip", "-o", stripped, binary], check=True)
    return {"stripped_bytes": os.path.getsize(stripped)}


def scale(bench, binary, settings, say) -> dict:
    """Two drivers, one with 10 and one with many volumes, asked in turn."""
    say(f"10 against {settings.many} volumes")
    servers = {"few": Server(binary, bench.tools / "bench-driver", bench.place, "few"),
               "many": Server(binary, bench.tools / "bench-driver", bench.place, "many")}
    counts = {"few": 10, "many": settings.many}
    kept = {"size_mib": 16, "thin": True, "block": True, "prefix": "kept"}
    for name, server in servers.items():
        server.start()
        bench.driver("create", server, workers=16, volumes=counts[name], **kept)
    samples = Samples()
    for number in range(settings.scale_rounds):
        order = list(servers.items())
        for name, server in order if number % 2 == 0 else reversed(order):
            for result in _scale_round(bench, server, settings):
                samples.add(name, result)
    figures = {"volumes": counts, "steps": samples.summary()}
    figures["memory"] = {name: server.status() for name, server in servers.items()}
    figures["ready_seconds"] = {name: _ready(server) for name, server in servers.items()}
    for server in servers.values():
        server.stop()
    return figures


def _scale_round(bench, server, settings) -> list[dict]:
    return [bench.driver("reads", server, volumes=4 * settings.volumes, page=10),
            bench.driver("storage", server, volumes=settings.volumes, size_mib=16, thin=True,
                         block=True),
            _without(bench.driver("phases", server, volumes=settings.volumes,
                                  size_mib=SIZE_MIB["ext4"]), ("create", "delete"))]


def _without(result: dict, steps: tuple[str, ...]) -> dict:
    """Thick creations and deletions are not mixed with the thin ones."""
    return {kind: {step: value for step, value in result[kind].items() if step not in steps}
            for kind in ("microseconds", "seconds")}


def _ready(server: Server) -> float:
    times = []
    for _ in range(3):
        server.stop()
        times.append(server.start())
    return round(statistics.median(times), 3)
