# SPDX-License-Identifier: Apache-2.0
"""An API server for the whole run, and the chart in it."""

import json

import pytest

import api_server
import go_tools
from rendering import CHART, NAMESPACE


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    if missing := api_server.what_is_missing():
        pytest.skip(missing)
    server = api_server.ApiServer(tmp_path_factory.mktemp("api-server"))
    try:
        server.start()
        yield server
    finally:
        server.stop()


class Release:
    """The chart, installed in the API server."""

    def __init__(self, server):
        self.server = server

    def upgrade(self, values=(), text=""):
        settings = [word for value in values for word in ("--set", value)]
        self.server.helm("upgrade", "--install", "holdfast", CHART, "--namespace", NAMESPACE,
                         "--create-namespace", "--values", "-", *settings, text=text)

    def uninstall(self):
        self.server.helm("uninstall", "holdfast", "--namespace", NAMESPACE)


@pytest.fixture
def release(server):
    release = Release(server)
    release.upgrade()
    yield release
    release.uninstall()


@pytest.fixture
def snapshot_api(release):
    """The API of snapshots in the API server, for as long as the test runs."""
    files = [word for path in go_tools.snapshot_definitions() for word in ("-f", path)]
    release.server.kubectl("apply", *files)
    release.server.kubectl("wait", "--for=condition=Established", "--timeout=60s", *files)
    yield
    release.upgrade(["snapshots.enabled=false"])
    let_go(release.server, "volumesnapshotcontents", "volumesnapshots")
    release.server.kubectl("delete", "--timeout=60s", *files)


def let_go(server, *kinds):
    """Removes the finalizers that a failed test left, for which a deletion would wait."""
    for kind in kinds:
        listed = json.loads(server.kubectl("get", kind, "-A", "-o", "json").stdout)
        for found in listed["items"]:
            where = found["metadata"].get("namespace", "default")
            server.kubectl("patch", kind, found["metadata"]["name"], "-n", where, "--type=merge",
                           "-p", '{"metadata": {"finalizers": null}}')
