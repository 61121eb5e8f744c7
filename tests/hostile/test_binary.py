# SPDX-License-Identifier: Apache-2.0
"""How the binary was compiled and linked: options that make a bug in it hard to exploit."""

import re
import subprocess

from driver_fixtures import binary


def readelf(*options):
    return subprocess.run(["readelf", "--wide", *options, str(binary())], capture_output=True,
                          text=True, check=True).stdout


def test_its_place_in_memory_is_random():
    assert re.search(r"Type:\s+DYN \(Position-Independent Executable file\)", readelf("--file-header"))
    assert "FLAGS_1" in readelf("--dynamic") and "PIE" in readelf("--dynamic")


def test_pointers_of_libraries_are_fixed_before_main():
    dynamic = readelf("--dynamic")
    assert re.search(r"\(FLAGS\)\s+.*BIND_NOW", dynamic), "lazy binding keeps them writable"
    assert "GNU_RELRO" in readelf("--program-headers")


def test_no_memory_is_writable_and_executable():
    segments = [line.split() for line in readelf("--program-headers").splitlines()]
    [stack] = [words for words in segments if words[:1] == ["GNU_STACK"]]
    assert "E" not in "".join(words for words in stack if set(words) <= set("RWE"))
    assert "RWE" not in readelf("--program-headers")
    assert "TEXTREL" not in readelf("--dynamic")


def test_stacks_and_library_calls_are_guarded():
    imported = set(re.findall(r"(\w+)@GLIBC", readelf("--dyn-syms")))
    assert "__stack_chk_fail" in imported, "-fstack-protector"
    checked = {name for name in imported if re.fullmatch(r"__\w+_chk", name)}
    assert len(checked) >= 5, f"-D_FORTIFY_SOURCE: only {checked}"


def test_nothing_is_looked_for_outside_of_the_system():
    assert not re.search(r"\((RPATH|RUNPATH)\)", readelf("--dynamic"))
