# SPDX-License-Identifier: Apache-2.0
"""Snapshots, restores and copies in file pools, next to the bare system calls."""
import dataclasses
import itertools
import os
import subprocess
import time

import csi_client
from harness.server import Server
from harness.settings import FILESYSTEMS, SIZE_MIB
from harness.sides import Bench, Samples, percentile

from . import calls, disks, driver, link, rounds

MIB = 1 << 20
SECTOR_SIZE = 4096  # of the driver's volumes in pools that share blocks
WRITERS = 4
UNSHARED_AT_ONCE = 8 * MIB  # kPiece in src/file/image_copy.cc


@dataclasses.dataclass(frozen=True)
class Settings:
    rounds: int
    volumes: int  # per round
    cuts: int  # of written filesystems, per round
    bulk_rounds: int
    bulk_mib: int
    many: int  # snapshots


FULL = Settings(rounds=6, volumes=8, cuts=6, bulk_rounds=6, bulk_mib=512, many=1000)
QUICK = Settings(rounds=2, volumes=4, cuts=4, bulk_rounds=2, bulk_mib=128, many=200)


class Pool:
    """A driver whose pool is a small disk, and the raw side beside it on that disk."""

    def __init__(self, binary, place, name: str, filesystem: str, library):
        self.disk = place.directory / name
        disks.make(place, name, filesystem, 6, self.disk)
        self.directory = self.disk / "pool"
        self.directory.mkdir()
        self.driver_calls = calls.Log(library, place.directory / f"{name}-driver.calls")
        self.raw_calls = calls.Log(library, place.directory / f"{name}-raw.calls")
        tools = binary.parent / "bench"
        self.server = Server(binary, tools / "bench-driver", place, f"{name}-driver",
                             f"bench=file:{self.directory},reserve=1%,overcommit=100",
                             self.driver_calls.environment)
        self.bench = Bench(tools, place, self.server, self.disk / "raw")
        self.client = csi_client.Client(self.server.socket)
        self.server.start()


def everything(binary, place, settings: Settings, say) -> dict:
    library = binary.parent / "bench/libbench-kernel-calls.so"
    xfs = Pool(binary, place, "xfs", "xfs", library)
    results = {"calls": _calls(xfs, settings, say), "frozen": _frozen(xfs, settings, say),
               "unshare": _unshare(xfs, settings, say), "memory": _memory(xfs, settings, say)}
    xfs.server.stop()
    ext4 = Pool(binary, place, "ext4", "ext4", library)
    results["copy"] = _copy(ext4, settings, say)
    ext4.server.stop()
    results["link"] = link.measure(binary, place, settings.bulk_mib, settings.bulk_rounds, say)
    return results


def _calls(pool: Pool, settings: Settings, say) -> dict:
    figures = {}
    for filesystem in FILESYSTEMS:
        say(f"snapshots and restores, {filesystem}")
        figures[filesystem] = pool.bench.alternate(
            "copies", settings.rounds, workers=1, volumes=settings.volumes, thin=True,
            filesystem=filesystem, size_mib=SIZE_MIB[filesystem], sector_size=SECTOR_SIZE,
            fill_mib=8)
    return figures


def _frozen(pool: Pool, settings: Settings, say) -> dict:
    """How long the writers of a mounted filesystem wait for a snapshot."""
    figures = {}
    for filesystem in ("ext4", "xfs"):
        say(f"snapshots of {filesystem} with {WRITERS} writers")
        times = {"raw": [], "driver": []}
        options = {"volumes": settings.cuts, "thin": True, "filesystem": filesystem,
                   "size_mib": max(128, SIZE_MIB[filesystem]), "sector_size": SECTOR_SIZE}
        pool.driver_calls.take()  # also growing and adopting freezes
        for number in range(settings.rounds):
            for side in ("raw", "driver") if number % 2 == 0 else ("driver", "raw"):
                if side == "raw":
                    pool.bench.raw("frozen", environment=pool.raw_calls.environment, **options)
                    log = pool.raw_calls
                else:
                    pool.bench.driver("frozen", **options)
                    log = pool.driver_calls
                times[side] += calls.frozen_microseconds(log.take())
        figures[filesystem] = {
            side: {"p50_us": percentile(values, 50), "max_us": round(max(values), 1),
                   "count": len(values)} for side, values in times.items()}
    return figures


def _unshare(pool: Pool, settings: Settings, say) -> dict:
    say("blocks of its own for a thick snapshot")
    size = settings.bulk_mib * MIB

    made = driver.create(pool.client, "unshare", size).volume_id
    driver.fill(pool.directory, made, size)

    def raw(_) -> float:
        """Of a clone of the same image, with the same calls."""
        image = driver.image_of(pool.directory, made)
        clone = pool.directory / "clone"
        subprocess.run(["cp", "--reflink=always", image, clone], check=True)
        commands = [("-c", f"funshare {at} {UNSHARED_AT_ONCE}")
                    for at in range(0, size, UNSHARED_AT_ONCE)]
        subprocess.run(["xfs_io", "-c", "fsync", *itertools.chain(*commands), clone], check=True,
                       env=os.environ | pool.raw_calls.environment)
        clone.unlink()
        return calls.unshare_rate(pool.raw_calls.take())

    def ours(number: int) -> float:
        pool.driver_calls.take()
        snapshot = driver.snapshot(pool.client, made, f"unshare-{number}")
        pool.server.stop()  # so that the work does not wait for the next regular look
        pool.server.start()
        driver.await_that(lambda: calls.unshared(pool.driver_calls.read()) >= size,
                          "the snapshot does not get blocks of its own")
        rate = calls.unshare_rate(pool.driver_calls.take())
        driver.delete(pool.client, snapshot)
        return rate

    rates = rounds.median_rates(settings.bulk_rounds, raw=raw, driver=ours)
    driver.delete(pool.client, made)
    return rates


def _copy(pool: Pool, settings: Settings, say) -> dict:
    """A clone of a volume, where no blocks can be shared."""
    say("copies of the data")
    size = settings.bulk_mib * MIB

    def raw(_) -> float:
        samples = Samples()
        samples.add("raw", pool.bench.raw("data", volumes=1, size_mib=settings.bulk_mib,
                                          fill_mib=settings.bulk_mib))
        return size / (samples.summary()["copy"]["raw"]["p50_us"] / 1e6)

    def ours(number: int) -> float:
        made = driver.create(pool.client, f"origin-{number}", size).volume_id
        driver.fill(pool.directory, made, size)
        start = time.monotonic()
        copy = driver.create(pool.client, f"copy-{number}", size, source=made).volume_id
        rate = size / (time.monotonic() - start)
        driver.delete(pool.client, copy, made)
        return rate

    return rounds.median_rates(settings.bulk_rounds, raw=raw, driver=ours)


def _memory(pool: Pool, settings: Settings, say) -> dict:
    """Of a server that has made and deleted some snapshots before."""
    say(f"{settings.many} snapshots")
    pool.server.stop()
    pool.server.start()
    made = driver.create(pool.client, "many", 16 * MIB, thick=False).volume_id
    warm = [driver.snapshot(pool.client, made, f"warm-{number}") for number in range(100)]
    driver.delete(pool.client, *warm)
    figures = {"snapshots": settings.many, "before": pool.server.status()}
    many = [driver.snapshot(pool.client, made, f"many-{number}")
            for number in range(settings.many)]
    figures["after"] = pool.server.status()
    driver.delete(pool.client, *many, made)
    return figures
