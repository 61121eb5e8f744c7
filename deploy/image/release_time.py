# SPDX-License-Identifier: Apache-2.0
"""The version of this source, and the time that everything made from it carries."""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def version():
    return re.search(r"project\(holdfast VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def epoch():
    """Returns the timestamp of all files: SOURCE_DATE_EPOCH, or the last commit's time."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    said = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True,
                          text=True, check=False)
    if said.returncode != 0:
        raise SystemExit("there is no git history to read the time from; set SOURCE_DATE_EPOCH")
    return int(said.stdout)
