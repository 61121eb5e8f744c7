"""Runs the two programs in turn, so that a noisy moment hits both."""
import collections
import json
import math
import os
import pathlib
import subprocess

SIDES = ("raw", "guarded", "driver")
# Those whose first stage the raw program can also make with its safety steps.
GUARDED = ("phases", "lives")


def run(tool: pathlib.Path, scenario: str, directory: pathlib.Path, environment=None,
        **options) -> dict:
    """One process of one side. An option that is True is a flag."""
    command = [tool, scenario, "--directory", directory]
    for name, value in options.items():
        if value is False or value is None:
            continue
        command.append(f"--{name.replace('_', '-')}")
        if value is not True:
            command.append(str(value))
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


class Samples:
    """Microseconds by step and side."""

    def __init__(self):
        self._times = collections.defaultdict(list)
        self._seconds = collections.defaultdict(float)

    def add(self, side: str, result: dict) -> None:
        for step, times in result["microseconds"].items():
            self._times[step, side] += times
            self._seconds[step, side] += result["seconds"][step]

    def summary(self) -> dict:
        steps = collections.defaultdict(dict)
        for (step, side), times in self._times.items():
            steps[step][side] = {
                "p50_us": percentile(times, 50), "p99_us": percentile(times, 99),
                "max_us": round(max(times), 1), "count": len(times),
                "per_second": round(len(times) / self._seconds[step, side], 1)}
        return dict(steps)


def percentile(values: list[float], percent: float) -> float:
    """The smallest value that is not below `percent` per cent of them."""
    ordered = sorted(values)
    rank = max(1, math.ceil(len(ordered) * percent / 100))
    return round(ordered[rank - 1], 1)


class Bench:
    """Both programs, the place where they work, and the driver that one of them calls."""

    def __init__(self, tools: pathlib.Path, place, server, raw_directory=None):
        self.tools = tools
        self.place = place
        self.server = server
        self.raw_directory = raw_directory or place.directory / "raw"
        self.raw_directory.mkdir()
        self.refusals = 0  # calls of the driver that had to be repeated

    def raw(self, scenario: str, **options) -> dict:
        return run(self.tools / "bench-raw", scenario, self.raw_directory, **options)

    def guarded(self, scenario: str, **options) -> dict:
        return self.raw(scenario, guarded=True, **options)

    def driver(self, scenario: str, server=None, **options) -> dict:
        server = server or self.server
        result = run(self.tools / "bench-driver", scenario, server.directory / "mounts",
                     socket=server.socket, **options)
        self.refusals += result["refusals"]
        return result

    def alternate(self, scenario: str, rounds: int, **options) -> dict:
        """The summary of both sides over all rounds; each round begins with the other side."""
        samples = Samples()
        for number in range(rounds):
            for side in SIDES if number % 2 == 0 else reversed(SIDES):
                if side == "guarded" and scenario not in GUARDED:
                    continue
                samples.add(side, getattr(self, side)(scenario, **options))
        return samples.summary()
