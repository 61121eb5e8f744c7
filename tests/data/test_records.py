# SPDX-License-Identifier: Apache-2.0
"""A damaged record: a clear error for its volume, never a guess, and nothing lost."""

import grpc
import pytest

import content
import csi_client
from cluster import until
from csi_client import refused
from kubelet import PersistentVolume

RECONCILED = 90  # seconds in which the reconciler has looked again, at the latest


@pytest.fixture
def volume(driver, kubelet):
    volume = PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4")
    path = kubelet.mount(volume, "pod")
    content.write(path / "data")
    kubelet.unmount(volume, "pod")
    return volume


@pytest.fixture
def other(driver):
    return PersistentVolume(driver.create("other").volume_id, "other", filesystem="ext4")


def calls(kubelet, volume):
    """Calls that must fail while the record cannot be trusted, above all DeleteVolume."""
    staging = kubelet.global_mount(volume)
    staging.mkdir(parents=True, exist_ok=True)
    return {
        "NodeStageVolume": {"staging_target_path": str(staging),
                            "volume_capability": volume.capability()},
        "DeleteVolume": {},
        "ControllerExpandVolume": {"capacity_range": csi_client.at_least(1 << 28)},
    }


def refuse_everything(channel, kubelet, volume):
    for name, fields in calls(kubelet, volume).items():
        method = csi_client.METHODS[name]
        with refused("INTERNAL", "record|damaged"):
            csi_client.invoker(channel, method)(
                csi_client.request(method, {"volume_id": volume.handle} | fields))


def is_usable(driver, kubelet, volume):
    kubelet.mount(volume, "pod")
    kubelet.unmount(volume, "pod")
    return volume.handle in driver.listed()


def test_every_byte_counts_while_the_driver_runs(driver, kubelet, volume, other):
    path = driver.record_path(volume.handle)
    good = path.read_bytes()
    image = content.fingerprint(driver.image(volume.handle))
    with grpc.insecure_channel(driver.client.target,
                               options=csi_client.CHANNEL_OPTIONS) as channel:
        for position, byte in enumerate(good):
            damaged = good[:position] + bytes([byte ^ 0x01]) + good[position + 1:]
            if is_only_spacing(good, position, damaged):
                continue
            path.write_bytes(damaged)
            refuse_everything(channel, kubelet, volume)
            assert path.read_bytes() == damaged, f"byte {position}: the record was written over"
    assert is_usable(driver, kubelet, other)
    path.write_bytes(good)
    assert content.fingerprint(driver.image(volume.handle)) == image
    assert is_usable(driver, kubelet, volume)


def is_only_spacing(good, position, damaged):
    """A newline turned into another blank changes no value."""
    return good[position:position + 1].isspace() and damaged[position:position + 1].isspace()


@pytest.mark.parametrize("damage", ["flipped", "empty", "cut", "gone", "not-json", "newer",
                                    "swapped"])
def test_a_record_damaged_while_the_driver_was_down(driver, kubelet, volume, other, damage):
    path = driver.record_path(volume.handle)
    good = path.read_bytes()
    middle = len(good) // 2
    driver.server.kill()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes({
            "flipped": good[:middle] + bytes([good[middle] ^ 0x10]) + good[middle + 1:],
            "empty": b"", "cut": good[:middle], "not-json": b"\0" * len(good),
            "newer": good.replace(b'"version": 1', b'"version": 2'),
            "swapped": driver.record_path(other.handle).read_bytes()}[damage])
    image = content.fingerprint(driver.image(volume.handle))
    driver.start()
    assert is_usable(driver, kubelet, other)
    with grpc.insecure_channel(driver.client.target,
                               options=csi_client.CHANNEL_OPTIONS) as channel:
        refuse_everything(channel, kubelet, volume)
    with refused("INTERNAL"):
        driver.create("pv")
    assert content.fingerprint(driver.image(volume.handle)) == image
    driver.server.kill()
    path.write_bytes(good)
    driver.start()
    assert sorted(driver.listed()) == sorted([volume.handle, other.handle])
    assert is_usable(driver, kubelet, volume)


def test_a_restored_record_is_listed_again_without_a_restart(driver, kubelet, volume):
    path = driver.record_path(volume.handle)
    good = path.read_bytes()
    path.write_bytes(b"")
    driver.crash()
    path.write_bytes(good)
    kubelet.mount(volume, "pod")
    until(lambda: driver.listed() == [volume.handle], "the volume is not listed", RECONCILED)
    kubelet.unmount(volume, "pod")


def test_teardown_works_while_the_record_is_damaged(driver, kubelet, volume):
    """It must be possible to remove a pod; the administrator repairs the volume."""
    kubelet.mount(volume, "pod")
    path = driver.record_path(volume.handle)
    good = path.read_bytes()
    path.write_bytes(b"damage")
    driver.crash()
    kubelet.unmount(volume, "pod")
    assert driver.loop(volume.handle) is None
    path.write_bytes(good)
    driver.crash()


def test_the_space_of_a_damaged_volume_stays_promised(new_driver, new_disk):
    """Its bytes still exist, so they may not be provisioned to another volume."""
    new_disk(512 << 20)
    driver = new_driver()
    volume_id = driver.create("pv", size=200 << 20, provisioning="thick").volume_id

    def maximum():
        return driver.call("GetCapacity",
                           parameters={"provisioning": "thick"}).maximum_volume_size.value

    before = maximum()
    good = driver.record_path(volume_id).read_bytes()
    driver.record_path(volume_id).write_bytes(b"damage")
    driver.crash()
    assert maximum() <= before
    driver.record_path(volume_id).write_bytes(good)
    driver.crash()


def test_files_of_others_in_the_pool_are_left_alone(driver):
    volume_id = driver.create("pv").volume_id
    stray = driver.volume_directory(volume_id) / "precious"
    stray.write_text("data")
    with pytest.raises(grpc.RpcError):
        driver.delete(volume_id)
    places = list(driver.pool.rglob("precious"))
    assert [place.read_text() for place in places] == ["data"]
    driver.crash()
    places = list(driver.pool.rglob("precious"))
    assert [place.read_text() for place in places] == ["data"]
    places[0].unlink()
    driver.delete(volume_id)
