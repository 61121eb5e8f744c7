# SPDX-License-Identifier: Apache-2.0
"""Runs the holdfast binary as a user would, and examines its output."""

import json
import os
import pty
import subprocess

import driver_fixtures

SECONDS = 60
# Without the caller's own environment variables for sockets and colours.
ENVIRONMENT = {key: value for key, value in os.environ.items()
               if key not in ("CSI_ENDPOINT", "NO_COLOR")} | {"TERM": "xterm"}


def run(*arguments, prefix=(), **environment):
    """Runs `holdfast ARGUMENTS` to its end; prefix is a command that starts it."""
    return subprocess.run(
        [*prefix, driver_fixtures.binary(), *map(str, arguments)], capture_output=True, text=True,
        timeout=SECONDS, stdin=subprocess.DEVNULL, env=ENVIRONMENT | environment, check=False)


def run_on_terminal(*arguments, **environment):
    """The output of `holdfast ARGUMENTS` on a terminal."""
    ours, theirs = pty.openpty()
    try:
        subprocess.run([driver_fixtures.binary(), *map(str, arguments)], stdout=theirs,
                       stdin=subprocess.DEVNULL, timeout=SECONDS, env=ENVIRONMENT | environment,
                       check=True)
        return os.read(ours, 1 << 16).decode()
    finally:
        os.close(theirs)
        os.close(ours)


def refused(result, code, *words):
    """Expects the exit code and an error, on standard error alone, that has all the words."""
    assert result.returncode == code, f"{result.returncode}\n{result.stdout}\n{result.stderr}"
    assert result.stdout == ""
    for word in words:
        assert word in result.stderr
    return result.stderr


def parsed(result, code=0):
    """The JSON that it printed."""
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout)
