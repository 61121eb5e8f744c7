# SPDX-License-Identifier: Apache-2.0
"""The libraries of Debian packages that are linked into the driver, from its link command."""

import re


def linked(build_file):
    """Returns the paths of the static libraries that a Ninja build file links into holdfast."""
    if not build_file.is_file():
        raise SystemExit(f"image: {build_file} is missing, which says what is linked into the "
                         "driver; run make build")
    command = re.search(r"^build holdfast: .*?^  LINK_LIBRARIES = (.*?)$", build_file.read_text(),
                        re.MULTILINE | re.DOTALL)
    if command is None:
        raise SystemExit(f"image: {build_file} has no link command of holdfast")
    return sorted({word for word in command[1].split()
                   if word.startswith("/") and word.endswith(".a")})
