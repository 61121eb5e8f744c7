# SPDX-License-Identifier: Apache-2.0
"""The picture of the section on snapshots."""
import pathlib

from harness.plots import DRIVER, RAW, plt, save

STEPS = (("snapshot", "CreateSnapshot"), ("restore", "restore"),
         ("stage_restored", "first stage\nof the copy"))
RATES = (("unshare", "raw", "unshare"), ("copy", "raw", "copy"), ("link", None, "other node"))


def draw(results: dict, path: pathlib.Path) -> None:
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.8), width_ratios=(4, 2, 2.4))
    bars = [(f"{name}", results["calls"]["ext4"][step]) for step, name in STEPS]
    _milliseconds(panels[0], "Calls, ext4", bars)
    panels[0].set_ylabel("milliseconds at p50")
    _milliseconds(panels[1], "Frozen, 4 writers",
                  [(name, results["frozen"][name]) for name in ("ext4", "xfs")])
    _rates(panels[2], results)
    figure.legend(handles=[plt.Rectangle((0, 0), 1, 1, color=RAW,
                                         label="bare system calls (other node: the slowest part)"),
                           plt.Rectangle((0, 0), 1, 1, color=DRIVER, label="Holdfast")],
                  loc="lower center", ncol=2, bbox_to_anchor=(0.5, -0.06))
    save(figure, path)


def _pair(panel, place: int, values, label) -> None:
    for value, color, offset in zip(values, (RAW, DRIVER), (-0.19, 0.19)):
        panel.bar(place + offset, value, width=0.36, color=color)
        panel.text(place + offset, value, label(value), ha="center", va="bottom", fontsize=8)


def _milliseconds(panel, title: str, bars) -> None:
    panel.grid(axis="x", visible=False)
    for place, (_, sides) in enumerate(bars):
        _pair(panel, place, [sides[side]["p50_us"] / 1000 for side in ("raw", "driver")],
              lambda value: f"{value:.3g}")
    panel.set_xticks(range(len(bars)), [name for name, _ in bars])
    panel.set_title(title)


def _rates(panel, results: dict) -> None:
    panel.grid(axis="x", visible=False)
    for place, (name, raw, _) in enumerate(RATES):
        figures = results[name]
        bare = figures[raw] if raw else min(figures[part] for part in ("read", "write", "link"))
        _pair(panel, place, [bare / 2**20, figures["driver"] / 2**20], lambda value: f"{value:.0f}")
    panel.set_xticks(range(len(RATES)), [name for _, _, name in RATES])
    panel.set_ylabel("MiB per second")
    panel.set_title("Data")
