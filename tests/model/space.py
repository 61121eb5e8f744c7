# SPDX-License-Identifier: Apache-2.0
"""What a pool has promised, seen from outside while several calls draw on it at once.

Between a call and its answer nobody outside knows whether its promise stands, so there are two
sums: what is surely promised, and what is promised at most. A refusal must be explained by the
largest sum of its time, a yes by the smallest.
"""

import contextlib
import threading

import operations

# What the host's filesystem needs to describe an image of some hundred MiB, and the driver's own
# margin for that (MeasureRoom), which differs with what is on the disk.
SLACK_PER_VOLUME = 1 << 20
SLACK_OF_POOL = 64 << 20


class Claim:
    """One call's demand: `add` if it is granted, `remove` if what it gives back is gone."""

    def __init__(self, space, add, remove):
        self.space, self.add, self.remove = space, add, remove
        self.least, self.most = space.surely, space.at_most

    def granted(self):
        self.space.surely += self.add
        self.space.at_most -= self.remove
        self.space.changed()

    def refused(self):
        self.space.surely += self.remove
        self.space.at_most -= self.add
        self.space.changed()

    def may_be_granted(self):
        return self.least + self.add <= self.space.room + self.space.slack()

    def may_be_refused(self):
        # `most` counts this claim itself, and no volume that all workers use at once.
        shared = operations.SHARED_VOLUMES * operations.LARGEST_SHARED
        return self.most + shared > self.space.room - self.space.slack()


class Space:
    def __init__(self, room, volumes):
        """`room` is what an empty pool can promise, `volumes` how many there may be at once."""
        self.room, self.volumes = room, volumes
        self.surely = self.at_most = 0
        self.lock = threading.Lock()
        self.claims = set()

    def slack(self):
        return SLACK_OF_POOL + self.volumes * SLACK_PER_VOLUME

    def changed(self):
        for claim in self.claims:
            claim.least = min(claim.least, self.surely)
            claim.most = max(claim.most, self.at_most)

    @contextlib.contextmanager
    def claim(self, add=0, remove=0):
        """The caller ends the claim by granted() or refused() when the answer is known."""
        with self.lock:
            claim = Claim(self, add, remove)
            self.claims.add(claim)
            self.at_most += add
            self.surely -= remove
            self.changed()
        try:
            yield claim
        finally:
            with self.lock:
                self.claims.discard(claim)

    def settle(self, claim, granted):
        with self.lock:
            (claim.granted if granted else claim.refused)()
