# SPDX-License-Identifier: Apache-2.0
"""The libraries of Debian packages that are in the driver, found in its build files."""

import re
import subprocess

# The C library's and the kernel's headers contain only declarations.
DECLARATIONS = ("/usr/include/linux/", "/usr/include/asm", "/usr/include/x86_64-linux-gnu/",
                "/usr/include/aarch64-linux-gnu/")


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


def headers(build_directory):
    """Returns the headers outside the sources that were compiled into the driver. Header-only
    libraries (JSON, log, command line, HTTP) are found this way."""
    said = subprocess.run(["ninja", "-C", build_directory, "-t", "deps"], capture_output=True,
                          text=True, check=True).stdout
    objects = re.split(r"\n\n", said)
    used = {line.strip() for entry in objects if entry.startswith("CMakeFiles/holdfast")
            for line in entry.splitlines()[1:]}
    return sorted(path for path in used if path.startswith("/usr/include/")
                  and not path.startswith(DECLARATIONS))
