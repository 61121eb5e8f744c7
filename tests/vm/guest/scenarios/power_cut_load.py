"""Power cuts while several workers run volumes through their lifecycle, again and again on one
disk.

Each boot recovers what earlier boots acknowledged, checks it and its accounting, and continues with
the same volumes. The cut may also come during the recovery."""

import queue
import random
import threading

import accounting
import kernel_log
import ledger
import recovery
import workload
from driver import MIB, Volume
from recovery import check  # noqa: F401  the phase after the last power cut

WORKERS = 3
VOLUMES_PER_WORKER = 2
FILES_PER_VOLUME = 4
STEP = 96 * MIB  # at least one new allocation group of an xfs volume
LARGEST = 512 * MIB
SHAPES = (("ext4", 64 * MIB), ("xfs", 320 * MIB), ("btrfs", 256 * MIB))
# How often a step is chosen, depending on the volume's state.
STEPS = {"idle": {"stage": 6, "expand": 1, "delete": 3},
         "staged": {"write": 4, "publish": 3, "grow": 2, "unstage": 3},
         "published": {"write": 4, "unpublish": 3, "grow": 2}}


def work(run_dir):
    told = ledger.read(run_dir)
    if told.entries:
        driver, promised = recovery.recover(run_dir, told)
        for promise in list(promised.volumes.values()):
            recovery.assert_kept(driver, promised, promise)
        accounting.assert_exact(driver, promised)
        kernel_log.assert_content()
        staged = [promise.volume for promise in promised.volumes.values()]
        files = sum(len(promise.files) for promise in promised.volumes.values())
        ledger.ack("start", "", **promised.facts(), verified=[len(staged), files])
        boot = promised.boot + 1
    else:
        driver, staged, boot = workload.start(run_dir), [], 0
    run_workers(driver, staged, boot)


def run_workers(driver, staged, boot):
    """Until the power is cut; raises a worker's exception."""
    failures = queue.Queue()
    for number in range(WORKERS):
        volumes = {volume.name: volume for volume in staged[number::WORKERS]}
        threading.Thread(target=Worker(driver, f"{boot}-{number}", volumes).run, args=(failures,),
                         daemon=True).start()
    raise failures.get()


class Worker:
    """Makes one step after the other with its own volumes."""

    def __init__(self, driver, name, staged):
        self._driver, self._name = driver, name
        self._random = random.Random()
        self._volumes = dict(staged)
        self._uses = {volume: "staged" for volume in staged}
        self._made = self._written = 0

    def run(self, failures):
        try:
            while True:
                self.step()
        except Exception as error:  # the main thread makes it the verdict
            failures.put(error)

    def step(self):
        if len(self._volumes) < VOLUMES_PER_WORKER:
            self.create()
            return
        volume = self._random.choice(list(self._volumes.values()))
        chances = STEPS[self._uses[volume.name]]
        step, = self._random.choices(list(chances), chances.values())
        getattr(self, step)(volume)

    def create(self):
        filesystem, size = self._random.choice(SHAPES)
        provisioning = self._random.choice(("thick", "thin"))
        self._made += 1
        volume = Volume(f"{filesystem}-{provisioning}-{self._name}-{self._made}", size,
                        fs=filesystem, provisioning=provisioning)
        workload.create(self._driver, volume)
        self._volumes[volume.name] = volume
        self._uses[volume.name] = "idle"

    def delete(self, volume):
        workload.delete(self._driver, volume)
        del self._volumes[volume.name]

    def stage(self, volume):
        workload.stage(self._driver, volume)
        self._uses[volume.name] = "staged"

    def unstage(self, volume):
        workload.unstage(self._driver, volume)
        self._uses[volume.name] = "idle"

    def publish(self, volume):
        workload.publish(self._driver, volume)
        self._uses[volume.name] = "published"

    def unpublish(self, volume):
        workload.unpublish(self._driver, volume)
        self._uses[volume.name] = "staged"

    def write(self, volume):
        self._written += 1
        workload.write(volume, f"directory-{self._written % FILES_PER_VOLUME}/file")

    def expand(self, volume):
        if volume.size < LARGEST:
            workload.expand(self._driver, volume, volume.size + STEP)

    def grow(self, volume):
        if volume.size < LARGEST:
            workload.expand(self._driver, volume, volume.size + STEP)
            workload.expand_filesystem(self._driver, volume)
