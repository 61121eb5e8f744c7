# SPDX-License-Identifier: Apache-2.0
"""An API server for the whole run, and the chart in it."""

import pytest

import api_server
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
