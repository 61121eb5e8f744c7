# SPDX-License-Identifier: Apache-2.0
"""Shortens a run that ends in a violation: omits parts as long as the rest still fails, the largest
parts first (delta debugging).

Every call is answered in every state, so any part of a run is a valid run. If two workers must
meet, it fails only sometimes, so each candidate is tried more than once."""

import copy


def shrink(trace, fails, say=print):
    """`fails(trace)` runs a candidate and returns whether it fails."""
    best = trace
    best = without(best, stops_of, fails, say)
    best = without(best, operations_of, fails, say)
    return without(best, stops_of, fails, say)


def operations_of(trace):
    return [(plan["operations"][worker], index)
            for plan in trace["rounds"]
            for worker in range(len(plan["operations"]))
            for index in range(len(plan["operations"][worker]))]


def stops_of(trace):
    return [(plan["stops"], index) for plan in trace["rounds"]
            for index in range(len(plan["stops"]))]


def without(trace, parts_of, fails, say):
    """Omits what `parts_of` names, in ever smaller pieces."""
    piece = max(len(parts_of(trace)) // 2, 1)
    while parts_of(trace):
        start = 0
        while start < len(parts_of(trace)):
            candidate = cut(trace, parts_of, start, piece)
            if fails(candidate):
                trace = candidate
                say(f"{len(operations_of(trace))} operations and {len(stops_of(trace))} stops "
                    "still fail")
            else:
                start += piece
        if piece == 1:
            break
        piece //= 2
    return trace


def cut(trace, parts_of, start, count):
    candidate = copy.deepcopy(trace)
    for container, index in reversed(parts_of(candidate)[start:start + count]):
        del container[index]
    return candidate
