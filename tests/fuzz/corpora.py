# SPDX-License-Identifier: Apache-2.0
"""The kept inputs of each target, in one archive: tests/fuzz/corpus/TARGET.tar.xz.

The same inputs make the same bytes. To look into one: tar -tvf tests/fuzz/corpus/link.tar.xz"""

import io
import os
import pathlib
import tarfile

DIRECTORY = pathlib.Path(__file__).resolve().parent / "corpus"
SEED = "seed-"  # prefix of the names of make-seeds' files


def path_of(target):
    return DIRECTORY / f"{target}.tar.xz"


def read(target):
    """Bytes by name; none for a target without an archive."""
    if not path_of(target).exists():
        return {}
    with tarfile.open(path_of(target)) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def write(target, inputs):
    """Leaves an archive that holds just these as it is: another xz might pack it otherwise."""
    if read(target) == inputs:
        return
    DIRECTORY.mkdir(exist_ok=True)
    new = path_of(target).with_suffix(".new")
    with tarfile.open(new, "w:xz", format=tarfile.USTAR_FORMAT, preset=9) as archive:
        for name, data in sorted(inputs.items()):
            member = tarfile.TarInfo(name)  # of owner, group and time 0
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    os.replace(new, path_of(target))
