"""Power cut while volumes are formatted, staged, written, unstaged and staged again."""

import itertools

import workload
from driver import MIB, Volume
from recovery import check  # noqa: F401  the phase after the power cut

SHAPES = (("ext4", 128 * MIB), ("xfs", 320 * MIB))


def work(run_dir):
    driver = workload.start(run_dir)
    for number in itertools.count():
        fs, size = SHAPES[number % len(SHAPES)]
        volume = Volume(f"staged-{number}", size, fs=fs)
        workload.create(driver, volume)
        workload.stage(driver, volume)
        workload.write(volume, "first")
        workload.unstage(driver, volume)
        workload.stage(driver, volume)
        workload.write(volume, "second")
