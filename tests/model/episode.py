# SPDX-License-Identifier: Apache-2.0
"""A run of some rounds from an empty pool to an empty pool. In a round all workers work at once and
the driver may be stopped in the middle; between rounds all is quiet and the invariants are checked.
"""

import concurrent.futures
import random as random_module
import threading
import time

import invariants
import operations
from volume_model import Snapshot, Volume
from worker import Violation, Worker, shared_name

STOPS = ("kill", "kill", "kill", "kill-twice", "term")
POLL_SECONDS = 0.001


class Counter:
    """Operations of a round, for those who wait for a number of them."""

    def __init__(self):
        self.lock = threading.Lock()
        self.count = 0
        self.ended = False  # a worker found a violation: the others need not continue

    def done(self):
        with self.lock:
            self.count += 1


def new_volume(name):
    return Volume(name, snapshots=[Snapshot(f"{name}-s{number}")
                                   for number in range(operations.SNAPSHOTS)])


class Episode:
    """`shape` has the numbers: workers, volumes (each worker's), operations (each worker's in a
    round)."""

    def __init__(self, ground, shape):
        self.ground, self.shape = ground, shape
        self.own = [[new_volume(f"w{worker}-{number}") for number in range(shape["volumes"])]
                    for worker in range(shape["workers"])]
        self.trace = {"shape": shape, "rounds": []}
        self.count = 0
        self.stops = 0

    def volumes(self):
        return [volume for own in self.own for volume in own]

    def run_round(self, plan):
        """`plan`: operations of each worker, and after how many of all the driver is stopped."""
        counter = Counter()
        workers = [Worker(number, self.ground, own, counter)
                   for number, own in enumerate(self.own)]
        with concurrent.futures.ThreadPoolExecutor(len(workers) + 1) as pool:
            jobs = [pool.submit(self.guard, counter, worker.run, operations_of)
                    for worker, operations_of in zip(workers, plan["operations"])]
            stopper = pool.submit(self.guard, counter, self.stop_driver, counter, plan["stops"],
                                  jobs)
            concurrent.futures.wait([*jobs, stopper])
        for worker in workers:
            worker.connection.close()
            self.ground.answers.update(worker.answers)
        self.count += counter.count
        violations = [job.exception() for job in [*jobs, stopper] if job.exception()]
        if violations:
            raise violations[0]
        self.tidy_shared()
        invariants.check(self.ground, self.volumes())
        for number, own in enumerate(self.own):
            worker = Worker(number, self.ground, own, counter)
            for volume in own:
                worker.check(volume, None)
        self.ground.cut_log()

    @staticmethod
    def guard(counter, act, *arguments):
        try:
            act(*arguments)
        except BaseException:
            counter.ended = True
            raise

    def stop_driver(self, counter, stops, jobs):
        for stop in stops:
            while counter.count < stop["after"] and not all(job.done() for job in jobs):
                time.sleep(POLL_SECONDS)
            self.ground.stop_driver(stop["how"])
            self.stops += 1

    def tidy_shared(self):
        """Whatever became of the shared volumes, a CO can take them down."""
        worker = Worker("tidy", self.ground, [], Counter())
        for number in range(operations.SHARED_VOLUMES):
            name = shared_name(number)
            handle = {"volume_id": self.ground.shared_handles.get(name, "nothing")}
            for target in range(operations.TARGETS):
                worker.settle("NodeUnpublishVolume", handle | {
                    "target_path": str(self.ground.target_path(name, target))}, {"OK"})
            for path in range(operations.STAGING_PATHS):
                worker.settle("NodeUnstageVolume", handle | {
                    "staging_target_path": str(self.ground.staging_path(name, path))}, {"OK"})
            worker.settle("DeleteVolume", handle, {"OK"})
        worker.connection.close()

    def tear_down(self):
        """Every volume is removed in the order in which a CO does it."""
        for number, own in enumerate(self.own):
            worker = Worker(number, self.ground, own, Counter())
            for volume in own:
                for target in sorted(volume.published):
                    worker.unpublish(volume, {"call": "unpublish", "target": target})
                if volume.staged_at is not None:
                    worker.unstage(volume, {"call": "unstage", "path": volume.staged_at})
                worker.delete(volume, {"call": "delete"})
                for slot in range(operations.SNAPSHOTS):
                    worker.unsnapshot(volume, {"call": "unsnapshot", "slot": slot})
            worker.connection.close()
        invariants.check(self.ground, self.volumes())

    # Creates plans: operations are drawn while they are made, because the sensible ones depend on
    # the current state. The trace contains them as they were.

    def run_drawn_round(self, seed, stopped):
        random = random_module.Random(seed)
        total = self.shape["workers"] * self.shape["operations"]
        stops = [{"after": random.randrange(total), "how": random.choice(STOPS)}] if stopped else []
        plan = {"operations": [[] for _ in self.own], "stops": stops}
        self.trace["rounds"].append(plan)
        drawn = [Drawn(random_module.Random(f"{seed}/{number}"), own, self.ground.space.room,
                       self.shape["operations"], kept)
                 for number, (own, kept) in enumerate(zip(self.own, plan["operations"]))]
        self.run_round({"operations": drawn, "stops": stops})


class Drawn:
    """The operations of one worker, drawn one by one and recorded."""

    def __init__(self, random, volumes, room, count, kept):
        self.random, self.volumes, self.room = random, volumes, room
        self.count, self.kept = count, kept

    def __iter__(self):
        for _ in range(self.count):
            operation = self.draw()
            self.kept.append(operation)
            yield operation

    def draw(self):
        if self.random.random() < operations.SHARED_SHARE:
            return operations.shared(self.random) | {
                "shared": self.random.randrange(operations.SHARED_VOLUMES)}
        number = self.random.randrange(len(self.volumes))
        operation = operations.draw(self.random, self.volumes[number], self.volumes, self.room)
        return operations.with_style(self.random, operation) | {"volume": number}


def replay(ground, trace):
    """Runs a written-down episode; raises the Violation that it leads to, if it does."""
    episode = Episode(ground, trace["shape"])
    for plan in trace["rounds"]:
        episode.run_round(plan)
    episode.tear_down()
    return episode


__all__ = ["Episode", "Violation", "replay"]
