# SPDX-License-Identifier: Apache-2.0
"""The shared libraries that programs need, read from their ELF headers."""

import re
import subprocess


def needed(path):
    """Returns the sonames that an ELF file names, including its loader's."""
    said = subprocess.run(["readelf", "--wide", "--dynamic", path], check=True,
                          capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)]", said)


def of_name(soname):
    """Returns the path at which the loader of this host finds a library by its name."""
    said = subprocess.run(["/sbin/ldconfig", "--print-cache"], check=True, capture_output=True,
                          text=True).stdout
    found = re.search(rf"^\s*{re.escape(soname)} .* => (\S+)$", said, re.MULTILINE)
    if found is None:
        raise SystemExit(f"image: this host has no {soname}; run make deps")
    return found[1]


def on_this_host(file):
    """Returns the paths of all shared libraries that this host's loader would map for a program or a
    library."""
    said = subprocess.run(["ldd", file], check=True, capture_output=True, text=True).stdout
    if missing := re.findall(r"(\S+) => not found", said):
        raise SystemExit(f"image: {file} lacks {', '.join(missing)} on this host")
    return sorted(set(re.findall(r"(/\S+) \(0x", said)))


def check_closed(files, directories):
    """Exits with an error if a library that the files need is in none of the directories."""
    waiting, seen = list(files), set()
    while waiting:
        path = waiting.pop()
        for soname in set(needed(path)) - seen:
            seen.add(soname)
            found = [directory / soname for directory in directories
                     if (directory / soname).exists()]
            if not found:
                raise SystemExit(f"image: {path} needs {soname}, which is not in the image")
            waiting.append(found[0])
