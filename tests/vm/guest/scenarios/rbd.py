"""Volumes of a Ceph that runs in the guest, as devices of the guest's kernel (krbd)."""

import time

from scenarios import (rbd_evidence, rbd_groups, rbd_lives, rbd_nodes, rbd_sanity, rbd_snapshots,
                       rbd_waiting)
from scenarios.rbd_ceph import CEPH, await_cluster, driver_on, mapped, wake_ceph

LIVES = (rbd_lives.a_life_with_growth, rbd_lives.a_restart_under_writes, rbd_lives.raw_block,
         rbd_lives.other_filesystems, rbd_lives.mkfs_cut_short,
         rbd_lives.another_image_of_that_name, rbd_lives.what_a_kill_left_mapped)
NODES = (rbd_nodes.two_nodes, rbd_nodes.readers, rbd_nodes.writers_of_raw_block,
         rbd_nodes.a_client_that_is_cut_off)
WAITING = (rbd_waiting.a_store_that_stops_during_a_mapping,
           rbd_waiting.a_device_that_comes_too_late)
EVIDENCE = (rbd_evidence.an_image_without_its_object_map, rbd_evidence.a_record_of_before)
SNAPSHOTS = (rbd_snapshots.copies_beside_their_origin, rbd_snapshots.a_snapshot_under_writes,
             rbd_snapshots.a_chain_of_clones, rbd_snapshots.a_mover_writes_a_block_device)
GROUPS = (rbd_groups.on_one_node, rbd_groups.on_two_nodes)
SANITY = (rbd_sanity.csi_sanity,)


def run(run_dir):
    run_steps(run_dir, LIVES + NODES + SNAPSHOTS + GROUPS + WAITING + EVIDENCE + SANITY)


def lives(run_dir):
    run_steps(run_dir, LIVES)


def nodes(run_dir):
    run_steps(run_dir, NODES)


def snapshots(run_dir):
    run_steps(run_dir, SNAPSHOTS)


def groups(run_dir):
    run_steps(run_dir, GROUPS)


def waiting(run_dir):
    run_steps(run_dir, WAITING)


def evidence(run_dir):
    run_steps(run_dir, EVIDENCE)


def sanity(run_dir):
    run_steps(run_dir, SANITY)


def run_steps(run_dir, steps):
    ceph = wake_ceph(run_dir / "ceph")
    pool = f"ceph=rbd:rbd,monitors={ceph.monitors},user=holdfast,keyring={CEPH}/holdfast.keyring"
    driver = driver_on(run_dir, pool)
    await_cluster(driver)
    for step in steps:
        began = time.monotonic()
        driver = step(driver, run_dir, pool, ceph) or driver
        assert not mapped(), f"{step.__name__} left devices: {mapped()}"
        assert not driver.list(), f"{step.__name__} left volumes"
        print(f"rbd: {step.__name__} {time.monotonic() - began:.0f} s", flush=True)
    driver.stop()
    ceph.stop()
