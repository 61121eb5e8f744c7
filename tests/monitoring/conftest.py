# SPDX-License-Identifier: Apache-2.0
"""One scene for all tests, and the Prometheus that watches it."""

import pytest

import prometheus as prometheus_module
import scene as scene_module


@pytest.fixture(scope="session")
def scene():
    with scene_module.running() as made:
        made.act()
        yield made
        made.delete_all()


@pytest.fixture(scope="session")
def prometheus(scene):
    """It has seen a second round of everything, so there is something to be counted per second."""
    with prometheus_module.watching(scene) as started:
        started.await_scrape()
        scene.act()
        started.await_scrape()
        yield started
