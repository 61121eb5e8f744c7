"""Group snapshots of volumes that the guest's kernel has mapped and nodes have mounted: what was
written to one and then to the other is in that order in their snapshots."""

import pathlib

import ordered_writes
from driver import MIB, Volume
from link_files import Authority, free_port
from scenarios.rbd_ceph import driver_on, gone, made, until, works

GROUPS = 3
NAMES = ("first", "second")


def on_one_node(driver, run_dir, pool, ceph):
    volumes = volumes_on([driver, driver])
    check_order(driver, [driver, driver], volumes)
    for volume in volumes:
        gone(driver, volume)


def on_two_nodes(driver, run_dir, pool, ceph):
    """A controller without devices cuts, and leads two nodes, each of which freezes its own."""
    driver.stop()
    authority = Authority(pathlib.Path("/data/link-ca"))
    port = free_port()
    controller = driver_on(
        run_dir, pool, "controller", role="controller",
        flags=[f"--link-listen=127.0.0.1:{port}", f"--link-tls={tls(authority, 'controller')}"])
    nodes = []
    for name in NAMES:
        files = pathlib.Path(f"/data/pool-{name}")
        files.mkdir(exist_ok=True)
        nodes.append(driver_on(
            run_dir, f"files=file:{files}", name, role="node",
            flags=[f"--pool={pool}", f"--link-controller=localhost:{port}",
                   f"--link-tls={tls(authority, name)}"]))
    for name in NAMES:
        until(lambda name=name: works(lambda: controller.capacity_of(name)), f"{name} is not linked")
    volumes = volumes_on(nodes, controller)
    check_order(controller, nodes, volumes)
    for node, volume in zip(nodes, volumes):
        node.unpublish(volume)
        node.unstage(volume)
        controller.delete(volume.id)
    for process in (*nodes, controller):
        process.stop()
    return driver_on(run_dir, pool)


def tls(authority, name):
    return authority.issue(name, pathlib.Path(f"/data/tls-{name}"))


def volumes_on(nodes, controller=None):
    """One on each of them, mounted; the names are those of volumes in Ceph."""
    volumes = [volume_of("log-ext4", 64 * MIB, "ext4"), volume_of("log-xfs", 300 * MIB, "xfs")]
    for node, volume in zip(nodes, volumes):
        if controller is None:
            made(node, volume)
            continue
        controller.create(volume)
        node.stage(volume)
        node.publish(volume)
    return volumes


def volume_of(name, size, fs):
    return Volume(name, size, fs=fs, provisioning="thin", pool="ceph")


def check_order(controller, nodes, volumes):
    most = 0
    logs = [volume.target_path / "log" for volume in volumes]
    with ordered_writes.appending(*logs):
        groups = [controller.group_snapshot(volumes, f"group-{number}") for number in range(GROUPS)]
    for number, group in enumerate(groups):
        counts = []
        for node, volume in zip(nodes, volumes):
            copy = volume_of(f"{volume.name}-{number}", volume.size, volume.fs)
            controller.create(copy, snapshot=group.members[volume.id])
            node.stage(copy)
            node.publish(copy)
            counts.append(ordered_writes.count(copy.target_path / "log"))
            node.unpublish(copy)
            node.unstage(copy)
            controller.delete(copy.id)
        print(f"rbd: group {number} has {counts} writes", flush=True)
        ordered_writes.check_in_order(counts)
        most = max(most, *counts)
        controller.delete_group_snapshot(group)
    assert most > GROUPS, "the writer was idle"
