# SPDX-License-Identifier: Apache-2.0
"""Draws panels of the dashboard with what Prometheus answers to their queries, in a minute of a
scene. Not Grafana's own rendering: docs/monitoring.md says so."""

import itertools
import math
import time

import matplotlib
from matplotlib import pyplot
from matplotlib.ticker import FuncFormatter

import prometheus as prometheus_module
import scene as scene_module
import sources

ROWS = ("Overview", "Pools and reservations", "Calls", "Nodes and link")
ROUNDS = 18
WINDOW = "10s"
STEP = 1
UNITS = {"bytes": ("B", 1024), "Bps": ("B/s", 1024), "reqps": ("/s", 1000), "s": ("s", 1000)}
PREFIXES = {1024: ("", "Ki", "Mi", "Gi", "Ti"), 1000: ("", "k", "M", "G", "T")}
SMALL = ("m", "µ")
INK, PALE, RED, GREEN = "#1f2328", "#8c959f", "#c62828", "#2e7d32"


def text_of(value, unit):
    if unit == "percentunit":
        return f"{100 * value:.0f} %"
    name, base = UNITS.get(unit, ("", 1000))
    size, scaled = 0, abs(value)
    while scaled >= base and size < 4:
        scaled, size = scaled / base, size + 1
    small = 0
    while name == "s" and 0 < scaled < 1 and small < 2:
        scaled, small = scaled * 1000, small + 1
    prefix = SMALL[small - 1] if small else PREFIXES[base][size]
    digits = f"{scaled:.0f}" if scaled >= 100 else f"{scaled:.3g}"
    return f"{digits} {prefix}{name}".strip()


def live(scene):
    """Something of everything, and two things that go wrong."""
    for number in range(ROUNDS):
        scene.act()
        if number == ROUNDS // 3:
            with scene.without_spare_pool():
                time.sleep(8)
        if number == 2 * ROUNDS // 3:
            scene.cluster.controller.server.kill()
            time.sleep(8)
            scene.cluster.controller.start()
            while not all(scene.cluster.is_linked(node) for node in scene_module.NODES):
                time.sleep(1)
        time.sleep(1)


class Picture:
    def __init__(self, watching, start, end):
        self.watching, self.start, self.end = watching, start, end
        self.panels = self.chosen()
        top = min(panel["gridPos"]["y"] for panel in self.panels)
        bottom = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in self.panels)
        self.top, self.height = top, bottom - top
        self.figure = pyplot.figure(figsize=(14, self.height * 0.3))

    @staticmethod
    def chosen():
        panels, wanted = [], False
        for panel in sources.dashboard()["panels"]:
            if panel["type"] == "row":
                wanted = panel["title"] in ROWS
            if wanted:
                panels.append(panel)
        return panels

    def axes(self, panel):
        """Axes within the panel's place, with room for title and legend."""
        place = panel["gridPos"]
        left, width = place["x"] / 24, place["w"] / 24
        height = place["h"] / self.height
        bottom = 1 - (place["y"] - self.top) / self.height - height
        unit = 1 / self.height
        low = 1.9 if panel["type"] in ("timeseries", "state-timeline") else 0.3
        axes = self.figure.add_axes([left + 0.045, bottom + low * unit, width - 0.06,
                                     height - (low + 1.2) * unit])
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.tick_params(labelsize=7, colors=INK)
        axes.set_title(panel["title"], fontsize=9, loc="left", fontweight="bold")
        return axes

    def ranges(self, panel):
        """Returns [(legend, times, values)]."""
        return [line for query in sources.queries_of(panel)
                for line in self.watching.range(query, self.start, self.end, STEP)]

    def draw(self):
        kinds = {"stat": self.stat, "timeseries": self.series, "state-timeline": self.timeline,
                 "table": self.table, "row": self.row}
        for panel in self.panels:
            kinds[panel["type"]](panel)

    def row(self, panel):
        place = panel["gridPos"]
        level = 1 - (place["y"] - self.top + 0.75) / self.height
        self.figure.text(0.01, level, panel["title"], fontsize=12, fontweight="bold", color=INK)

    def stat(self, panel):
        axes = self.axes(panel)
        axes.axis("off")
        [query] = sources.queries_of(panel)
        found = self.watching.query(query.promql)
        thresholds = panel["fieldConfig"]["defaults"].get("thresholds")
        text = "\n".join(f"{labels.get('version', '')} {value:.0f}".strip()
                         for labels, value in found)
        bad = thresholds and any(value >= thresholds["steps"][1]["value"] for _, value in found)
        colour = INK if not thresholds else RED if bad else GREEN
        axes.text(0.5, 0.45, text, fontsize=18, ha="center", va="center", color=colour)

    def series(self, panel):
        axes = self.axes(panel)
        unit = panel["fieldConfig"]["defaults"]["unit"]
        lines = self.ranges(panel)
        for legend, times, values in lines:
            axes.plot(*self.with_gaps(times, values), linewidth=1, label=legend)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: text_of(value, unit)))
        self.finish(axes)
        axes.set_ylim(bottom=0)
        if lines:
            axes.legend(fontsize=6, frameon=False, loc="upper left", bbox_to_anchor=(0, -0.12),
                        ncol=4 if len(lines) > 6 else panel["gridPos"]["w"] // 4,
                        columnspacing=1, handlelength=1)

    def with_gaps(self, times, values):
        """Seconds since the start, and values; a line ends where there was none."""
        points = dict(zip(times, values))
        whole = range(int(self.start), int(self.end) + 1, STEP)
        return ([when - self.start for when in whole],
                [points.get(when, math.nan) for when in whole])

    def finish(self, axes):
        axes.set_xlim(0, self.end - self.start)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f} s"))
        axes.grid(axis="y", linewidth=0.3, color=PALE)

    def timeline(self, panel):
        axes = self.axes(panel)
        lines = self.ranges(panel)
        for level, (_, times, values) in enumerate(lines):
            for value, points in itertools.groupby(zip(values, times), lambda point: point[0]):
                whens = [when for _, when in points]
                axes.barh(level, whens[-1] - whens[0] + STEP, left=whens[0] - self.start,
                          height=0.7, linewidth=0, color=GREEN if value == 1 else RED)
        axes.set_yticks(range(len(lines)), [legend for legend, _, _ in lines])
        self.finish(axes)

    def table(self, panel):
        axes = self.axes(panel)
        axes.axis("off")
        rows = {}
        for query in sources.queries_of(panel):
            for labels, value in self.watching.query(query.promql):
                plain = query.legend in ("Volumes", "Abnormal")
                shown = text_of(value, "short" if plain else query.unit)
                if query.legend == "Ready":
                    shown = "yes" if value else "no"
                rows.setdefault((labels["node"], labels["pool"]), []).append(shown)
        heads = ["Node", "Pool", *(target["legendFormat"] for target in panel["targets"])]
        table = axes.table([[*key, *row] for key, row in sorted(rows.items())], colLabels=heads,
                           bbox=[0, 1 - 0.16 * (len(rows) + 1), 1, 0.16 * (len(rows) + 1)],
                           cellLoc="left", colLoc="left", edges="horizontal")
        table.auto_set_font_size(False)
        table.set_fontsize(8)


def draw(path):
    matplotlib.rcParams.update({"svg.hashsalt": "holdfast", "svg.fonttype": "none"})
    sources.VARIABLES["$__rate_interval"] = WINDOW
    with scene_module.running() as scene, prometheus_module.watching(scene) as watching:
        watching.await_scrape()
        start = math.floor(time.time())
        live(scene)
        watching.await_scrape()
        picture = Picture(watching, start, math.floor(time.time()))
        picture.draw()
        picture.figure.savefig(path, metadata={"Date": None})
        scene.delete_all()
