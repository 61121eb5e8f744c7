"""Writes docs/benchmarks.md, from the results and the hand-written bench/text.md."""
import pathlib
import string

from . import figures, plots, tables
from .section import LARGE_CLUSTERS, SNAPSHOTS
from .settings import FILESYSTEMS, WORKERS

TEXT = pathlib.Path(__file__).resolve().parent.parent / "text.md"
NAMES = {"create": "CreateVolume", "first_stage": "NodeStageVolume, first",
         "stage": "NodeStageVolume, formatted", "stage_repeat": "NodeStageVolume, repeated",
         "publish": "NodePublishVolume", "publish_repeat": "NodePublishVolume, repeated",
         "stats": "NodeGetVolumeStats", "controller_expand": "ControllerExpandVolume",
         "node_expand": "NodeExpandVolume", "unpublish": "NodeUnpublishVolume",
         "unstage": "NodeUnstageVolume", "delete": "DeleteVolume", "probe": "Probe",
         "capacity": "GetCapacity", "list": "ListVolumes, 100 a page"}


def write(results: dict, docs: pathlib.Path) -> None:
    plots.draw(results, docs / "images")
    text = string.Template(TEXT.read_text(encoding="utf-8"))
    (docs / "benchmarks.md").write_text(text.substitute(
        machine=tables.taken(results), targets=tables.targets(figures.rows(results)), steps=_steps(results),
        storage=_storage(results), reads=_reads(results), memory=_memory(results),
        throughput=_picture(results),
        snapshots=SNAPSHOTS.present(docs / "benchmarks.md"),
        scale=LARGE_CLUSTERS.present(docs / "benchmarks.md")), encoding="utf-8")


def _cell(step: dict, side: str) -> str:
    if side not in step:
        return ""
    return " / ".join(f"{step[side][key] / 1000:.3g}" for key in ("p50_us", "p99_us"))


def _lines(by_workers: dict) -> list[list[str]]:
    """A line for every step, two columns for every number of workers."""
    order = [step for step in NAMES if step in by_workers["1"]]
    return [[NAMES[step]] + [_cell(by_workers[str(workers)][step], side)
                             for workers in WORKERS for side in ("driver", "raw")]
            for step in order]


def _head() -> list[str]:
    return ["p50 / p99, ms"] + [f"{side}, {workers}" for workers in WORKERS
                                for side in ("driver", "raw")]


def _steps(results: dict) -> str:
    steps = results["latency"]["steps"]
    return "\n\n".join(f"### {name}\n\n{tables.table(_head(), _lines(steps[name]))}"
                       for name in FILESYSTEMS)


def _storage(results: dict) -> str:
    create = results["latency"]["create"]
    lines = []
    for kind in ("thin", "thick"):
        for line in _lines(create[kind]):
            lines.append([f"{line[0]}, {kind}", *line[1:]])
    return tables.table(_head(), lines)


def _reads(results: dict) -> str:
    reads = results["latency"]["reads"]
    lines = [[NAMES[step]] + [_cell(reads[str(workers)][step], "driver") for workers in WORKERS]
             for step in ("probe", "capacity", "list")]
    return tables.table(["p50 / p99, ms"] + [str(workers) for workers in WORKERS], lines)


def _memory(results: dict) -> str:
    memory, scale = results["memory"], results["scale"]
    cycles = memory["cycles"]
    looks = [("idle", memory["idle"]),
             (f"{memory['staged']['volumes']} staged volumes", memory["staged"])]
    looks += [(f"after {look['cycles']} cycles", look)
              for look in (cycles[0], cycles[len(cycles) // 2], cycles[-1])]
    looks.append((f"{scale['volumes']['many']} volumes, after the load above",
                  scale["memory"]["many"]))
    table = tables.table(["State", "resident, MiB", "of it anonymous, MiB", "threads"],
                   [[name, f"{status['VmRSS'] / 1024:.1f}", f"{status['RssAnon'] / 1024:.1f}",
                     str(status["Threads"])] for name, status in looks])
    return (f"{table}\n\nProcessor time of a whole life, the driver and its mkfs together: "
            f"{memory['cpu_ms_per_life']:g} ms.")


def _picture(results: dict) -> str:
    throughput = results["throughput"]
    if "skipped" in throughput:
        return f"Not measured: {throughput['skipped']}."
    return "![Direct I/O through a volume against a plain file](images/bench-throughput.svg)"
