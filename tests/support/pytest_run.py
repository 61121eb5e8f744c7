# SPDX-License-Identifier: Apache-2.0
"""Runs a directory of tests against the holdfast binary, in a private mount namespace."""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

import host
import mount_namespace

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FAIL, CANNOT_RUN = 1, 77
PROTOCOLS = ("csi.proto", "admin.proto", "link.proto", "pluginregistration.proto")


def parser(description, epilog=None):
    options = argparse.ArgumentParser(description=description, epilog=epilog)
    options.add_argument("--binary", type=pathlib.Path,
                         default=REPOSITORY / "build" / "release" / "holdfast")
    options.add_argument(mount_namespace.INSIDE, action="store_true", help=argparse.SUPPRESS)
    return options


def generate_messages(directory):
    """Makes the Python classes of the wire contract, for `import csi_pb2`."""
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{REPOSITORY / 'proto'}",
                    f"--python_out={directory}", *PROTOCOLS], check=True)


@contextlib.contextmanager
def prepared(suite, options):
    """Within it the binary can be tested: in a mount namespace, with the messages to be imported.
    Yields the exit code if it cannot; `suite` is the directory of the script that calls."""
    if not (options.binary.is_file() and os.access(options.binary, os.X_OK)):
        print(f"{suite.name}: {options.binary} is missing: run make build", file=sys.stderr)
        yield FAIL
        return
    if missing := mount_namespace.what_the_host_lacks():
        print(f"{suite.name}: skipped: {missing}")
        yield CANNOT_RUN
        return
    if not options.in_namespace:
        mount_namespace.enter(suite / "run")
    host.adopt_orphans()
    os.environ["HOLDFAST_BINARY"] = str(options.binary.resolve())
    with tempfile.TemporaryDirectory(prefix="holdfast-messages-") as messages:
        generate_messages(messages)
        sys.path[:0] = [messages, str(suite)]
        yield None


def main(suite, description):
    """Runs the directory's tests with pytest and returns the exit code."""
    options, pytest_arguments = parser(
        description, "Further arguments go to pytest, such as -k NAME or -x.").parse_known_args()
    with prepared(suite, options) as code:
        if code is not None:
            return code
        return pytest.main([str(suite), f"--rootdir={suite}", "-p", "driver_fixtures",
                            "-p", "no:cacheprovider", "-q", "--tb=short", *pytest_arguments])
