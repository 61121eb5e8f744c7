# SPDX-License-Identifier: Apache-2.0
"""A controller and two nodes that have done everything that the metrics tell of."""

import contextlib
import pathlib
import shutil
import tempfile

import grpc

import cluster as cluster_module
import content
import csi_client
import driver_fixtures
import host
import link_files
import pool_disk
from driver import MIB
from kubelet import Kubelet, PersistentVolume
from observed import get
from waiting import until

NODES = ("n1", "n2")


@contextlib.contextmanager
def running():
    """Yields a scene, and leaves nothing behind."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-", dir="/var/tmp"))
    made, problems = Scene(directory), []
    try:
        made.start()
        yield made
    finally:
        problems += made.stop()
        host.release(directory)
        if not host.mounts_under(directory):
            shutil.rmtree(directory)
    assert not problems


class Scene:
    """Each node has a pool on a disk of its own; n2 also has one in a directory of another disk,
    which can be taken away."""

    def __init__(self, directory):
        self.directory = directory
        self.spare = directory / "disk" / "spare"
        self.ports = {name: link_files.free_port() for name in ("controller", *NODES)}
        self.rounds = 0
        self.disks = []
        self.processes = []
        self.cluster = None

    def flags(self, name):
        return [f"--metrics-address=127.0.0.1:{self.ports[name]}"]

    def new_node(self, name, port, authority):
        (self.directory / name).mkdir()
        self.new_disk(name, self.directory / name / "pool")
        tls = authority.issue(name, self.directory / f"{name}-tls")
        return cluster_module.Node(driver_fixtures.binary(), self.directory / name, name, port, tls,
                                   flags=self.flags(name))

    def start(self):
        authority = link_files.Authority(self.directory / "ca")
        controller = cluster_module.Controller(
            driver_fixtures.binary(), self.directory / "controller",
            authority.issue("controller", self.directory / "controller-tls"),
            self.flags("controller"))
        nodes = {name: self.new_node(name, controller.port, authority) for name in NODES}
        self.new_disk("spare", self.spare.parent)
        self.spare.mkdir()
        nodes["n2"].server.command.append(f"--pool=spare=file:{self.spare}")
        for process in (controller, *nodes.values()):
            self.processes.append(process)
            process.start()
        self.cluster = cluster_module.Cluster(self.directory, authority, controller, nodes)
        self.cluster.wait_for(*NODES)

    def new_disk(self, name, mount_point):
        self.disks.append(pool_disk.PoolDisk(self.directory / f"{name}.img", 4 << 30, "xfs",
                                             mount_point))

    def stop(self):
        """Returns problems."""
        problems = [problem for process in reversed(self.processes)
                    if (problem := process.server.stop())]
        for disk in self.disks:
            disk.remove()
        return problems

    def targets(self):
        # The controller runs on a node, too.
        return [("n1", self.ports["controller"]), *((name, self.ports[name]) for name in NODES)]

    def metrics(self):
        """Returns what each process serves."""
        answers = {name: get(port, "/metrics") for name, port in self.ports.items()}
        assert {status for status, _ in answers.values()} == {200}
        return {name: text for name, (_, text) in answers.items()}

    def act(self):
        """Lets volumes and snapshots of every kind live, and calls fail."""
        self.rounds += 1
        self.snapshot_of_a_mounted_volume()
        self.thick_snapshot()
        self.failures()

    def snapshot_of_a_mounted_volume(self):
        """Frozen for it, and restored on the other node."""
        made = self.cluster.create(f"mounted-{self.rounds}", ["n1"]).volume_id
        kubelet = Kubelet(self.directory / "kubelet", self.cluster.nodes["n1"].call)
        volume = PersistentVolume(made, f"mounted-{self.rounds}", "mount", "ext4")
        content.write(kubelet.start_pod(volume, "pod") / "data")
        snapshot = self.cluster.snapshot(made, f"frozen-{self.rounds}").snapshot_id
        self.cluster.create_again(f"restored-{self.rounds}", ["n2"], source=snapshot)
        kubelet.end_pod(volume, "pod")

    def thick_snapshot(self):
        made = self.cluster.create(f"thick-{self.rounds}", ["n2"], size=64 * MIB, access="block",
                                   provisioning="thick", pool="default").volume_id
        content.write(self.cluster.nodes["n2"].image(made), 8 * MIB)
        self.cluster.snapshot(made, f"thick-{self.rounds}")

    def failures(self):
        for code, act in (
                ("INVALID_ARGUMENT", lambda: self.cluster.call("DeleteVolume", volume_id="")),
                ("RESOURCE_EXHAUSTED", lambda: self.cluster.create("much", ["n1"], size=1 << 40))):
            try:
                act()
            except grpc.RpcError as error:
                assert csi_client.code_of(error) == code, error
            else:
                raise AssertionError(f"the call was expected to fail with {code}")

    @contextlib.contextmanager
    def without_spare_pool(self):
        aside = self.spare.with_name("aside")
        self.spare.rename(aside)
        try:
            yield
        finally:
            aside.rename(self.spare)

    def delete_all(self):
        call = self.cluster.call
        for entry in call("ListSnapshots").entries:
            call("DeleteSnapshot", snapshot_id=entry.snapshot.snapshot_id)
        for entry in call("ListVolumes").entries:
            until(lambda one=entry: self.is_deleted(one.volume.volume_id), "a volume is deleted")

    def is_deleted(self, volume_id):
        try:
            self.cluster.call("DeleteVolume", volume_id=volume_id)
        except grpc.RpcError as error:
            assert csi_client.code_of(error) in csi_client.MAYBE_RUNNING, error
            return False
        return True
