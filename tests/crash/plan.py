# SPDX-License-Identifier: Apache-2.0
"""Plans the cases. First the calls of each operation are counted. Then each of them meets the
faults. Finally second kills hit the starts and repeated calls that the first kills showed."""

import dataclasses
import hashlib

import operations
import system_calls
from case import Case

# The driver's own calls meet every fault. Its children make many similar calls: each of these meets
# the kills and one of its errors, and every few calls one meets the other faults.
SPARSE = 5


# Cases that have failed once, or that show most; always part of the slice.
KEPT = tuple(Case.parse(text) for text in (
    "expand, detached:ext4:thin:EIO:12:again::0",  # the ledger missed what a failed sync had kept
    "stage, growing:xfs:thin:EINTR:16:again::0",  # a thaw that failed left the filesystem frozen
    "snapshot, mounted:xfs:thin:stop:17:again::0",  # while it is frozen: only the guard can thaw
))


def counts(everything):
    return [Case(operation.name, kind.filesystem, kind.provisioning, then=then)
            for operation in operations.ALL for kind in operation.kinds_of(everything)
            for then in (("again", "power") if operation.lasting else ("again",))]


def firsts(counted):
    """Every case with one fault; `counted` are the results of counts()."""
    found = []
    for result in counted:
        count = Case.parse(result.case)
        for at, point in enumerate(result.points, 1):
            found += at_point(count, point, at)
        if count.then == "power":
            continue
        if operations.BY_NAME[count.operation].step:  # the power is cut after the answer
            found.append(dataclasses.replace(count, fault="power", at=len(result.points) + 1))
    return found


def at_point(count, point, at):
    operation = operations.BY_NAME[count.operation]
    of_child = is_of_child(point)
    dense = not of_child or at % SPARSE == 0
    errors = system_calls.errors_of(point.rpartition(": ")[2])
    if count.then == "power":
        if not of_child:
            yield dataclasses.replace(count, fault="kill", at=at)
            yield dataclasses.replace(count, fault=errors[0], at=at)
        return
    if of_child:
        errors = [errors[at % len(errors)]]
    faults = ["kill", *(["kill-child"] if of_child else []), *errors]
    if operation.struck and not of_child:
        faults.append("stop")
    rarely = ["cancel", "deadline"] if operation.step and dense else []
    # A btrfs may lose what came before a synced write, so there is no telling what must be there.
    if rarely and operation.host != "btrfs":
        rarely.append("power")
    if operation.in_background:
        rarely = [fault for fault in rarely if fault == "power"]
    for fault in faults + rarely:
        yield dataclasses.replace(count, fault=fault, at=at)
    if operation.opposite and dense:
        for fault in [*(fault for fault in faults if fault != "stop"), "cancel"]:
            yield dataclasses.replace(count, fault=fault, at=at, then="opposite")


def is_of_child(point):
    return ": " in point


def seconds(results):
    """A second kill after each first one, during the start and during the repetition."""
    found = []
    for result in results:
        case = Case.parse(result.case)
        if case.fault != "kill" or case.then != "again" or case.second or not result.struck:
            continue
        if is_of_child(result.struck) and case.at % SPARSE:
            continue
        # Other calls of start and repetition for each first kill, so that all have their turn.
        for second, points in (("start", result.start_points),
                               ("repetition", result.repeat_points)):
            if points:
                found.append(dataclasses.replace(case, second=second,
                                                 second_at=1 + case.at % points))
    return found


def mixed(cases):
    """The same cases in an order that is always the same, and in which any first part of them is a
    fair sample: a run may be cut short."""
    return sorted(cases, key=lambda case: hashlib.sha256(str(case).encode()).digest())


def slice_of(cases, of_each):
    """Some of the cases, evenly spread: so many of each operation, filesystem and kind of fault."""
    groups = {}
    for case in cases:
        groups.setdefault((*row_of(case), kind_of_fault(case)), []).append(case)
    chosen = [case for group in groups.values() for case in evenly(group, of_each)]
    return list(dict.fromkeys([*chosen, *(case for case in cases if case in KEPT)]))


def evenly(group, wanted):
    wanted = min(wanted, len(group))
    return [group[(2 * index + 1) * len(group) // (2 * wanted)] for index in range(wanted)]


def row_of(case):
    return case.operation, case.filesystem, case.provisioning


def kind_of_fault(case):
    """Under which heading the case is counted."""
    if case.second:
        return "second kill"
    if case.then == "power":
        return "power later"
    if case.then != "again":
        return "given up"
    return "error" if case.fault in system_calls.ALL_ERRORS else case.fault
