"""Volumes of a Ceph that runs in the guest, as devices of the guest's kernel (krbd)."""

import time

from scenarios import rbd_lives, rbd_nodes, rbd_sanity
from scenarios.rbd_ceph import CEPH, answers, driver_on, mapped, until, wake_ceph

STEPS = (rbd_lives.a_life_with_growth, rbd_lives.a_restart_under_writes, rbd_lives.raw_block,
         rbd_lives.other_filesystems, rbd_lives.mkfs_cut_short,
         rbd_lives.another_image_of_that_name, rbd_lives.what_a_kill_left_mapped,
         rbd_nodes.two_nodes, rbd_nodes.readers, rbd_nodes.writers_of_raw_block,
         rbd_nodes.a_client_that_is_cut_off, rbd_sanity.csi_sanity)


def run(run_dir):
    ceph = wake_ceph(run_dir / "ceph")
    pool = f"ceph=rbd:rbd,monitors={ceph.monitors},user=holdfast,keyring={CEPH}/holdfast.keyring"
    driver = driver_on(run_dir, pool)
    try:
        until(lambda: answers(driver), "the driver does not reach the cluster")
    except AssertionError:
        for log in (CEPH / "log").iterdir():
            print(log.name, log.read_text(errors="replace")[-3000:], flush=True)
        raise
    for step in STEPS:
        began = time.monotonic()
        driver = step(driver, run_dir, pool, ceph) or driver
        assert not mapped(), f"{step.__name__} left devices: {mapped()}"
        assert not driver.list(), f"{step.__name__} left volumes"
        print(f"rbd: {step.__name__} {time.monotonic() - began:.0f} s", flush=True)
