# SPDX-License-Identifier: Apache-2.0
"""A backup program's side of csi.v1.SnapshotMetadata: streams of ranges, checked as the CSI
specification describes them, and what a backup does with them."""

import hashlib
import os
import pathlib
import shutil

UNIT = 4096  # every range is of whole ones
COMPARED = 65536  # where contents are compared
VARIABLE_LENGTH = 2
HEADER, DIGEST = 4096, 32  # of a table of digests, in bytes


def stream(call, method, start=0, most=0, **fields):
    """The ranges of one stream, (begin, end) each, checked against the rules for streams."""
    ranges, capacities = [], set()
    for message in call(method, starting_offset=start, max_results=most, **fields):
        assert message.block_metadata_type == VARIABLE_LENGTH
        assert 0 < len(message.block_metadata) <= (most or 1 << 20)
        capacities.add(message.volume_capacity_bytes)
        for extent in message.block_metadata:
            begin, end = extent.byte_offset, extent.byte_offset + extent.size_bytes
            assert begin < end and begin % UNIT == end % UNIT == 0
            assert not ranges or ranges[-1][1] < begin, "not ascending, or not joined"
            assert ranges or end > start
            assert end <= message.volume_capacity_bytes
            ranges.append((begin, end))
    assert len(capacities) <= 1
    return ranges


def allocated(call, snapshot, start=0, most=0):
    return stream(call, "GetMetadataAllocated", start, most, snapshot_id=snapshot)


def delta(call, base, target, start=0, most=0):
    return stream(call, "GetMetadataDelta", start, most, base_snapshot_id=base,
                  target_snapshot_id=target)


def units(ranges, unit=UNIT):
    """The numbers of the units that the ranges touch."""
    return {number for begin, end in ranges for number in range(begin // unit, -(-end // unit))}


def different_units(base, target, unit=UNIT):
    """The numbers of the units in which two byte strings differ; a shorter base ends with zeros."""
    base = base.ljust(len(target), b"\0")
    return {at // unit for at in range(0, len(target), unit)
            if base[at:at + unit] != target[at:at + unit]}


def data_units(target):
    return different_units(b"", target)


def check_restarts(again, whole):
    """`again(start, most)` is the stream from there on: begun where a range ended it is the rest of
    the whole one; within a range it has the rest of that, too."""
    for number, (begin, end) in enumerate(whole):
        assert again(end, 1 + number % 3) == whole[number + 1:]
    for begin, end in whole[::5]:
        middle = begin + (end - begin) // 2
        rest = again(middle, 0)
        assert rest[0][0] <= middle < rest[0][1] == end
        assert rest[1:] == [one for one in whole if one[0] > begin]


def apply(base, target, ranges, work: pathlib.Path):
    """As an incremental restore: the base, with the ranges of the target written over it."""
    restored = work / "restored"
    shutil.copyfile(base, restored)
    size = os.path.getsize(target)
    with open(restored, "r+b") as to, open(target, "rb") as source:
        to.truncate(size)
        for begin, end in ranges:
            source.seek(begin)
            to.seek(begin)
            to.write(source.read(end - begin))
    return restored


def restore(target, ranges, work: pathlib.Path):
    """As a full restore: the ranges of the target on a blank device."""
    blank = work / "blank"
    blank.write_bytes(b"")
    return apply(blank, target, ranges, work)


def check_table(table, content):
    """The table of digests is that of this content, however it was made."""
    blocks = [content[at:at + COMPARED] for at in range(0, len(content), COMPARED)]
    digests = [hashlib.sha256(block).digest() if any(block) else bytes(DIGEST) for block in blocks]
    assert table[HEADER:HEADER + DIGEST * len(blocks)] == b"".join(digests)
