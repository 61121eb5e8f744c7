"""Writes docs/benchmarks-rbd.md, from the results and the hand-written bench/rbd/text.md."""
import pathlib
import string

from harness import tables

from . import figures, plot

TEXT = pathlib.Path(__file__).resolve().parent / "text.md"


def write(results: dict, docs: pathlib.Path) -> None:
    plot.draw(results, docs / "images/bench-rbd.svg")
    text = string.Template(TEXT.read_text(encoding="utf-8"))
    (docs / "benchmarks-rbd.md").write_text(text.substitute(
        taken=tables.taken(results), targets=tables.targets(figures.rows(results)),
        calls=_calls(results), copies=_copies(results), memory=_memory(results)), encoding="utf-8")


def _cell(step: dict, side: str) -> str:
    return " / ".join(f"{step[side][key] / 1000:.3g}" for key in ("p50_us", "p99_us"))


def _calls(results: dict) -> str:
    latency = results["latency"]
    lines = [[figures.NAMES[step]] + [_cell(latency[workers][step], side)
                                      for workers in latency for side in ("driver", "raw")]
             for step in ("create", "controller_expand", "delete")]
    head = ["p50 / p99, ms"] + [f"{side}, {workers}" for workers in latency
                                for side in ("driver", "librbd")]
    return tables.table(head, lines)


def _copies(results: dict) -> str:
    copies = results["copies"]
    lines = [[name] + [_cell(copies[workers][step], side)
                       for workers in copies for side in ("driver", "raw")]
             for step, name in figures.COPIES.items()]
    head = ["p50 / p99, ms"] + [f"{side}, {workers}" for workers in copies
                                for side in ("driver", "librbd")]
    return tables.table(head, lines)


def _memory(results: dict) -> str:
    names = {"files": "a file pool, idle", "idle": "an rbd pool, idle",
             "worked": "after the calls above", "burst": "after the burst",
             "many": f"with {results['scale']['volumes']['many']} volumes"}
    return tables.table(
        ["State", "resident, MiB", "of it anonymous, MiB", "threads"],
        [[names[name], f"{status['VmRSS'] / 1024:.1f}", f"{status['RssAnon'] / 1024:.1f}",
          str(status["Threads"])] for name, status in results["memory"].items()])
