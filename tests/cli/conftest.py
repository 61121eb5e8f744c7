# SPDX-License-Identifier: Apache-2.0
"""Fixtures for every test of the command line."""

import pytest

import command


@pytest.fixture
def holdfast():
    return command.run


def pytest_terminal_summary(terminalreporter):
    counts = {outcome: len(terminalreporter.stats.get(outcome, []))
              for outcome in ("passed", "failed", "error")}
    terminalreporter.write_line(
        f"cli: {counts['passed']} passed, {counts['failed'] + counts['error']} failed")
