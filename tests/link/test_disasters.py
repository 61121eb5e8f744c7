# SPDX-License-Identifier: Apache-2.0
"""docs/disaster.md with real processes and pools: a cluster that has forgotten its volumes, one that
remembers others, a node that is installed again, and a disk in another machine."""

import json
import shutil

import pytest

import audit
import content
import csi_client
import driver_fixtures
from cluster import until
from driver import MIB, uuid_of
from kubelet import Kubelet, PersistentVolume

CLEAN = {"findings": [], "unknown": [], "notes": []}


class Scene:
    """A cluster and what Kubernetes knows: PersistentVolumes as objects."""

    def __init__(self, cluster, directory):
        self.cluster = cluster
        self.directory = directory

    def create(self, name, claim, node, source=None, **parameters):
        made = self.cluster.call(
            "CreateVolume", name=name, capacity_range=csi_client.at_least(64 * MIB),
            volume_capabilities=[csi_client.capability("mount", "ext4")],
            accessibility_requirements={"requisite": [{"segments": {audit.TOPOLOGY_KEY: node}}]},
            volume_content_source=csi_client.content_source(source),
            parameters={"provisioning": "thin", "csi.storage.k8s.io/pvc/name": claim,
                        "csi.storage.k8s.io/pvc/namespace": "shop",
                        "csi.storage.k8s.io/pv/name": name, **parameters}).volume
        return audit.persistent_volume(made.volume_id, made.capacity_bytes, node, name,
                                       f"shop/{claim}")

    def make_old(self, node, *objects):
        """Audits take a volume of the last five minutes for one that is being made."""
        assert node.server.stop() is None
        audit.make_old(node, *(handle_of(made) for made in objects))
        node.start()
        self.cluster.wait_for(node.name)

    def write(self, node, made):
        """Writes data as a pod; returns what reads it."""
        kubelet = Kubelet(self.directory / f"kubelet-{node.name}", node.call)
        volume = PersistentVolume(handle_of(made), made["metadata"]["name"],
                                  filesystem=made["spec"]["csi"]["fsType"])
        written = content.write(kubelet.mount(volume, "writer") / "data")
        kubelet.unmount(volume, "writer")
        return written

    def read(self, node, made):
        kubelet = Kubelet(self.directory / f"kubelet-{node.name}", node.call)
        volume = PersistentVolume(handle_of(made), made["metadata"]["name"],
                                  filesystem=made["spec"]["csi"]["fsType"])
        read = content.checksum(kubelet.mount(volume, "reader") / "data", 4 * content.CHUNK)
        kubelet.unmount(volume, "reader")
        return read

    def audit(self, *objects, code):
        result = audit.run(driver_fixtures.binary(), self.cluster.controller.server.socket,
                           audit.object_list(*objects), "--output=json")
        assert result.returncode == code, result.stdout + result.stderr
        shown = json.loads(result.stdout)
        return {verdict: sorted((entry["kind"], entry["subject"]) for entry in shown[verdict])
                for verdict in CLEAN}

    def adopt(self, *objects, code=0):
        """The PersistentVolumes, and what is said of those that are left out."""
        result = audit.run(driver_fixtures.binary(), self.cluster.controller.server.socket,
                           audit.object_list(*objects), "--adopt")
        assert result.returncode == code, result.stdout + result.stderr
        return json.loads(result.stdout)["items"], result.stderr

    def delete(self, made):
        self.cluster.call("DeleteVolume", volume_id=handle_of(made))


def handle_of(made):
    return made["spec"]["csi"]["volumeHandle"]


@pytest.fixture
def scene(cluster, directory):
    return Scene(cluster, directory)


def test_a_rebuilt_cluster(scene):
    """The nodes are as before; the control plane knows nothing, and its controller is a new one."""
    node = scene.cluster.nodes["n1"]
    orders = scene.create("pvc-0", "orders", "n1")
    written = scene.write(node, orders)
    scene.make_old(node, orders)
    scene.cluster.controller.server.kill()
    shutil.rmtree(scene.cluster.controller.directory / "state")
    scene.cluster.controller.start()
    scene.cluster.wait_for("n1", "n2")
    assert scene.audit(code=1)["findings"] == [("volume-without-pv", handle_of(orders))]
    (adopted,), said = scene.adopt()
    assert "left out" not in said
    assert adopted["metadata"]["name"] == "pvc-0"
    assert adopted["spec"]["claimRef"] == {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "shop", "name": "orders"}
    assert scene.audit(adopted, code=0) == CLEAN
    assert scene.read(node, adopted) == written
    scene.delete(adopted)


def test_a_restored_etcd(scene):
    """Kubernetes has the objects of yesterday: one volume was made since, one deleted, one grown."""
    kept, deleted, grown = (scene.create(f"pvc-{name}", name, "n1")
                            for name in ("kept", "deleted", "grown"))
    backup = [kept, deleted, grown]
    scene.delete(deleted)
    scene.cluster.call("ControllerExpandVolume", volume_id=handle_of(grown),
                       capacity_range=csi_client.at_least(128 * MIB))
    new = scene.create("pvc-new", "new", "n1")
    scene.make_old(scene.cluster.nodes["n1"], kept, grown, new)
    found = scene.audit(*backup, code=1)
    assert found["findings"] == [("pv-without-data", "pvc-deleted"), ("size-differs", "pvc-grown"),
                                 ("volume-without-pv", handle_of(new))]
    (adopted,), _ = scene.adopt(*backup)
    # What the document says: adopt, delete the object without data, and expand the claim again.
    again = scene.cluster.call("ControllerExpandVolume", volume_id=handle_of(grown),
                               capacity_range=csi_client.at_least(128 * MIB))
    grown["spec"]["capacity"]["storage"] = str(again.capacity_bytes)
    scene.cluster.call("DeleteVolume", volume_id=handle_of(deleted))  # succeeds, as for any that is gone
    assert scene.audit(kept, grown, adopted, code=0) == CLEAN
    for made in (kept, grown, adopted):
        scene.delete(made)


def test_a_node_that_is_installed_again_with_its_disk(scene):
    """Its root disk is empty: no state directory, no stages. Node name and disk are the same."""
    node = scene.cluster.nodes["n1"]
    made = scene.create("pvc-0", "orders", "n1")
    snapshot = scene.cluster.snapshot(handle_of(made), "snap")
    written = scene.write(node, made)
    assert node.server.stop() is None
    shutil.rmtree(node.directory / "state")
    node.start()
    scene.cluster.wait_for("n1")
    assert scene.audit(made, code=0) == CLEAN
    assert scene.read(node, made) == written
    restored = scene.cluster.create_again("restored", ["n1"], source=snapshot.snapshot_id)
    again = scene.create("pvc-0", "orders", "n1")
    assert handle_of(again) == handle_of(made), "a repeated creation finds the volume"
    for volume_id in (restored.volume_id, handle_of(made)):
        scene.cluster.call("DeleteVolume", volume_id=volume_id)
    scene.cluster.call("DeleteSnapshot", snapshot_id=snapshot.snapshot_id)


@pytest.fixture
def with_a_disk(new_cluster, new_disk, directory):
    """A cluster in which the pool of n1 has a disk of its own, and that disk."""
    disk = new_disk(1024 * MIB, mount_point=directory / "n1" / "pool", filesystem="xfs")
    return Scene(new_cluster("n1", "n2"), directory), disk


def restart_controller(scene):
    scene.cluster.controller.server.kill()
    scene.cluster.controller.start()
    scene.cluster.wait_for("n1", "n2")


def test_a_node_that_was_started_before_its_disk_was_mounted(with_a_disk):
    """With its state directory gone it knows of no earlier pool, and makes a new one. The controller
    refuses that, unless it has not seen the earlier one; the old pool is not harmed, whatever is
    deleted meanwhile."""
    scene, disk = with_a_disk
    node = scene.cluster.nodes["n1"]
    made = scene.create("pvc-0", "orders", "n1")
    written = scene.write(node, made)
    assert node.server.stop() is None
    disk.unmount()
    shutil.rmtree(node.directory / "state")
    node.start()
    until(lambda: "another disk?" in node.log(), "the controller takes the new pool for the old one")
    assert scene.audit(made, code=2)["unknown"] == [("node", "n1"), ("pv-without-data", "pvc-0")]
    restart_controller(scene)
    assert scene.audit(made, code=1)["findings"] == [("pv-without-data", "pvc-0")]
    scene.delete(made)
    assert node.server.stop() is None
    disk.mount()
    assert node.start_unready() is None
    with csi_client.refused("FAILED_PRECONDITION", "wrong disk"):
        node.call("Probe")
    assert node.server.stop() is None
    (node.directory / "state" / "pools" / "default.json").unlink()
    node.start()
    restart_controller(scene)
    assert scene.audit(made, code=0) == CLEAN
    assert scene.read(node, made) == written
    scene.delete(made)


def move(scene, disk):
    """Takes the disk from n1, which has ended, to n2, where its pool is called `moved`."""
    n1, n2 = scene.cluster.nodes.values()
    n1.server.kill()
    until(lambda: not scene.cluster.is_linked("n1"), "the controller does not notice")
    assert n2.server.stop() is None
    disk.unmount()
    disk.mount_point = n2.directory / "moved"
    disk.mount_point.mkdir()
    disk.mount()
    n2.server.command.append(f"--pool=moved=file:{disk.mount_point}")
    n2.start()
    scene.cluster.wait_for("n2")
    return n2


def test_a_disk_that_moves_to_another_node(with_a_disk):
    """Ids name the pool and the node, so its volumes have others there: the old PersistentVolumes
    have to be replaced, the data is the same."""
    scene, disk = with_a_disk
    n1 = scene.cluster.nodes["n1"]
    made = scene.create("pvc-0", "orders", "n1")
    written = scene.write(n1, made)
    snapshot = scene.cluster.snapshot(handle_of(made), "snap").snapshot_id
    scene.make_old(n1, made)
    n2 = move(scene, disk)
    there = f"moved:n2:{uuid_of(handle_of(made))}"
    found = scene.audit(made, code=2)
    assert found["findings"] == [("volume-without-pv", there)]
    assert found["unknown"] == [("node", "n1"), ("pv-without-data", "pvc-0")]
    # The old object still has the claim.
    items, said = scene.adopt(made, code=2)
    assert items == [] and "shop/orders belongs to PersistentVolume 'pvc-0'" in said
    (adopted,), _ = scene.adopt(code=2)
    assert (handle_of(adopted), adopted["metadata"]["name"]) == (there, "pvc-0")
    assert scene.read(n2, adopted) == written
    # With its snapshots, which have another id there, too.
    moved_snapshot = f"s:moved:n2:{uuid_of(snapshot)}"
    restored = scene.create("restored", "restored", "n2", source=moved_snapshot, pool="moved")
    assert scene.read(n2, restored) == written
    # The old node comes back without its disk: it makes no new pool in its place.
    n1.server.launch()
    until(lambda: scene.audit(adopted, made, code=2)["unknown"] == [
        ("pool", "default"), ("pv-without-data", "pvc-0")], "n1 is back")
    n1.server.stop()
    for volume in (restored, adopted):
        scene.delete(volume)
    scene.cluster.call("DeleteSnapshot", snapshot_id=moved_snapshot)
