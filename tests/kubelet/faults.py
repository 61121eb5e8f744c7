# SPDX-License-Identifier: Apache-2.0
"""Faults of calls between a CO and a driver; each call succeeds in the end."""

import time

import grpc

import csi_client

SHORT_SECONDS = 0.003
RETRY_SECONDS = 30


class Plain:
    """No fault."""

    def __init__(self, driver):
        self.driver = driver

    def __call__(self, method, **fields):
        return self.driver.call(method, **fields)


class LostAnswer(Plain):
    """The driver does the work, the CO never hears of it and asks again."""

    def __call__(self, method, **fields):
        self.driver.call(method, **fields)
        return self.driver.call(method, **fields)


class TimeOut(Plain):
    """The CO gives up early and repeats the call while the driver may still be working on it."""

    def __call__(self, method, **fields):
        deadline = time.monotonic() + RETRY_SECONDS
        timeout = SHORT_SECONDS
        while True:
            try:
                return self.driver.call(method, timeout=timeout, **fields)
            except grpc.RpcError as error:
                uncertain = csi_client.code_of(error) in csi_client.MAYBE_RUNNING
                if not uncertain or time.monotonic() > deadline:
                    raise
            timeout = csi_client.CALL_SECONDS


class CrashBefore(Plain):
    """The driver dies and is restarted between any two calls."""

    def __call__(self, method, **fields):
        if method != "NodeGetCapabilities":
            self.driver.crash()
        return self.driver.call(method, **fields)


class CrashAfter(Plain):
    """The driver does the work and dies; the CO never hears of it and asks again."""

    def __call__(self, method, **fields):
        self.driver.call(method, **fields)
        if method != "NodeGetCapabilities":
            self.driver.crash()
        return self.driver.call(method, **fields)


ALL = (Plain, LostAnswer, TimeOut, CrashBefore, CrashAfter)
