# SPDX-License-Identifier: Apache-2.0
"""The picture of a large cluster."""
import pathlib

from harness import plots


def draw(results: dict, path: pathlib.Path) -> None:
    sizes = results["sizes"]
    linked = [size for size in sizes if size["nodes"]]
    figure, (memory, time, capacity) = plots.plt.subplots(1, 3, figsize=(11, 3.8))
    _line(memory, [(size["nodes"], size["idle"]["VmRSS"] / 1024) for size in sizes], "{:.0f}")
    memory.set_title("Memory, MiB")
    _line(time, [(size["nodes"], max(restart["seconds"] for restart in size["restarts"]))
                 for size in linked], "{:.1f}")
    time.set_title("All back after kill -9, s")
    for key, color in (("p50_us", plots.RAW), ("p99_us", plots.DRIVER)):
        _line(capacity, [(size["nodes"], size["capacity"]["1"][key] / 1000) for size in linked],
              "{:.2f}", color)
        capacity.annotate(key[:3], (linked[0]["nodes"], linked[0]["capacity"]["1"][key] / 1000),
                          textcoords="offset points", xytext=(-14, 0), ha="right", va="center",
                          color=color, fontweight="bold")
    capacity.set_title("GetCapacity of a node, ms")
    capacity.set_xlim(left=-0.18 * linked[-1]["nodes"])
    for axes in (memory, time, capacity):
        axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.12)
        axes.set_xlabel("nodes")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plots.plt.close(figure)


def _line(axes, points: list[tuple[int, float]], label: str, color: str = plots.DRIVER) -> None:
    axes.plot(*zip(*points), color=color, marker="o", linewidth=2.2, markersize=6)
    for nodes, value in points:
        axes.annotate(label.format(value), (nodes, value), textcoords="offset points", ha="center",
                      xytext=(0, 8), fontsize=9, color=color)
