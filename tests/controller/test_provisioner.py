# SPDX-License-Identifier: Apache-2.0
"""The provisioner's calls: names, parameters, capacity, topology, pages of the list."""

import concurrent.futures

import grpc
import pytest

import csi_client
import driver_fixtures
from csi_client import refused
from driver import MIB, Driver

TOPOLOGY = {"topology.csi.holdfast.dev/node": "test-node"}
IDENTITY = "storage.kubernetes.io/csiProvisionerIdentity"
NAMES = ["../../etc/passwd", "/", ".", "..", "a/b", "with space", "tab\tand\nnewline", "naïve",
         "名前", "🪸" * 32, "ｆｕｌｌ", "e\u0301", "\u00e9", "quote'\"\\", "%s%n", "\u202eright-to-left",
         "x" * 128, "-rf", "$(reboot)", "record.json"]


def test_any_name_is_only_a_name(driver):
    """Names that look alike are different volumes; none of them is ever a path."""
    ids = {name: driver.create(name).volume_id for name in NAMES}
    assert len(set(ids.values())) == len(NAMES)
    driver.crash()
    assert {name: driver.create(name).volume_id for name in NAMES} == ids
    for volume_id in ids.values():
        assert len(volume_id.encode()) <= 128 and "^" not in volume_id
    listed = {volume.id: volume.name for volume in driver.client.admin("ListVolumes").volumes}
    assert listed == {volume_id: name for name, volume_id in ids.items()}
    assert driver.leftovers(), "volumes are counted"


@pytest.mark.parametrize("name", ["", "x" * 129, "é" * 65, "a\x00b", "bell\x07", "del\x7f",
                                  "c1\u0085"])
def test_names_that_the_specification_forbids(driver, name):
    with refused("INVALID_ARGUMENT", "name"):
        driver.create(name)
    assert driver.listed() == []


def test_parameters(driver):
    driver.create("known", pool="default", **{"csi.storage.k8s.io/pvc/name": "claim",
                                              "csi.storage.k8s.io/pvc/namespace": "ns",
                                              "csi.storage.k8s.io/pv/name": "pvc-1"})
    # With --extra-create-metadata the same claim may come with other metadata.
    driver.create("known", pool="default", **{"csi.storage.k8s.io/pvc/name": "claim"})
    for parameters in ({"provisionning": "thin"}, {"Pool": "default"}):
        with refused("INVALID_ARGUMENT", next(iter(parameters))):
            driver.create("unknown", **parameters)
    with refused("INVALID_ARGUMENT", "no-such-pool"):
        driver.create("unknown", pool="no-such-pool")
    with refused("INVALID_ARGUMENT", "provisioning"):
        driver.create("unknown", provisioning="fat")


def test_capacity_with_the_parameters_of_the_class_as_they_are(driver):
    """The capacity controller strips nothing and specifies no capability."""
    answer = driver.call("GetCapacity", parameters={
        "provisioning": "thick", "csi.storage.k8s.io/fstype": "xfs",
        "csi.storage.k8s.io/provisioner-secret-name": "secret"},
        accessible_topology={"segments": TOPOLOGY})
    assert 0 < answer.maximum_volume_size.value <= answer.available_capacity
    assert answer.minimum_volume_size.value == 300 * MIB
    elsewhere = driver.call("GetCapacity", accessible_topology={
        "segments": {"topology.csi.holdfast.dev/node": "another"}})
    assert elsewhere.available_capacity == 0


def test_topology(driver):
    volume = driver.create("pv")
    assert [dict(place.segments) for place in volume.accessible_topology] == [TOPOLOGY]
    info = driver.call("NodeGetInfo")
    assert (info.node_id, dict(info.accessible_topology.segments)) == ("test-node", TOPOLOGY)
    with refused("RESOURCE_EXHAUSTED", "test-node"):
        driver.call("CreateVolume", name="elsewhere",
                    volume_capabilities=[csi_client.capability()],
                    accessibility_requirements={"requisite": [
                        {"segments": {"topology.csi.holdfast.dev/node": "another"}}]})


@pytest.fixture
def flagged(directory, request):
    """A driver with the flags in the test's parameter."""
    made = Driver(driver_fixtures.binary(), directory)
    made.server.command += request.param
    yield made.start()
    assert not driver_fixtures.end(made)


@pytest.mark.parametrize("flagged, own", [
    ([], {}), (["--topology=example.com/zone=a", "--topology=rack="], {"example.com/zone": "a"})],
    ids=["a stranger's label", "the node's own"], indirect=["flagged"])
def test_a_node_of_several_segments(flagged, own):
    """Kubernetes names all segments of a node; its files are on it regardless of the other
    segments."""
    told = flagged.call("NodeGetInfo").accessible_topology.segments
    assert dict(told) == {**TOPOLOGY, **own}
    here, elsewhere = ({"segments": {**TOPOLOGY, "example.com/zone": "a", **other}}
                       for other in ({}, {"topology.csi.holdfast.dev/node": "another"}))

    def make(name, place):
        return flagged.call("CreateVolume", name=name, parameters={"provisioning": "thin"},
                            volume_capabilities=[csi_client.capability()],
                            capacity_range=csi_client.at_least(64 * MIB),
                            accessibility_requirements={"requisite": [place],
                                                        "preferred": [place]})
    volume = make("pv", here).volume
    assert [dict(place.segments) for place in volume.accessible_topology] == [TOPOLOGY]
    with refused("RESOURCE_EXHAUSTED", "test-node"):
        make("elsewhere", elsewhere)
    assert flagged.call("GetCapacity", accessible_topology=here).available_capacity > 0
    assert flagged.call("GetCapacity", accessible_topology=elsewhere).available_capacity == 0


def test_a_requirement_that_names_thousands_of_nodes(driver):
    terms = [{"segments": {"topology.csi.holdfast.dev/node": f"node-{number}"}}
             for number in range(5000)] + [{"segments": TOPOLOGY}]
    volume = driver.call("CreateVolume", name="pv", volume_capabilities=[csi_client.capability()],
                         capacity_range=csi_client.at_least(64 * MIB),
                         parameters={"provisioning": "thin"},
                         accessibility_requirements={"requisite": terms, "preferred": terms})
    assert dict(volume.volume.accessible_topology[0].segments) == TOPOLOGY


@pytest.mark.parametrize(("pool_filesystem", "pool_options"), [
    ("ext4", ""), ("ext4", ",reserve=0"), ("ext4", ",reserve=64Mi"), ("xfs", ""),
    ("xfs", ",reserve=0"), ("btrfs", "")])
def test_the_largest_volume_that_is_promised_can_be_made(new_driver, new_disk, pool_options,
                                                         pool_filesystem):
    new_disk(1024 * MIB, filesystem=pool_filesystem)
    driver = new_driver(pool_options)
    thick = {"provisioning": "thick"}
    maximum = driver.call("GetCapacity", parameters=thick).maximum_volume_size.value
    assert maximum > 600 * MIB
    with refused("RESOURCE_EXHAUSTED"):
        driver.create("too-large", size=maximum + MIB, **thick)
    created = driver.create("largest", size=maximum, **thick)
    assert created.capacity_bytes == maximum
    assert driver.image(created.volume_id).stat().st_blocks * 512 >= maximum
    assert driver.call("GetCapacity", parameters=thick).maximum_volume_size.value < 2 * MIB


def test_of_two_creations_that_exceed_the_pool_together_one_succeeds(new_driver, new_disk):
    new_disk(1024 * MIB)
    driver = new_driver()
    size = 600 * MIB
    for round_number in range(5):
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            answers = [threads.submit(outcome, driver, f"pv-{round_number}-{number}", size)
                       for number in range(4)]
        codes = sorted(answer.result() for answer in answers)
        assert codes == ["OK"] + ["RESOURCE_EXHAUSTED"] * 3
        assert len(driver.listed()) == 1
        driver.delete(driver.listed()[0])


def outcome(driver, name, size):
    try:
        driver.create(name, size=size, provisioning="thick")
    except grpc.RpcError as error:
        return csi_client.code_of(error)
    return "OK"


def test_one_name_created_by_many_at_once_is_one_volume(driver):
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        codes = list(threads.map(lambda _: outcome(driver, "pv", 64 * MIB), range(16)))
    assert set(codes) <= {"OK", "ABORTED"} and "OK" in codes
    assert len(driver.listed()) == 1


def pages(driver, size, between=lambda page: None):
    token, ids = "", []
    while True:
        page = driver.call("ListVolumes", max_entries=size, starting_token=token)
        ids += [entry.volume.volume_id for entry in page.entries]
        assert len(page.entries) <= size
        token = page.next_token
        if not token:
            return ids
        between(ids)


def test_pages_of_the_list_stay_right_while_volumes_come_and_go(driver):
    there = {driver.create(f"stays-{number}").volume_id for number in range(12)}
    going = [driver.create(f"goes-{number}").volume_id for number in range(6)]
    assert sorted(pages(driver, 5)) == sorted(there | set(going))
    steps = iter(range(100))

    def change(_):
        number = next(steps)
        driver.create(f"new-{number}")
        if going:
            driver.delete(going.pop())

    seen = pages(driver, 3, change)
    assert len(seen) == len(set(seen)), "no volume comes twice"
    assert there <= set(seen), "no volume that stayed is missed"


def test_the_list_goes_on_after_the_volume_of_its_token_went(driver):
    ids = sorted(driver.create(f"pv-{number}").volume_id for number in range(4))
    page = driver.call("ListVolumes", max_entries=2)
    driver.delete(page.entries[-1].volume.volume_id)
    rest = driver.call("ListVolumes", starting_token=page.next_token)
    assert [entry.volume.volume_id for entry in rest.entries] == ids[2:]
    driver.crash()
    assert driver.call("ListVolumes", starting_token=page.next_token) == rest
    with refused("ABORTED"):
        driver.call("ListVolumes", starting_token="never-given")


def test_condition_and_context(driver):
    volume = driver.create("pv")
    answer = driver.call("ControllerGetVolume", volume_id=volume.volume_id)
    assert answer.volume == volume
    assert not answer.status.volume_condition.abnormal
    confirmed = driver.call("ValidateVolumeCapabilities", volume_id=volume.volume_id,
                            volume_context={IDENTITY: "x"},
                            volume_capabilities=[csi_client.capability()])
    assert confirmed.confirmed.volume_capabilities
    with refused("NOT_FOUND"):
        driver.call("ControllerGetVolume", volume_id=volume.volume_id[:-4] + "0000")


def test_a_volume_of_another_node_is_never_answered_as_gone(driver):
    volume_id = driver.create("pv").volume_id
    for foreign in (volume_id.replace("test-node", "another"),
                    volume_id.replace("default", "other-pool")):
        with refused("UNAVAILABLE"):
            driver.delete(foreign)
    driver.delete("not-an-id-of-ours")
    assert driver.listed() == [volume_id]
