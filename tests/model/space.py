# SPDX-License-Identifier: Apache-2.0
"""The space that a pool has provisioned, seen from outside while several calls use it at once.

Between a call and its answer the outside does not know whether the call was granted, so there are
two sums: what is certainly provisioned, and what is provisioned at most. The largest sum during the
call must explain a refusal, the smallest an acceptance.
"""

import contextlib
import threading

import operations

# The space that the host's filesystem needs to describe an image of some hundred MiB, and the
# driver's own margin for that (MeasureRoom), which depends on the disk's contents.
SLACK_PER_VOLUME = 1 << 20
SLACK_OF_POOL = 64 << 20


class Claim:
    """One call's demand: `add` if it is granted, `remove` if it frees space. Of a snapshot this is
    the most, as only the driver knows what it takes: then `exact` is false."""

    def __init__(self, space, add, remove, exact):
        self.space, self.add, self.remove = space, add, remove
        self.sure_add, self.sure_remove = (add, remove) if exact else (0, 0)
        self.least, self.most = space.surely, space.at_most

    def granted(self):
        self.space.surely += self.sure_add
        self.space.at_most -= self.remove
        self.space.changed()

    def refused(self):
        self.space.surely += self.sure_remove
        self.space.at_most -= self.add
        self.space.changed()

    def may_be_granted(self):
        return self.least + self.sure_add <= self.space.room + self.space.slack()

    def may_be_refused(self):
        # `most` counts this claim itself, and no volume that all workers use at once.
        shared = operations.SHARED_VOLUMES * operations.LARGEST_SHARED
        return self.most + shared > self.space.room - self.space.slack()


class Space:
    def __init__(self, room, volumes):
        """`room` is the space that an empty pool can provision, `volumes` the possible number of
        volumes."""
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
    def claim(self, add=0, remove=0, exact=True):
        """The caller ends the claim by granted() or refused() when the answer is known."""
        with self.lock:
            claim = Claim(self, add, remove, exact)
            self.claims.add(claim)
            self.at_most += add
            self.surely -= claim.sure_remove
            self.changed()
        try:
            yield claim
        finally:
            with self.lock:
                self.claims.discard(claim)

    def settle(self, claim, granted):
        with self.lock:
            (claim.granted if granted else claim.refused)()
