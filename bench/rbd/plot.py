"""The picture of docs/benchmarks-rbd.md."""
import pathlib

from harness.plots import DRIVER, RAW, plt, save

STEPS = (("create", "create"), ("controller_expand", "expand"), ("delete", "delete"))


def draw(results: dict, path: pathlib.Path) -> None:
    figure, panels = plt.subplots(1, len(results["latency"]), figsize=(9, 3.4), sharey=True)
    for panel, (workers, steps) in zip(panels, results["latency"].items()):
        panel.grid(axis="x", visible=False)
        for place, (step, _) in enumerate(STEPS):
            for side, color, offset in (("raw", RAW, -0.19), ("driver", DRIVER, 0.19)):
                value = steps[step][side]["p50_us"] / 1000
                panel.bar(place + offset, value, width=0.36, color=color)
                panel.text(place + offset, value, f"{value:.3g}", ha="center", va="bottom",
                           fontsize=8)
        panel.set_xticks(range(len(STEPS)), [name for _, name in STEPS])
        panel.set_title(f"{workers} at a time")
    panels[0].set_ylabel("milliseconds at p50")
    figure.legend(handles=[plt.Rectangle((0, 0), 1, 1, color=RAW, label="librbd alone"),
                           plt.Rectangle((0, 0), 1, 1, color=DRIVER,
                                         label="Holdfast over its socket")],
                  loc="lower center", ncol=2, bbox_to_anchor=(0.5, -0.06))
    save(figure, path)
