# SPDX-License-Identifier: Apache-2.0
"""csi-sanity's specs of Identity and Controller against volumes in Ceph. The node's specs need the
kernel's rbd (tests/ceph/guest)."""

import os
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "sanity"))
import report  # noqa: E402
import suite  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FOCUS = r"Identity Service|\[Controller Server\]"
LOST_RACE = "Connection timed out"  # see tests/sanity/run
SKIPS = REPOSITORY / "tests" / "sanity" / "skips.txt"


@pytest.mark.slice
@pytest.mark.parametrize("access", ["mount", "block"])
@pytest.mark.parametrize("flags, least", [((), 40), (("--attach",), 48)], ids=["", "attach"])
def test_the_controllers_specs(access, flags, least, new_driver):
    driver = new_driver(flags=flags)
    tools = pathlib.Path(os.environ.get("HOLDFAST_TOOLS_DIR", REPOSITORY / "build" / "tools"))
    csi_sanity = tools / "csi-sanity"
    assert csi_sanity.exists(), f"{csi_sanity} is missing: run scripts/go-tools"
    for _ in range(2):
        specs, problem = suite.run(csi_sanity, driver.directory, [driver.server], access, "thin",
                                   verbose=False, focus=FOCUS)
        assert not problem, problem
        ran = [spec for spec in specs if spec.outcome != "skipped"]
        failed = [f"{spec.name}\n{spec.text}" for spec in ran if spec.outcome != "passed"]
        if not failed or not all(LOST_RACE in text for text in failed):
            break
    assert not failed, "\n".join(failed)
    assert len(ran) >= least, "that many specs there are at least"
    skips = report.Skips(SKIPS)
    unexplained = [spec.name for spec in specs if spec.outcome == "skipped"
                   and re.search(FOCUS, spec.name) and not skips.capability(spec.name)]
    assert not unexplained
