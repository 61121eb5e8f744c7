# SPDX-License-Identifier: Apache-2.0
"""Changed blocks of snapshots against a model of random writes: what is answered is never less than
the truth, wherever a stream begins, and an incremental backup restores to the target."""

import os
import random
import shutil
import subprocess

import grpc
import pytest

import changed_blocks
import content
import csi_client
import waiting
from changed_blocks import COMPARED, DIGEST, HEADER, UNIT, allocated, delta, units
from driver import MIB
from kubelet import Kubelet, PersistentVolume
from test_thick_snapshots import shares_blocks

DISK = 6 << 30  # sparse
SIZE = 24 * MIB
ROUNDS = 3
WRITES = 40
MOST_KEPT = 4  # tables of deleted snapshots, of one volume
CASES = [(host, provisioning) for host in ("xfs", "btrfs", "ext4")
         for provisioning in ("thin", "thick")]
refused = csi_client.refused


@pytest.fixture(params=CASES, ids="-".join)
def case(request):
    return request.param


@pytest.fixture
def driver(case, new_disk, new_driver):
    new_disk(DISK, filesystem=case[0])
    return new_driver()


@pytest.fixture
def kubelet(driver, directory):
    return Kubelet(directory / "kubelet", driver.call)


class Model:
    """A raw block volume that changes at random, and its snapshots."""

    def __init__(self, driver, kubelet, host, provisioning, seed):
        self.driver, self.kubelet, self.host = driver, kubelet, host
        self.thin = provisioning == "thin"
        self.random = random.Random(seed)
        made = driver.create("origin", size=SIZE, access="block", provisioning=provisioning)
        self.volume = PersistentVolume(made.volume_id, "origin", "block")
        self.bytes = bytearray(SIZE)
        self.snapshots = []  # (id, bytes)
        self.written = []  # units, before each snapshot

    def change(self):
        """Writes through the device: data, the same data again, zeros; and discards."""
        touched = set()
        device = self.kubelet.start_pod(self.volume, "pod")
        with open(device, "r+b", buffering=0) as file:
            for _ in range(WRITES):
                begin, length = self.place()
                what = self.random.choice(("data", "data", "data", "same", "zeros", "discard"))
                data = (self.random.randbytes(length) if what == "data" else
                        bytes(self.bytes[begin:begin + length]) if what == "same" else
                        bytes(length))
                if what == "discard" and self.discard(device, begin, length):
                    data = bytes(length)
                else:
                    os.pwrite(file.fileno(), data, begin)
                self.bytes[begin:begin + length] = data
                touched |= units([(begin, begin + length)])
            os.fsync(file.fileno())
        self.written.append(touched)

    def place(self):
        length = self.random.choice((512, UNIT, 3 * UNIT, COMPARED, 300_000))
        if self.random.random() < 0.3:  # of whole units, which can be discarded
            length = -(-length // UNIT) * UNIT
        begin = self.random.randrange(0, len(self.bytes) - length)
        return begin // 512 * 512 if length % UNIT else begin // UNIT * UNIT, length

    def discard(self, device, begin, length):
        """Whether the device has forgotten these bytes."""
        if begin % UNIT or length % UNIT or not self.thin:
            return False
        return subprocess.run(["fallocate", "--punch-hole", "--offset", str(begin), "--length",
                               str(length), device], capture_output=True).returncode == 0

    def cut(self):
        """Images of ext4 hosts are copied while nothing uses the volume."""
        name = f"snap-{len(self.snapshots)}"
        if self.host == "ext4":
            self.kubelet.end_pod(self.volume, "pod")
        made = self.driver.snapshot(self.volume.handle, name)
        waiting.until(lambda: self.driver.call("GetSnapshot", snapshot_id=made.snapshot_id)
                      .snapshot.ready_to_use, "the snapshot is ready")
        if self.host != "ext4":
            self.kubelet.end_pod(self.volume, "pod")
        kept = bytes(self.bytes)
        assert self.driver.image(made.snapshot_id).read_bytes() == kept
        self.snapshots.append((made.snapshot_id, kept))
        return made.snapshot_id

    def ask_all(self):
        """As a backup program does: from then on the snapshots get tables of digests."""
        for snapshot, _ in self.snapshots:
            allocated(self.driver.call, snapshot)

    def grow(self):
        size = len(self.bytes) + 4 * MIB
        self.driver.call("ControllerExpandVolume", volume_id=self.volume.handle,
                         capacity_range=csi_client.at_least(size))
        self.bytes += bytes(size - len(self.bytes))

    def await_own_blocks(self):
        for snapshot, _ in self.snapshots:
            image = self.driver.image(snapshot)
            waiting.until(lambda: not shares_blocks(image), f"{image} has blocks of its own")

    def table(self, snapshot):
        return self.driver.volume_directory(snapshot) / "digests"

    def kept_table(self, snapshot):
        """Of a deleted snapshot."""
        return self.driver.pool / "digests" / ".".join(
            one[-36:] for one in (snapshot, self.volume.handle))

    def await_tables(self, first=0):
        for snapshot, kept in self.snapshots[first:]:
            waiting.until(self.table(snapshot).exists, f"{snapshot} has a table of digests")
            changed_blocks.check_table(self.table(snapshot).read_bytes(), kept)

    def check(self, work):
        for number, (snapshot, kept) in enumerate(self.snapshots):
            self.check_allocated(snapshot, kept, work)
            for earlier in range(number + 1):
                self.check_delta(earlier, number, work)

    def check_allocated(self, snapshot, kept, work):
        ranges = allocated(self.driver.call, snapshot)
        assert units(ranges) >= changed_blocks.data_units(kept)
        restored = changed_blocks.restore(self.driver.image(snapshot), ranges, work)
        assert restored.read_bytes() == kept

    def check_delta(self, earlier, number, work):
        base, before = self.snapshots[earlier]
        target, after = self.snapshots[number]
        ranges = delta(self.driver.call, base, target)
        by_place = self.host != "ext4" and self.thin
        self.check_ranges(ranges, before, after, COMPARED if not by_place else None)
        if by_place:
            written = set().union(*self.written[earlier + 1:number + 1])
            assert units(ranges) <= written | units([(len(before), len(after))])
        restored = changed_blocks.apply(self.driver.image(base), self.driver.image(target), ranges,
                                        work)
        assert restored.read_bytes() == after
        assert delta(self.driver.call, base, base) == []

    def check_ranges(self, ranges, before, after, unit=COMPARED):
        """Not less than the truth and, in blocks of `unit`, not more."""
        assert units(ranges) >= changed_blocks.different_units(before, after), "less than the truth"
        grown = [(len(before), len(after))] if len(after) > len(before) else []
        assert units(ranges) >= units(grown)
        if unit:
            most = changed_blocks.different_units(before, after, unit)
            assert units(ranges, unit) <= most | units(grown, unit)

    def check_deleted_base(self, base, before, number, work):
        """An incremental backup whose base is gone, applied to the backup of that."""
        target, after = self.snapshots[number]
        ranges = delta(self.driver.call, base, target)
        self.check_ranges(ranges, before, after)
        (backup := work / "backup").write_bytes(before)
        restored = changed_blocks.apply(backup, self.driver.image(target), ranges, work)
        assert restored.read_bytes() == after


def test_against_a_model_of_random_writes(case, driver, kubelet, directory):
    model = Model(driver, kubelet, *case, seed=str(case))
    for number in range(ROUNDS):
        model.change()
        model.cut()
        if number == 1:
            model.grow()
    model.check(directory)
    if case[1] == "thick" and case[0] != "ext4":
        model.await_own_blocks()
        model.check(directory)
    model.await_tables()
    model.check(directory)
    check_odd_tables(model, directory)
    driver.crash()
    model.check(directory)
    (first, _), *_, (last, _) = model.snapshots
    changed_blocks.check_restarts(lambda start, most: delta(driver.call, first, last, start, most),
                                  delta(driver.call, first, last))
    changed_blocks.check_restarts(lambda start, most: allocated(driver.call, last, start, most),
                                  allocated(driver.call, last))
    driver.delete(model.volume.handle)  # snapshots of a volume that is gone
    model.check_delta(0, ROUNDS - 1, directory)
    driver.delete_snapshot(model.snapshots[1][0])
    model.check_delta(0, ROUNDS - 1, directory)


def check_odd_tables(model, work):
    """A table that is not the snapshot's own is not used; one that is missing is made again."""
    first, second, third = (model.table(snapshot) for snapshot, _ in model.snapshots)
    good = second.read_bytes()
    second.write_bytes(first.read_bytes())
    third.unlink()
    model.check(work)
    model.await_tables()
    assert len(third.read_bytes()) == HEADER + DIGEST * (-(-len(model.bytes) // COMPARED) + 1)
    second.unlink()
    model.check(work)
    model.await_tables()
    assert second.read_bytes() == good
    unfinished = second.with_name("digests.tmp")
    unfinished.write_bytes(good[:5000])
    model.driver.crash()
    assert not unfinished.exists(), "what a killed process has made of a table"
    flip(third, HEADER + 5)
    model.check(work)


def flip(path, at):
    """A bit of the file, in place."""
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def test_deleted_bases_against_a_model_of_random_writes(case, driver, kubelet, directory):
    model = Model(driver, kubelet, *case, seed=f"deleted {case}")
    for number in range(ROUNDS):
        model.change()
        model.cut()
        if number == 0:
            model.grow()
    model.ask_all()
    model.await_tables()
    (first, before), (second, between), (third, _) = model.snapshots
    driver.delete_snapshot(first)
    assert model.kept_table(first).exists()
    for number in (1, 2):
        model.check_deleted_base(first, before, number, directory)
    changed_blocks.check_restarts(lambda start, most: delta(driver.call, first, third, start, most),
                                  delta(driver.call, first, third))
    check_odd_kept_tables(model, first, directory)
    driver.crash()
    model.table(third).unlink()  # the image is read instead
    model.check_deleted_base(first, before, 2, directory)
    flip(model.table(second), HEADER + 5)  # the same
    model.check_deleted_base(first, before, 1, directory)
    driver.delete(model.volume.handle)
    model.await_tables(1)
    driver.delete_snapshot(second)  # its table was damaged, and has been made again
    model.check_deleted_base(second, between, 2, directory)
    with refused("NOT_FOUND"):
        delta(driver.call, first, second)
    driver.delete_snapshot(third)
    assert not (driver.pool / "digests").exists()
    with refused("NOT_FOUND"):
        delta(driver.call, first, third)


def check_odd_kept_tables(model, base, work):
    """A table that is damaged, or another snapshot's, is none."""
    call, kept = model.driver.call, model.kept_table(base)
    good = kept.read_bytes()
    other = model.snapshots[1][0]
    blocks = -(-len(model.snapshots[0][1]) // COMPARED)
    for at in (0, 100, HEADER - 1, HEADER, HEADER + DIGEST * blocks // 2, len(good) - 1):
        flip(kept, at)
        with refused("NOT_FOUND"):
            delta(call, base, other)
        kept.write_bytes(good)
    for odd in (b"", good[:HEADER], good[:-1], good + b"x", model.table(other).read_bytes()):
        kept.write_bytes(odd)
        with refused("NOT_FOUND"):
            delta(call, base, other)
    kept.write_bytes(good)
    model.check_deleted_base(base, model.snapshots[0][1], 1, work)


@pytest.mark.parametrize("case", [("xfs", "thin"), ("ext4", "thin")], indirect=True, ids="-".join)
def test_a_base_that_was_never_asked_about_is_gone_with_its_snapshot(driver):
    volume = driver.create("pv", access="block", size=SIZE).volume_id
    one, two = (driver.snapshot(volume, name).snapshot_id for name in ("one", "two"))
    driver.delete_snapshot(one)
    with refused("NOT_FOUND"):
        delta(driver.call, one, two)
    assert not (driver.pool / "digests").exists()


@pytest.mark.parametrize("case", [("xfs", "thin"), ("xfs", "thick"), ("ext4", "thin")],
                         indirect=True, ids="-".join)
def test_a_snapshot_that_is_made_again_has_nothing_of_the_earlier_one(case, driver, kubelet,
                                                                      directory):
    model = Model(driver, kubelet, *case, seed=f"again {case}")
    model.change()
    model.cut()
    model.ask_all()
    model.await_tables()
    (first, before), = model.snapshots
    driver.delete_snapshot(first)
    assert model.kept_table(first).exists()
    model.snapshots.clear()
    model.written.clear()
    model.change()
    again = model.cut()
    assert again == first and not model.kept_table(first).exists()
    model.change()
    model.cut()
    model.check_delta(0, 1, directory)
    driver.delete_snapshot(again)  # it has a table only if that was made since
    now = model.snapshots[0][1]
    try:
        model.check_ranges(delta(driver.call, first, model.snapshots[1][0]), now,
                           model.snapshots[1][1])
    except grpc.RpcError as error:
        assert csi_client.code_of(error) == "NOT_FOUND"
    assert before != now


@pytest.mark.parametrize("case", [("xfs", "thin")], indirect=True, ids="-".join)
def test_some_tables_are_kept_of_each_volume(driver):
    volume, other = (driver.create(name, access="block", size=SIZE).volume_id
                     for name in ("pv", "other"))
    snapshots = [driver.snapshot(volume, f"snap-{number}").snapshot_id
                 for number in range(MOST_KEPT + 3)]
    strange = driver.snapshot(other, "strange").snapshot_id
    *bases, target = snapshots
    for snapshot in (*snapshots, strange):
        allocated(driver.call, snapshot)
    tables = {snapshot: driver.volume_directory(snapshot) / "digests"
              for snapshot in (*snapshots, strange)}
    for table in tables.values():
        waiting.until(table.exists, f"{table} is made")
    bases.sort(key=lambda base: tables[base].stat().st_mtime_ns)
    driver.delete_snapshot(strange)
    with refused("INVALID_ARGUMENT", "base_snapshot_id"):
        delta(driver.call, strange, target)
    for base in bases:
        driver.delete_snapshot(base)
    for base in bases[-MOST_KEPT:]:
        assert delta(driver.call, base, target) == []
        for start in (-1, SIZE + 1):
            with refused("OUT_OF_RANGE", "offset"):
                delta(driver.call, base, target, start)
    for base in bases[:-MOST_KEPT]:
        with refused("NOT_FOUND"):
            delta(driver.call, base, target)
    kept = driver.pool / "digests"
    assert len(list(kept.iterdir())) == MOST_KEPT + 1
    driver.delete(other)
    assert len(list(kept.iterdir())) == MOST_KEPT
    driver.delete_snapshot(target)  # which has a table, too
    driver.delete(volume)
    assert not kept.exists()


@pytest.mark.parametrize("case", [("xfs", "thin")], indirect=True, ids="-".join)
def test_kept_tables_that_nothing_needs_are_removed(driver):
    volume = driver.create("pv", access="block", size=SIZE).volume_id
    base = driver.snapshot(volume, "base").snapshot_id
    allocated(driver.call, base)
    waiting.until((driver.volume_directory(base) / "digests").exists, "it has a table")
    driver.delete_snapshot(base)
    [kept] = (driver.pool / "digests").iterdir()
    unneeded = kept.with_name(f"{base[-36:]}.{base[-36:]}")  # as of a volume that is gone
    foreign = kept.with_name("notes")
    shutil.copyfile(kept, unneeded)
    foreign.write_text("the administrator's")
    driver.restart()
    waiting.until(lambda: not unneeded.exists(), "the reconciler has removed it")
    assert kept.exists() and foreign.exists()
    foreign.unlink()


@pytest.mark.parametrize("case", [("xfs", "thin"), ("ext4", "thin")], indirect=True, ids="-".join)
def test_what_cannot_be_asked_is_refused(driver):
    volume = driver.create("pv", access="block", size=SIZE).volume_id
    other = driver.create("other", access="block", size=SIZE).volume_id
    one, two = (driver.snapshot(volume, name).snapshot_id for name in ("one", "two"))
    strange = driver.snapshot(other, "strange").snapshot_id
    unknown = one[:-4] + "0000"
    call = driver.call
    assert allocated(call, one) == delta(call, one, two) == delta(call, two, one) == []
    assert allocated(call, one, start=SIZE) == delta(call, one, two, start=SIZE) == []
    for snapshot, code in (("", "INVALID_ARGUMENT"), (unknown, "NOT_FOUND"), ("x", "NOT_FOUND"),
                           (volume, "NOT_FOUND"), ("s:" + volume, "NOT_FOUND")):
        with refused(code):
            allocated(call, snapshot)
        with refused(code):
            delta(call, snapshot, two)
        with refused(code):
            delta(call, one, snapshot)
    with refused("INVALID_ARGUMENT", "base_snapshot_id"):
        delta(call, strange, one)
    for start in (-1, -(1 << 63), SIZE + 1, SIZE + UNIT, (1 << 63) - 1):
        with refused("OUT_OF_RANGE", "offset"):
            allocated(call, one, start)
        with refused("OUT_OF_RANGE", "offset"):
            delta(call, one, two, start)
    with refused("INVALID_ARGUMENT", "max_results"):
        allocated(call, one, most=-1)
    driver.delete_snapshot(two)  # of the base a table is enough, of the target nothing is
    with refused("NOT_FOUND"):
        delta(call, one, two)


@pytest.mark.parametrize("case", [("ext4", "thin")], indirect=True, ids="-".join)
def test_a_snapshot_that_is_being_copied_is_not_ready(driver):
    volume = driver.create("pv", access="block", size=900 * MIB).volume_id
    content.write(driver.image(volume), 800 * MIB)
    snapshot = driver.snapshot(volume, "snap")
    assert not snapshot.ready_to_use
    with refused("ABORTED", "is being copied"):
        allocated(driver.call, snapshot.snapshot_id)
    driver.delete_snapshot(snapshot.snapshot_id)


@pytest.mark.parametrize("case", [("xfs", "thin")], indirect=True, ids="-".join)
def test_a_client_that_does_not_read_delays_no_stop(driver):
    volume = driver.create("pv", access="block", size=400 * MIB).volume_id
    with open(driver.image(volume), "r+b", buffering=0) as image:
        for number in range(40_000):
            os.pwrite(image.fileno(), b"x" * UNIT, 2 * UNIT * number)
        os.fsync(image.fileno())
    snapshot = driver.snapshot(volume, "snap").snapshot_id
    assert len(allocated(driver.call, snapshot)) == 40_000
    method = csi_client.METHODS["GetMetadataAllocated"]
    with grpc.insecure_channel(driver.client.target) as channel:
        call = channel.unary_stream(f"/{method.containing_service.full_name}/{method.name}",
                                    request_serializer=lambda message: message.SerializeToString(),
                                    response_deserializer=lambda message: message)
        stream = call(csi_client.request(method, {"snapshot_id": snapshot, "max_results": 1}))
        next(stream)
        driver.restart()
        with pytest.raises(grpc.RpcError):
            list(stream)
