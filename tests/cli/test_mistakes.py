# SPDX-License-Identifier: Apache-2.0
"""Typical mistakes of newcomers: each answer names what is wrong, and what to do about it."""

import http.server
import os
import subprocess
import threading

import pytest

import command
import driver_fixtures

USAGE, FAILURE = 2, 1
# Words of the command, the exit code, and what the answer must say. {} is the test's directory, which has an
# empty directory `pool`, a file `file`, and a directory `full` with a file in it.
SERVE = ("serve", "--node-id=n1", "--endpoint=unix://{}/csi.sock", "--state-dir={}/state")
GOOD = "--pool=default=file:{}/pool"
MISTAKES = {
    "no pool": (SERVE, USAGE, ["no pool is configured; give --pool=NAME=KIND:LOCATION"]),
    "a pool without a name": ((*SERVE, "--pool=/srv"), USAGE, ["pool '/srv'", "NAME="]),
    "a pool without =": ((*SERVE, "--pool=default:/srv"), USAGE, ["NAME="]),
    "a pool without a kind": ((*SERVE, "--pool=default=/srv"), USAGE, ["file:DIRECTORY", "rbd:"]),
    "no directory": ((*SERVE, "--pool=default=file:{}/none"), FAILURE,
                     ["'{}/none'", "make the directory, or mount its disk"]),
    "a relative directory": ((*SERVE, "--pool=default=file:pool"), USAGE, ["absolute"]),
    "a file": ((*SERVE, "--pool=default=file:{}/file"), FAILURE, ["'{}/file'", "name a directory"]),
    "a full directory": ((*SERVE, "--pool=default=file:{}/full"), FAILURE,
                         ["not empty ('f')", "a new pool needs an empty directory"]),
    "an unknown key": ((*SERVE, f"{GOOD},size=10Gi"), USAGE, ["unknown key 'size'", "reserve"]),
    "an unknown filesystem": ((*SERVE, f"{GOOD},fs=ext5"), USAGE,
                              ["'ext5' is not supported (supported: ext4, "]),
    "a size of another kind": ((*SERVE, f"{GOOD},reserve=10GB"), USAGE,
                               ["reserve='10GB'", "such as 5% or 20Gi"]),
    "a fraction": ((*SERVE, f"{GOOD},watermark=0.9"), USAGE, ["watermark='0.9'", "such as 90%"]),
    "an unknown kind": ((*SERVE, "--pool=default=zfs:tank"), USAGE, ["file:DIRECTORY", "rbd:"]),
    "an endpoint of TCP": (("serve", GOOD, "--endpoint=tcp://localhost:1"), USAGE,
                           ["must be a Unix socket such as unix:///run"]),
    "a flag in the plural": ((*SERVE, "--pools=x"), USAGE, ["did you mean '--pool'?"]),
    "a verb in the singular": (("volume",), USAGE, ["did you mean 'volumes'?"]),
    "a verb of others": (("start",), USAGE, ["unknown verb 'start'; known: serve, volumes"]),
    "a flag of others": (("pools", "--json"), USAGE, ["unknown flag '--json'", "pools --help"]),
    "a number in words": ((*SERVE, GOOD, "--max-volumes=ten"), USAGE,
                          ["--max-volumes: 'ten' must be a whole number"]),
    "a port without a colon": ((*SERVE, GOOD, "--health-address=9808"), USAGE,
                               ["'9808' must be HOST:PORT, such as"]),
    "one directory for two things": (
        ("serve", "--node-id=n1", "--endpoint=unix://{}/csi.sock", "--state-dir={}/pool", GOOD), USAGE,
        ["is the state directory and the directory of pool 'default'"]),
    "a controller without a link": ((*SERVE, "--role=controller"), USAGE, ["give --link-listen"]),
    "nothing runs": (("pools", "--endpoint=unix://{}/none.sock"), FAILURE,
                     ["there is no socket '{}/none.sock'; start `holdfast serve`"]),
    "a word that is none of them": ((*SERVE, GOOD, "--log-level=loud"), USAGE,
                                    ["'loud' must be one of: debug, info"]),
    "a Ceph user with its type": (
        (*SERVE, "--pool=c=rbd:x,monitors=a:1,user=client.holdfast,keyring=/k"), USAGE,
        ["user='client.holdfast' must be without 'client.'"]),
    "a Ceph user without a key": ((*SERVE, "--pool=c=rbd:x,monitors=a:1,user=holdfast"), USAGE,
                                  ["keyring= is missing: user and keyring go together"]),
}
FILES = {
    "a list in the singular": ("pool:\n  - name: a\n", ["line 1", "did you mean 'pools'?"]),
    "a number in words": ("maxVolumes: lots\n", ["line 1: maxVolumes: 'lots' must be a whole"]),
    "a key of the chart": ("pools:\n  - name: default\n    path: /srv\n",
                           ["line 2", "its keys are name, path, and file or rbd is missing"]),
    "a flag": ("node-id: a\n", ["unknown setting 'node-id'", "nodeId"]),
}


@pytest.fixture(name="place")
def place_fixture(directory):
    (directory / "pool").mkdir()
    (directory / "file").touch()
    (directory / "full").mkdir()
    (directory / "full/f").touch()
    return directory


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_command(holdfast, place, mistake):
    words, code, said = MISTAKES[mistake]
    result = holdfast(*(word.replace("{}", str(place)) for word in words))
    assert result.returncode == code, result.stderr
    assert "holdfast: " in result.stderr
    for text in said:
        assert text.replace("{}", str(place)) in result.stderr


@pytest.mark.parametrize("mistake", FILES)
def test_a_file(holdfast, place, mistake):
    text, said = FILES[mistake]
    path = place / "config.yaml"
    path.write_text(text)
    command.refused(holdfast("serve", "--config", path), USAGE, str(path), *said)


def test_help_and_version_are_verbs_too(holdfast):
    assert holdfast("help").stdout == holdfast("--help").stdout
    assert holdfast("help", "serve").stdout == holdfast("serve", "--help").stdout
    assert holdfast("version").stdout == holdfast("--version").stdout


def test_a_port_that_is_taken(holdfast, place):
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        address = f"127.0.0.1:{other.server_port}"
        words = [*SERVE, GOOD, f"--health-address={address}"]
        result = holdfast(*(word.replace("{}", str(place)) for word in words))
        other.shutdown()
        thread.join()
    assert result.returncode == FAILURE
    assert f"cannot listen on '{address}'" in result.stderr and "in use" in result.stderr


def test_without_root(place):
    """With a state directory that is root's, and with directories of its own."""
    user = ("setpriv", "--reuid=65532", "--regid=65532", "--clear-groups")
    place.chmod(0o711)
    (place / "state").mkdir(mode=0o700)
    words = [word.replace("{}", str(place)) for word in (*SERVE, GOOD)]
    result = command.run(*words, prefix=user)
    assert result.returncode == FAILURE
    assert "run Holdfast as root" in result.stderr
    for name in ("state", "pool", "."):
        os.chown(place / name, 65532, 65532)
    with subprocess.Popen([*user, driver_fixtures.binary(), *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as driver:
        readiness = next(line for line in driver.stdout if "ready" in line)
        driver.terminate()
    assert "not ready: " in readiness and "run Holdfast as root" in readiness
