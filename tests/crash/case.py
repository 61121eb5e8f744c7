# SPDX-License-Identifier: Apache-2.0
"""One case: an operation meets a fault, its caller carries on, and all must be well in the end."""

import dataclasses
import os
import signal
import threading
import time

import operations
import system_calls
import trapped_driver
from trap import Fault
from volume_life import Kind

BUSY_SECONDS = 120
RECOVERY_SECONDS = 20
REPETITIONS = 3  # a call may not fail permanently once nothing prevents it from succeeding
# How long a caller waits that gives up by deadline; longer if the call did not reach the point in
# that time.
DEADLINES = (0.3, 2, 10)
ACTIONS = {"cancel": "hold", "deadline": "hold", "power": "kill"}  # other faults are their own
FAILS_TO_START = "NOT SERVING"


@dataclasses.dataclass(frozen=True)
class Case:
    operation: str
    filesystem: str
    provisioning: str
    # kill, kill-child, stop, power, cancel, deadline, or the name of an error
    fault: str = "none"
    at: int = 0  # the changing call that meets it, counted from 1
    # The next step: the caller repeats the call ("again"); or requests the "opposite", because the
    # volume is no longer wanted; or it repeats the call, a pod writes, and then the "power" is cut.
    then: str = "again"
    second: str = ""  # a second kill: during the "start" after the first, or the "repetition"
    second_at: int = 0

    def __str__(self):
        return ":".join(str(value) for value in dataclasses.astuple(self))

    @staticmethod
    def parse(text):
        *words, second, second_at = text.split(":")
        operation, filesystem, provisioning, fault, at, then = words
        return Case(operation, filesystem, provisioning, fault, int(at), then, second,
                    int(second_at))


def host_filesystem(case):
    """The filesystem of the pool's disk. Only btrfs may keep what a pod syncs but lose earlier
    changes: a later power cut there could undo an earlier change that was not made durable
    itself."""
    return "btrfs" if case.then == "power" else operations.BY_NAME[case.operation].host


@dataclasses.dataclass
class Result:
    case: str
    struck: str = ""  # the call that met the fault; empty: there was no such call
    second_struck: str = ""
    answer: str = ""  # the answer to the call with the fault
    problem: str = ""
    points: list = dataclasses.field(default_factory=list)  # the changing calls of the operation
    start_points: int = 0  # of the start after a kill
    repeat_points: int = 0  # of the first repetition
    seconds: float = 0


def run(world, case):
    """Carries out the case. After a result with a problem the world is in an unknown state."""
    for deadline in DEADLINES:
        result = Result(str(case))
        begin = time.monotonic()
        try:
            Trial(world, case, result, deadline).run()
        except Exception as error:  # any exception is the result
            result.problem = f"{type(error).__name__}: {error}\n{world.driver.log()[-3000:]}"
        result.seconds = round(time.monotonic() - begin, 3)
        too_early = case.fault == "deadline" and not result.struck and result.answer != "OK"
        if result.problem or not too_early:
            break
    return result


class Trial:
    def __init__(self, world, case, result, deadline):
        self.world, self.driver, self.case, self.result = world, world.driver, case, result
        self.deadline = deadline
        self.operation = operations.BY_NAME[case.operation]
        self.life = self.operation.life(world, Kind(case.filesystem, case.provisioning))
        self.life.failed_once = case.fault in system_calls.ALL_ERRORS

    def run(self):
        self.world.begin()
        for step in self.operation.before:
            step(self.life)
        if self.case.then == "power":
            self.world.write_out()
        if self.operation.step:
            self.call()
            self.carry_on()
            if self.case.then == "power":
                self.lose_power_in_use()
        else:
            self.start()
        self.life.finish()
        self.world.check_clean()

    def call(self):
        """The call that meets the fault."""
        fault = self.case.fault
        self.driver.cut = {"cancel": "cancel", "deadline": self.deadline}.get(fault)
        self.driver.trap.watch(Fault(self.case.at, ACTIONS.get(fault, fault)))
        take = self.take_step_while_stopped if fault == "stop" else self.take_step
        take()
        self.driver.cut = None
        self.note_struck()
        # The power is also cut after the last call: acknowledged work must be durable.
        if fault == "power" or fault == "kill" and self.result.struck:
            self.driver.server.kill()  # it is dead; this waits for its end and its children's
            if fault == "power":
                self.world.cut_power()
                self.result.struck = self.result.struck or "(answered)"
            elif self.operation.struck:
                self.operation.struck(self.life)
            self.start_again(self.case.second == "start")
        elif self.operation.struck:
            self.operation.struck(self.life)

    def take_step(self):
        self.result.answer = trapped_driver.code_of(lambda: self.operation.step(self.life))

    def take_step_while_stopped(self):
        """The driver stops, as in a frozen container, and continues after the check."""
        step = threading.Thread(target=self.take_step)
        step.start()
        while step.is_alive() and not self.driver.trap.holding.wait(0.005):
            pass
        try:
            if self.driver.trap.holding.is_set():
                self.operation.struck(self.life)
        finally:
            os.kill(self.driver.server.process.pid, signal.SIGCONT)
            step.join()

    def note_struck(self):
        points, struck = self.driver.trap.end_watch()
        self.result.points = [str(point) for point in points]
        self.result.struck = str(struck) if struck else ""

    def start_again(self, meets_second):
        """The container runtime starts the driver again, and after a second kill once more."""
        served = self.driver.try_start(Fault(self.case.second_at if meets_second else 0, "kill"))
        points, struck = self.driver.trap.end_watch()
        self.result.start_points = len(points)
        if struck:
            self.result.second_struck = str(struck)
            self.driver.server.kill()
            self.driver.start()
        else:
            assert served, "the driver does not start after the kill"

    def carry_on(self):
        """The caller's next step, depending on the answer that it has."""
        operation, life, answer = self.operation, self.life, self.result.answer
        final = answer not in ("OK", *operation.running)
        if final and operation.undone:
            operation.undone(life)
        if answer == "OK" or self.case.fault == "power" and not operation.for_controller:
            return  # after a boot kubelet begins with stage, as the rest of the life does
        if self.case.then == "opposite":
            until_done(lambda: operation.opposite(life, final))
        else:
            self.repeat(lambda: operation.step(life))

    def lose_power_in_use(self):
        self.life.begin_use()
        self.driver.server.kill()
        self.world.cut_power()
        self.driver.start()

    def repeat(self, action):
        """The caller asks again until it succeeds, if need be past a second kill."""
        at = self.case.second_at if self.case.second == "repetition" else 0
        self.driver.trap.watch(Fault(at, "kill"))
        answer = trapped_driver.code_of(action)
        points, struck = self.driver.trap.end_watch()
        self.result.repeat_points = len(points)
        if struck:
            self.result.second_struck = str(struck)
            self.driver.server.kill()
            self.driver.start()
        if answer != "OK":
            until_done(action)

    def start(self):
        """The start that meets the fault."""
        operation, driver = self.operation, self.driver
        if operation.killed_step:
            driver.trap.watch(Fault(operation.killed_at, operation.killed_by,
                                    operation.killed_nth))
            trapped_driver.code_of(lambda: operation.killed_step(self.life))
            _, struck = driver.trap.end_watch()
            assert struck, f"there is no call {operation.killed_at}"
        if operation.first:
            self.world.begin_anew()
        else:
            driver.server.kill()
        served = driver.try_start(Fault(self.case.at, self.case.fault))
        if served and operation.recovered:
            self.await_reconciler()
        self.note_struck()
        self.result.answer = "OK" if served else FAILS_TO_START
        if not served or self.case.fault == "kill" and self.result.struck:
            assert self.result.struck, "the driver does not start"
            driver.server.kill()
            self.start_again(self.case.second == "start")
        elif operation.recovered and self.result.struck:
            driver.restart()  # which repairs what failed once
        if operation.recovered:
            await_true(lambda: operation.recovered(self.life))
        if operation.killed_step:
            self.repeat(lambda: operation.killed_step(self.life))


    def await_reconciler(self):
        """It runs automatically after the start; its calls may meet the fault, too."""
        def recovered_or_struck():
            try:
                self.operation.recovered(self.life)
            except AssertionError:
                if not self.driver.trap.has_struck():
                    raise

        try:
            await_true(recovered_or_struck)
        except trapped_driver.grpc.RpcError:
            if not self.driver.trap.struck:
                raise


def await_true(check):
    """Waits until the check passes; raises its problem if it does not."""
    deadline = time.monotonic() + RECOVERY_SECONDS
    while True:
        try:
            return check()
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.02)


def until_done(action):
    """Repeats what a caller repeats: while a call is still running, and a few times after an
    error."""
    deadline = time.monotonic() + BUSY_SECONDS
    errors = []
    while True:
        try:
            return action()
        except trapped_driver.grpc.RpcError as error:
            code = trapped_driver.csi_client.code_of(error)
            if code == "ABORTED":
                assert time.monotonic() < deadline, f"busy for ever: {error.details()}"
                time.sleep(0.005)
                continue
            errors.append(f"{code}: {error.details()}")
        assert len(errors) < REPETITIONS, "the call fails for ever:\n" + "\n".join(errors)
        time.sleep(0.01)
