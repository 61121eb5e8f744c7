# SPDX-License-Identifier: Apache-2.0
"""`holdfast demo` runs to its end, and leaves nothing behind whenever it is interrupted."""

import os
import re
import signal
import subprocess

import pytest

import command
import driver_fixtures
import host

STEPS = ["start", "create", "stage", "publish", "write", "expand mounted", "kill -9", "compare",
         "start again", "statistics", "unpublish", "unstage", "expand offline", "stage again",
         "publish", "compare", "statistics", "unpublish", "unstage", "delete", "stop", "clean up"]
LINE = re.compile(r"(\S) (\S+(?: \S+)*) +[\d.]+ ms  (.+)")


def demo(directory):
    """Starts it with its temporary directory in `directory`, as leader of a process group."""
    return subprocess.Popen(
        [driver_fixtures.binary(), "demo"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=command.ENVIRONMENT | {"TMPDIR": str(directory)})


def read_steps(process, count):
    """Waits until the demo has started and `count` steps have been printed."""
    assert process.stdout.readline().startswith("Holdfast"), process.stderr.read()
    while count:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        count -= LINE.match(line) is not None


def assert_nothing_is_left(directory):
    assert host.leftovers(directory) == []
    assert list(directory.iterdir()) == []


def test_whole_life(directory):
    process = demo(directory)
    output, errors = process.communicate(timeout=command.SECONDS)
    assert (process.returncode, errors) == (0, ""), output
    steps = [match.groups() for match in map(LINE.match, output.splitlines()) if match]
    assert [name for _, name, _ in steps] == STEPS
    assert {mark for mark, _, _ in steps} == {"✓"}
    text = dict((name, text) for _, name, text in steps)
    checksum, = re.findall(r"SHA-256 ([0-9a-f]{12})", text["write"])
    assert checksum in text["compare"]
    assert "\x1b" not in output
    assert_nothing_is_left(directory)


@pytest.mark.parametrize("steps", (0, 1, 2, 3, 4, 6, 8, 12, 13, 19))
def test_interrupted(directory, steps):
    process = demo(directory)
    read_steps(process, steps)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal's Ctrl-C does
    output, errors = process.communicate(timeout=command.SECONDS)
    assert process.returncode == 128 + signal.SIGINT, output + errors
    assert "interrupted" in errors
    assert "All of it worked" not in output
    assert_nothing_is_left(directory)


@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT))
def test_ended_by_other_signals(directory, number):
    process = demo(directory)
    read_steps(process, 4)
    os.killpg(process.pid, number)
    output, _ = process.communicate(timeout=command.SECONDS)
    assert process.returncode == 128 + number
    assert "✗" not in output
    assert "ended with" not in output, "the driver is the demo's to end"
    assert_nothing_is_left(directory)


def test_reader_goes_away(directory):
    process = demo(directory)
    read_steps(process, 3)
    process.stdout.close()
    assert process.wait(command.SECONDS) == 0
    process.stderr.close()
    assert_nothing_is_left(directory)


def test_failed_step(directory):
    """The driver dies under its hands."""
    process = demo(directory)
    read_steps(process, 4)
    driver, = (pid for pid in children_of(process.pid)
               if command_of(pid).startswith("holdfast serve"))
    os.kill(driver, signal.SIGKILL)
    output, _ = process.communicate(timeout=command.SECONDS)
    assert process.returncode == 1, output
    marks = {match[2]: match[1] for match in map(LINE.match, output.splitlines()) if match}
    assert (marks["expand mounted"], marks["clean up"]) == ("✗", "✓")
    assert "ended with 137" in output
    assert_nothing_is_left(directory)


def test_killed_demo_takes_its_driver_along(directory):
    process = demo(directory)
    read_steps(process, 3)
    process.kill()
    process.communicate(timeout=command.SECONDS)
    left = host.leftovers(directory)
    host.release(directory)  # a loop device remains, which only a program could remove
    assert not [line for line in left if line.startswith(("process", "mount"))]


def test_without_the_right_to_mount(holdfast, directory):
    result = holdfast("demo", TMPDIR=str(directory),
                      prefix=("setpriv", "--bounding-set", "-sys_admin"))
    command.refused(result, 1, "CAP_SYS_ADMIN", "privileged")
    assert_nothing_is_left(directory)


def test_without_a_temporary_directory(holdfast, directory):
    command.refused(holdfast("demo", TMPDIR=f"{directory}/absent"), 1, f"{directory}/absent")


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def command_of(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().replace(b"\0", b" ").decode(errors="replace")
