# SPDX-License-Identifier: Apache-2.0
"""Episode after episode until the time is over and the operations are done, while the resources of
the process are sampled: first with stops in every round, then one process without a stop."""

import statistics
import time

import invariants
from episode import Episode

ROUNDS_OF_EPISODE = 6
# Permitted differences between the first and the last part of a long run.
RSS_GROWTH, RSS_GROWTH_KIB = 1.10, 4096
FDS_GROWTH, THREADS_GROWTH = 4, 4
# This many are not a leak: when all are busy, the server starts another one, up to 16 in addition
# to the rest.
THREADS_OF_A_BUSY_SERVER = 32
PARTS = 5


class Soak:
    def __init__(self, ground, shape, seed, stormy_share):
        self.ground, self.shape, self.seed, self.stormy_share = ground, shape, seed, stormy_share
        self.episode = None
        self.operations = self.stops = self.rounds = self.episodes = 0
        self.samples = []
        self.start = time.monotonic()

    def run(self, seconds, operations, say):
        while (progress := self.progress(seconds, operations)) < 1:
            if self.rounds % ROUNDS_OF_EPISODE == 0:
                self.next_episode()
            stormy = progress < self.stormy_share
            before = self.episode.count, self.episode.stops
            self.episode.run_drawn_round(f"{self.seed}/{self.rounds}", stormy)
            self.rounds += 1
            self.operations += self.episode.count - before[0]
            self.stops += self.episode.stops - before[1]
            self.take_sample(stormy)
            say(self.line(progress))
        self.next_episode()
        self.take_sample(False)

    def progress(self, seconds, operations):
        return min((time.monotonic() - self.start) / seconds, self.operations / operations)

    def next_episode(self):
        if self.episode is not None:
            self.episode.tear_down()
        self.episode = Episode(self.ground, self.shape)
        self.episodes += 1

    def take_sample(self, stormy):
        there = [volume for volume in self.episode.volumes() if volume.exists]
        self.samples.append({
            "seconds": round(time.monotonic() - self.start, 1), "operations": self.operations,
            "stormy": stormy, "volumes": len(there),
            "staged": len(invariants.staged(there)),
            **self.ground.sample()})

    def line(self, progress):
        last = self.samples[-1]
        return (f"{100 * progress:5.1f} %  {last['seconds']:7.0f} s  {self.operations:7d} operations"
                f"  {self.stops:4d} stops  {last['volumes']:3d} volumes  {last['rss_kib']:6d} KiB"
                f"  {last['fds']:3d} fds  {last['threads']:3d} threads  {last['loops']:3d} loops")

    def result(self):
        calm = self.last_life()
        return {"seed": self.seed, "shape": self.shape,
                "seconds": round(time.monotonic() - self.start), "operations": self.operations,
                "rounds": self.rounds, "stops": self.stops,
                "answers": dict(sorted(self.ground.answers.items())),
                "last_life": {"seconds": round(calm[-1]["seconds"] - calm[0]["seconds"]),
                              "operations": calm[-1]["operations"] - calm[0]["operations"],
                              "parts": parts(calm)},
                "growth": growth(calm), "opened": self.ground.opened, "samples": self.samples}

    def last_life(self):
        """The samples of the process that lives at the end."""
        pid = self.samples[-1]["pid"]
        return [sample for sample in self.samples if sample["pid"] == pid]


def parts(samples):
    """The medians over equal parts of a life."""
    size = max(len(samples) // PARTS, 1)
    chunks = [samples[start:start + size] for start in range(0, size * PARTS, size)]
    return [{"seconds": chunk[-1]["seconds"], "operations": chunk[-1]["operations"],
             **{key: statistics.median(sample[key] for sample in chunk)
                for key in ("rss_kib", "fds", "threads", "loops", "staged")}}
            for chunk in chunks if chunk]


def table(result):
    """The text about a run in docs/reliability.md."""
    lines = ["| after | operations | memory | descriptors | threads | loop devices | staged volumes |",
             "|---|---|---|---|---|---|---|"]
    for part in result["last_life"]["parts"]:
        lines.append(f"| {part['seconds'] / 60:.0f} min | {part['operations']} | "
                     f"{part['rss_kib'] / 1024:.1f} MiB | {part['fds']:.0f} | "
                     f"{part['threads']:.0f} | {part['loops'] - 1:.0f} | {part['staged']:.0f} |")
    return "\n".join(lines)


def growth(samples):
    """A sentence for each resource that grew during a long run. Loop devices are compared with the
    model at every quiet point; only the last one counts here, where no volume is left."""
    early, *_, late = parts(samples) if len(samples) > 2 * PARTS else parts(samples) * 2
    found = []
    if late["rss_kib"] > max(early["rss_kib"] * RSS_GROWTH, early["rss_kib"] + RSS_GROWTH_KIB):
        found.append(f"memory grew from {early['rss_kib']} to {late['rss_kib']} KiB")
    if late["fds"] > early["fds"] + FDS_GROWTH:
        found.append(f"descriptors grew from {early['fds']} to {late['fds']}")
    if late["threads"] > max(early["threads"] + THREADS_GROWTH, THREADS_OF_A_BUSY_SERVER):
        found.append(f"threads grew from {early['threads']} to {late['threads']}")
    if samples[-1]["loops"] != 1:  # the disk's own
        found.append(f"{samples[-1]['loops'] - 1} loop devices are left")
    return found
