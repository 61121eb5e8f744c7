# SPDX-License-Identifier: Apache-2.0
"""Parameters of a class, the description of a volume, and the list of all volumes."""

import csi_client
from csi_client import refused

IDENTITY = "storage.kubernetes.io/csiProvisionerIdentity"


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
