# SPDX-License-Identifier: Apache-2.0
"""The findings of `holdfast doctor` about a driver's pool."""

import json
import subprocess

import driver_fixtures

SECONDS = 60


def findings(driver):
    """Findings by subject."""
    answer = subprocess.run(
        [driver_fixtures.binary(), "doctor", "--output=json",
         f"--state-dir={driver.directory}/state", f"--endpoint=unix://{driver.server.socket}",
         f"--pool=default=file:{driver.pool}"],
        check=False, stdout=subprocess.PIPE, timeout=SECONDS)
    return {finding["what"]: finding for finding in json.loads(answer.stdout)}
