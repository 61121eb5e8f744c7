"""The figures that have a target, from the results."""
import dataclasses

from .settings import FILESYSTEMS, LARGE_MIB, WORKERS

MIB = 2**20


@dataclasses.dataclass(frozen=True)
class Row:
    group: str
    figure: str
    target: str
    measured: str
    met: bool | None  # None: not measured

    def __str__(self) -> str:
        verdict = {True: "met   ", False: "MISSED", None: "-     "}[self.met]
        return f"{verdict}  {self.figure}: {self.measured} (target {self.target})"


def rows(results: dict) -> list[Row]:
    return (_storage(results) + _node(results) + _lives(results) + _resources(results)
            + _scale(results) + _throughput(results))


def milliseconds(microseconds: float) -> str:
    return f"{microseconds / 1000:.{3 if microseconds < 10_000 else 1}f} ms"


def _ratio_row(group: str, figure: str, step: dict, most: float, allowance_us: float = 0) -> Row:
    """p50 of the driver against `most` times the raw limit's, plus an allowance."""
    raw, driver = step["raw"]["p50_us"], step["driver"]["p50_us"]
    allowed = most * raw + allowance_us
    extra = f" + {allowance_us / 1000:g} ms" if allowance_us else ""
    notes = f" (allowed {milliseconds(allowed)})" if allowance_us else ""
    if figure.startswith("First"):
        guarded = step["guarded"]["p50_us"]
        notes += f" (raw, guarded {milliseconds(guarded)}: {driver / guarded:.2f} ×)"
    return Row(group, figure, f"≤ {most:g} × raw{extra}",
               f"{milliseconds(driver)}, raw {milliseconds(raw)}: {driver / raw:.2f} ×{notes}", driver <= allowed)


def _storage(results: dict) -> list[Row]:
    return [_ratio_row("Creation", f"CreateVolume, {kind}",
                       results["latency"]["create"][kind]["1"]["create"], 2)
            for kind in ("thin", "thick")]


def _node(results: dict) -> list[Row]:
    steps = results["latency"]["steps"]
    group = "Staging and publishing"
    found = [_ratio_row(group, f"First NodeStageVolume, {name}", steps[name]["1"]["first_stage"],
                        1.3) for name in FILESYSTEMS]
    found.insert(1, _ratio_row(group, f"First NodeStageVolume, ext4 of {LARGE_MIB // 1024} GiB",
                               results["latency"]["large"]["first_stage"], 1.3))
    ext4 = steps["ext4"]["1"]
    found.append(_ratio_row(group, "NodeStageVolume of formatted ext4", ext4["stage"], 1.5))
    found.append(_ratio_row(group, "NodePublishVolume", ext4["publish"], 1.5, 500))
    for step, name in (("stage_repeat", "NodeStageVolume repeated"),
                       ("publish_repeat", "NodePublishVolume repeated"),
                       ("stats", "NodeGetVolumeStats")):
        measured = ext4[step]["driver"]["p50_us"]
        found.append(Row(group, name, "≤ 0.5 ms", milliseconds(measured), measured <= 500))
    return found + [_processes(results["processes"])]


def _processes(processes: dict) -> Row:
    figure = "Programs started in a life with every call repeated"
    if "skipped" in processes:
        return Row("Staging and publishing", figure, "mkfs alone", processes["skipped"], None)
    names = [program.rsplit("/", 1)[1] for program in processes["programs"]]
    return Row("Staging and publishing", figure, "mkfs alone", ", ".join(names) or "none",
               len(names) == 1 and names[0].startswith("mkfs"))


def _lives(results: dict) -> list[Row]:
    lives = results["latency"]["lives"]
    found = []
    for workers in map(str, WORKERS):
        raw, guarded, driver = (lives[workers][side]["per_second"]
                                for side in ("raw", "guarded", "driver"))
        found.append(Row("Whole lives", f"Lives per second, {workers} at a time", "≥ 0.6 × raw",
                         f"{driver:g}, raw {raw:g}: {driver / raw:.2f} × (raw, guarded {guarded:g}: "
                         f"{driver / guarded:.2f} ×)", driver >= 0.6 * raw))
    one, four = (lives[workers]["driver"]["per_second"] for workers in ("1", "4"))
    found.append(Row("Whole lives", "Lives per second, 4 at a time against 1", "> 1 ×",
                     f"{four / one:.2f} ×", four > one))
    found.append(Row("Whole lives", "Calls that failed and were repeated, whole run", "0",
                     str(results["refusals"]), results["refusals"] == 0))
    return found


def _resources(results: dict) -> list[Row]:
    memory = results["memory"]
    group = "Resources"

    def resident(figure: str, status: dict, most: int) -> Row:
        mib = status["VmRSS"] / 1024
        return Row(group, figure, f"≤ {most} MiB",
                   f"{mib:.1f} MiB ({status['RssAnon'] / 1024:.1f} MiB of it anonymous)",
                   mib <= most)

    cycles = memory["cycles"]
    settled = cycles[len(cycles) // 2]["VmRSS"]
    growth = (cycles[-1]["VmRSS"] - settled) / 1024
    stripped = results["binary"]["stripped_bytes"] / MIB
    return [
        resident("Resident, idle", memory["idle"], 12),
        resident(f"Resident, {memory['staged']['volumes']} staged volumes", memory["staged"], 16),
        Row(group, f"Growth over the second half of {cycles[-1]['cycles']} cycles", "≤ 0.5 MiB",
            f"{growth:+.2f} MiB", growth <= 0.5),
        Row(group, "Threads, maximum with 16 workers", "≤ 32", str(memory["threads_at_16_workers"]),
            memory["threads_at_16_workers"] <= 32),
        Row(group, "Binary, stripped", "≤ 15 MiB", f"{stripped:.1f} MiB", stripped <= 15),
    ]


def _scale(results: dict) -> list[Row]:
    scale = results["scale"]
    few, many = (scale["volumes"][name] for name in ("few", "many"))
    group = f"{many} volumes against {few}"
    found = []
    for step, name in (("create", "CreateVolume"), ("delete", "DeleteVolume"),
                       ("capacity", "GetCapacity"), ("list", f"ListVolumes, {few} a page"),
                       ("stage", "NodeStageVolume")):
        at_few, at_many = (scale["steps"][step][name]["p50_us"] for name in ("few", "many"))
        found.append(Row(group, name, "≤ 1.5 ×",
                         f"{milliseconds(at_many)} against {milliseconds(at_few)}: {at_many / at_few:.2f} ×",
                         at_many <= 1.5 * at_few))
    ready = scale["ready_seconds"]
    found.append(Row(group, "Start to ready", "≤ 1 s",
                     f"{ready['many']:.3f} s ({ready['few']:.3f} s with {few})",
                     ready["many"] <= 1))
    return found


def _throughput(results: dict) -> list[Row]:
    throughput = results["throughput"]
    if "skipped" in throughput:
        return [Row("Throughput", "fio", "≥ 0.9 × file", throughput["skipped"], None)]
    found = []
    for job, rates in throughput["bytes_per_second"].items():
        for volume in ("ext4", "block"):
            ratio = rates[volume] / rates["file"]
            found.append(Row("Throughput", f"{job}, thick {volume}", "≥ 0.9 × file",
                             f"{rates[volume] / MIB:.0f} MiB/s, file {rates['file'] / MIB:.0f}: "
                             f"{ratio:.2f} × (bare loop device {rates['loop'] / MIB:.0f})",
                             ratio >= 0.9))
    return found
