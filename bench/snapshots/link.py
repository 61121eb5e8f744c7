# SPDX-License-Identifier: Apache-2.0
"""A snapshot that is restored on another node: two nodes and a controller on this machine."""
import contextlib
import pathlib
import subprocess
import time

import cluster as clusters
import csi_pb2
import link_files

from . import disks, driver, rounds

MIB = 1 << 20
TICK = 100  # of /proc/PID/stat, sysconf(_SC_CLK_TCK)
NODES = ("n1", "n2")


def measure(binary, place, mebibytes: int, count: int, say) -> dict:
    say("a snapshot restored on another node")
    size = mebibytes * MIB
    with _started(binary, place) as cluster:
        source, target = (cluster.nodes[name] for name in NODES)
        origin = driver.create(cluster.controller.client, "origin", size,
                               accessibility_requirements=_on("n1")).volume_id
        driver.fill(source.pool, origin, size)
        snapshot = driver.snapshot(cluster.controller.client, origin, "origin")
        image = driver.image_of(source.pool, snapshot)
        processes = {"controller": cluster.controller.server, "source": source.server,
                     "target": target.server}
        before = {name: _cpu_seconds(server) for name, server in processes.items()}

        def restore(number: int) -> float:
            start = time.monotonic()
            copy = driver.create(cluster.controller.client, f"copy-{number}", size,
                                 source=snapshot, accessibility_requirements=_on("n2")).volume_id
            rate = size / (time.monotonic() - start)
            driver.delete(cluster.controller.client, copy)
            return rate

        rates = rounds.median_rates(
            count, read=lambda _: size / _read(image),
            write=lambda _: size / _write(target.pool / "bench", mebibytes),
            link=lambda _: size / _send(binary, place, mebibytes), driver=restore)
        cpu = {name: round((_cpu_seconds(server) - before[name]) / count, 2)
               for name, server in processes.items()}
        driver.delete(cluster.controller.client, snapshot, origin)
    return {"mebibytes": mebibytes, "cpu_seconds": cpu, **rates}


@contextlib.contextmanager
def _started(binary, place):
    directory = place.directory / "link"
    directory.mkdir()
    authority = link_files.Authority(directory / "ca")
    controller = clusters.Controller(binary, directory / "controller",
                                     authority.issue("controller", directory / "controller-tls"))
    nodes = {}
    try:
        cluster = clusters.Cluster(directory, authority, controller.start(), nodes)
        for name in NODES:
            (directory / name).mkdir()
            disks.make(place, name, "xfs", 4, directory / name / "pool")
            nodes[name] = clusters.Node(
                binary, directory / name, name, controller.port,
                authority.issue(name, directory / f"{name}-tls"), flags=("--copy-rate=0",)).start()
        cluster.wait_for(*NODES)
        yield cluster
    finally:
        for node in nodes.values():
            node.server.stop()
        controller.server.stop()


def _on(node: str):
    return csi_pb2.TopologyRequirement(requisite=[clusters.segment(node)])


def _seconds(*command) -> float:
    start = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - start


def _read(image: pathlib.Path) -> float:
    return _seconds("dd", f"if={image}", "of=/dev/null", "bs=1M", "iflag=direct")


def _write(path: pathlib.Path, mebibytes: int) -> float:
    seconds = _seconds("dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={mebibytes}",
                       "oflag=direct", "conv=fsync")
    path.unlink()
    return seconds


def _send(binary: pathlib.Path, place, mebibytes: int) -> float:
    """Through a second process, encrypted; nothing is read, checked or written at the ends."""
    tls = place.directory / "link"
    raw = subprocess.run([binary.parent / "bench/bench-raw-link",
                          f"--controller-tls={tls}/controller-tls", f"--node-tls={tls}/n1-tls",
                          f"--mebibytes={mebibytes}"], check=True, capture_output=True, text=True)
    return float(raw.stdout)


def _cpu_seconds(server) -> float:
    text = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text(encoding="utf-8")
    return sum(map(int, text.rsplit(")", 1)[1].split()[11:13])) / TICK
