"""Power cut while mounted volumes that hold data are expanded again and again."""

import itertools

import workload
from driver import MIB, Volume
from recovery import check  # noqa: F401  the phase after the power cut

STEP = 96 * MIB  # at least one new allocation group of the xfs volume


def work(run_dir):
    driver = workload.start(run_dir)
    volumes = [Volume("expanded-ext4", 128 * MIB, fs="ext4"),
               Volume("expanded-xfs", 320 * MIB, fs="xfs")]
    for volume in volumes:
        workload.create(driver, volume)
        workload.stage(driver, volume)
    for number in itertools.count():
        volume = volumes[number % len(volumes)]
        # xfs spreads directories over its allocation groups, so the newest ones are used as well.
        workload.write(volume, f"directory-{number}/file")
        workload.expand(driver, volume, volume.size + STEP)
        workload.expand_filesystem(driver, volume)
