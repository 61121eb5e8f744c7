# SPDX-License-Identifier: Apache-2.0
"""Records as docs/on-disk.md describes them, with other values under a right checksum."""

import json
import zlib


def with_changes(text, **changes):
    record = json.loads(text) | changes
    if record["state"] in ("formatting", "formatted"):
        record["filesystem_uuid"] = "7c0e4f3e-0000-4000-8000-000000000002"
    return sealed(record)


def sealed(record):
    """The text of any checked JSON object."""
    record.pop("crc32", None)
    canonical = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    record["crc32"] = f"{zlib.crc32(canonical.encode()):08x}"
    return (json.dumps(record, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode()
