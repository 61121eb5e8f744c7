# SPDX-License-Identifier: Apache-2.0
"""The libraries in third_party, which are built with the driver."""

import dataclasses
import json
import pathlib

DIRECTORY = pathlib.Path(__file__).resolve().parents[2] / "third_party"


@dataclasses.dataclass(frozen=True)
class Library:
    name: str
    directory: str
    repository: str  # OWNER/NAME on GitHub
    version: str     # the release's tag
    commit: str
    licence: str     # SPDX identifier
    licence_file: str
    part: str        # of the release that is here

    @property
    def licence_path(self):
        return DIRECTORY / self.directory / self.licence_file


def libraries():
    return [Library(**entry) for entry in json.loads((DIRECTORY / "libraries.json").read_text())]
