# SPDX-License-Identifier: Apache-2.0
"""A class that supplies the users of its pool, which has no users of its own."""

from cluster.processes import until
from conftest import TEAM, TEAM_POOL, Timed, key_of
from expansion import Growth
from guest_pods import SECONDS, devices_of, pod_of, remove, size_in_pod, write
from installation import NAMESPACE
from workloads import MIB

CLASS = "ceph-team"
SIZE, GROWN = 512 * MIB, 1024 * MIB
SIDES = {"controllerPublish": "controller", "controllerExpand": "controller", "nodeStage": "node",
         "nodePublish": "node", "nodeExpand": "node"}


def check_references(volume):
    found = {name: reference for name, reference in volume["spec"]["csi"].items()
             if name.endswith("SecretRef")}
    assert found == {f"{call}SecretRef": {"name": f"ceph-{side}", "namespace": TEAM}
                     for call, side in SIDES.items()}


def restart_the_drivers(installation, guest):
    """The pods forget the users that calls have named."""
    installation.delete_controller()
    installation.delete_node_pod(guest.name, SECONDS)
    installation.wait_until_ready()


def logs(api):
    return {f"{pod['metadata']['name']} {container['name']}": api.logs(
        pod["metadata"]["name"], container["name"], NAMESPACE)
            for pod in api.list("Pod", NAMESPACE) for container in pod["spec"]["containers"]}


def check_logs(api, ceph):
    """No sidecar was denied access, and no key appears in a log."""
    keys = [key_of(ceph, f"{TEAM}-controller"), key_of(ceph, f"{TEAM}-node")]
    for place, log in logs(api).items():
        assert "forbidden" not in log, f"{place}: {log[-4000:]}"
        assert not any(key in log for key in keys), place


def test_a_volume_of_a_class_with_secrets(workloads, guest, ceph, installation):
    with Timed("secrets: the claim is bound, without a pod"):
        claim = workloads.claim(CLASS, str(SIZE))
        check_references(workloads.bound(claim))
    assert (len(ceph.images(TEAM_POOL)), ceph.images()) == (1, [])
    [image] = ceph.images(TEAM_POOL)
    with Timed("secrets: its pod runs"):
        pod = pod_of(workloads, guest, claim)
    checksum, written = write(workloads, pod)
    check_logs(workloads.api, ceph)
    restart_the_drivers(installation, guest)
    with Timed("secrets: image and filesystem grow, each driver knows no user before"):
        growth = Growth(workloads, claim, GROWN)
        growth.wait()
        until(lambda: size_in_pod(workloads, pod) >= GROWN * 9 // 10, "the pod does not see it",
              SECONDS)
    growth.check_end()
    assert ceph.image_bytes(image, TEAM_POOL) == GROWN
    assert workloads.sh(pod, checksum) == written
    remove(workloads, "Pod", pod)
    assert devices_of(workloads, guest) == []
    pod = pod_of(workloads, guest, claim)
    assert workloads.sh(pod, checksum) == written
    remove(workloads, "Pod", pod)
    with Timed("secrets: claim, volume and image go"):
        remove(workloads, "PersistentVolumeClaim", claim)
        until(lambda: not ceph.images(TEAM_POOL), "the image is not deleted", SECONDS)
    check_logs(workloads.api, ceph)
