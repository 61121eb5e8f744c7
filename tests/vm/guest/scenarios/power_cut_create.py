"""Power cut while volumes, thick and thin, are created and deleted."""

import itertools

import workload
from driver import MIB, Volume
from recovery import check  # noqa: F401  the phase after the power cut

LIVE_VOLUMES = 4


def work(run_dir):
    driver = workload.start(run_dir)
    live = []
    for number in itertools.count():
        provisioning = ("thick", "thin")[number % 2]
        volume = Volume(f"created-{number}", (64 + 16 * (number % 3)) * MIB,
                        provisioning=provisioning)
        workload.create(driver, volume)
        live.append(volume)
        if len(live) > LIVE_VOLUMES:
            workload.delete(driver, live.pop(0))
