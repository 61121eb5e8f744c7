"""The pictures of docs/benchmarks.md."""
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

from .settings import WORKERS  # noqa: E402

RAW, LOOP, DRIVER, BLOCK = "#9aa7b1", "#cfd8de", "#0b6e8f", "#58b4ae"
STEPS = (("create", "create"), ("first_stage", "first stage"), ("stage", "stage again"),
         ("stage_repeat", "stage repeated"), ("publish", "publish"),
         ("publish_repeat", "publish repeated"), ("stats", "stats"), ("unpublish", "unpublish"),
         ("unstage", "unstage"), ("delete", "delete"))

plt.rcParams.update({
    "font.family": "DejaVu Sans", "font.size": 10, "svg.fonttype": "path", "svg.hashsalt": "bench",
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left",
    "axes.titlesize": 12, "axes.titleweight": "bold", "axes.titlepad": 14, "axes.grid": True,
    "axes.axisbelow": True, "grid.color": "#e3e8ec", "axes.edgecolor": "#7c8a94",
    "xtick.color": "#3c4a54", "ytick.color": "#3c4a54", "text.color": "#1d2a33",
    "figure.facecolor": "white", "legend.frameon": False})


def draw(results: dict, directory: pathlib.Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    _latency(results, directory / "bench-latency.svg")
    _lives(results, directory / "bench-lives.svg")
    if "bytes_per_second" in results["throughput"]:
        _throughput(results, directory / "bench-throughput.svg")


def save(figure, path: pathlib.Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def _latency(results: dict, path: pathlib.Path) -> None:
    steps = results["latency"]["steps"]["ext4"]["1"]
    figure, axes = plt.subplots(figsize=(9, 5.4))
    axes.grid(axis="y", visible=False)
    for place, (step, _) in enumerate(STEPS):
        for side, color, offset in (("raw", RAW, -0.19), ("driver", DRIVER, 0.19)):
            if side not in steps[step]:
                continue
            value = steps[step][side]["p50_us"] / 1000
            axes.barh(place + offset, value, height=0.36, color=color)
            axes.text(value * 1.08, place + offset, f"{value:.3g}", va="center", fontsize=8.5)
    axes.set_xscale("log")
    axes.set_xlim(right=axes.get_xlim()[1] * 1.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_yticks(range(len(STEPS)), [name for _, name in STEPS])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds at p50, one at a time (logarithmic)")
    axes.set_title("A thick ext4 volume's calls against the bare system calls")
    axes.legend(handles=[plt.Rectangle((0, 0), 1, 1, color=RAW, label="bare system calls"),
                         plt.Rectangle((0, 0), 1, 1, color=DRIVER,
                                       label="Holdfast over its socket")],
                loc="upper center", bbox_to_anchor=(0.5, -0.12), ncol=2)
    save(figure, path)


def _lives(results: dict, path: pathlib.Path) -> None:
    lives = results["latency"]["lives"]
    figure, axes = plt.subplots(figsize=(6.4, 4))
    for side, color, name in (("raw", RAW, "bare loop"), ("driver", DRIVER, "Holdfast")):
        rates = [lives[str(workers)][side]["per_second"] for workers in WORKERS]
        axes.plot(range(len(WORKERS)), rates, color=color, marker="o", linewidth=2.2, markersize=7)
        axes.annotate(name, (len(WORKERS) - 1, rates[-1]), xytext=(10, 0), color=color,
                      textcoords="offset points", va="center", fontweight="bold")
        for place, rate in enumerate(rates):  # the raw limit is the upper line
            axes.annotate(f"{rate:.0f}", (place, rate), textcoords="offset points", ha="center",
                          xytext=(0, 8 if side == "raw" else -15), fontsize=9, color=color)
    axes.set_xticks(range(len(WORKERS)), [str(workers) for workers in WORKERS])
    axes.set_xlim(-0.2, len(WORKERS) - 0.55)
    axes.set_ylim(-0.06 * axes.get_ylim()[1], axes.get_ylim()[1] * 1.08)
    axes.set_xlabel("volumes at the same time")
    axes.set_title("Whole lives per second (thick ext4)")
    save(figure, path)


def _throughput(results: dict, path: pathlib.Path) -> None:
    jobs = results["throughput"]["bytes_per_second"]
    figure, axes = plt.subplots(figsize=(8.6, 4.2))
    axes.grid(axis="x", visible=False)
    for offset, key, color, name in ((-0.3, "file", RAW, "plain file"),
                                     (-0.1, "loop", LOOP, "loop device by hand"),
                                     (0.1, "ext4", DRIVER, "thick volume, ext4"),
                                     (0.3, "block", BLOCK, "thick volume, raw block")):
        for place, rates in enumerate(jobs.values()):
            share = 100 * rates[key] / rates["file"]
            axes.bar(place + offset, share, width=0.19, color=color,
                     label=name if place == 0 else "")
            axes.text(place + offset, share + 1.5, f"{rates[key] / 2**20:.0f}", ha="center",
                      fontsize=8)
    axes.axhline(90, color="#c8553d", linewidth=1.2, linestyle=(0, (5, 4)))
    axes.text(len(jobs) - 0.42, 90, "target", color="#c8553d", fontsize=8.5, va="bottom")
    axes.set_xticks(range(len(jobs)), list(jobs))
    axes.set_ylabel("per cent of the plain file")
    axes.set_title("Direct I/O through a volume (numbers on the bars: MiB/s)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncol=4)
    save(figure, path)
