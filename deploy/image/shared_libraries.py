# SPDX-License-Identifier: Apache-2.0
"""The shared libraries that programs need, read from their ELF headers."""

import re
import subprocess


def needed(path):
    """Returns the sonames that an ELF file names, its loader's among them."""
    said = subprocess.run(["readelf", "--wide", "--dynamic", path], check=True,
                          capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)]", said)


def on_this_host(program):
    """Returns the paths of all shared libraries that the loader would map for a program here."""
    said = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    if missing := re.findall(r"(\S+) => not found", said):
        raise SystemExit(f"image: {program} lacks {', '.join(missing)} on this host")
    return sorted(set(re.findall(r"(/\S+) \(0x", said)))


def check_closed(programs, directories):
    """Ends with an error if a library that the programs need is in none of the directories."""
    waiting, seen = list(programs), set()
    while waiting:
        path = waiting.pop()
        for soname in set(needed(path)) - seen:
            seen.add(soname)
            found = [directory / soname for directory in directories
                     if (directory / soname).exists()]
            if not found:
                raise SystemExit(f"image: {path} needs {soname}, which is not in the image")
            waiting.append(found[0])
