"""Power cut while mounted volumes are snapshotted, and while snapshots are restored, staged for the
first time, and deleted. The pool is on xfs."""

import itertools

import workload
from driver import MIB, Volume
from recovery import check  # noqa: F401  the phase after the power cut

SHAPES = (("ext4", 128 * MIB), ("xfs", 320 * MIB))
KEPT = 2


def work(run_dir):
    driver = workload.start(run_dir)
    kept = []
    for number in itertools.count():
        fs, size = SHAPES[number % len(SHAPES)]
        provisioning = ("thick", "thin")[number // 2 % 2]
        origin = Volume(f"origin-{number}", size, fs=fs, provisioning=provisioning)
        workload.create(driver, origin)
        workload.stage(driver, origin)
        workload.write(origin, "first")
        name = f"snapshot-{number}"
        snapshot = workload.snapshot(driver, origin, name)
        workload.write(origin, "second")
        copy = Volume(f"copy-{number}", 2 * size, fs=fs, provisioning=provisioning, source=snapshot)
        workload.create(driver, copy)
        workload.stage(driver, copy)
        workload.write(copy, "own")
        workload.unstage(driver, origin)
        workload.delete(driver, origin)
        workload.unstage(driver, copy)
        kept.append((copy, name, snapshot))
        if len(kept) > KEPT:
            end(driver, *kept.pop(0))


def end(driver, copy, name, snapshot):
    workload.delete_snapshot(driver, name, snapshot)
    workload.delete(driver, copy)
