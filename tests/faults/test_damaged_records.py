# SPDX-License-Identifier: Apache-2.0
"""Every byte of every kind of record, flipped one at a time: a clear error or no harm at all."""

import shutil

import grpc
import pytest

import content
import csi_client
import doctor
import lives
import mount_table
import record_text
from csi_client import refused
from driver import MIB, uuid_of

FLIP = 0x01
STARTS_APART = 8  # bytes of a marker between two starts, which take longer than calls


def flipped(good, position):
    return good[:position] + bytes([good[position] ^ FLIP]) + good[position + 1:]


def is_only_spacing(good, position):
    """A newline turned into another blank changes no value."""
    return good[position:position + 1].isspace() and bytes([good[position] ^ FLIP]).isspace()


def bytes_that_count(good):
    return [position for position in range(len(good)) if not is_only_spacing(good, position)]


@pytest.mark.parametrize("state", ["formatted", "allocating", "deleting"])
def test_a_volume_record_damaged_while_the_driver_was_down(driver, kubelet, state):
    """One start meets a volume for each byte of its record; none is removed, grown or formatted."""
    kept = lives.keep(driver, kubelet, "kept")
    model = lives.new_volume(driver, "model").handle
    good = record_in(driver, model, state)
    positions = bytes_that_count(good)
    driver.server.kill()
    uuids = [copy_of(driver, model, flipped(good, position), number)
             for number, position in enumerate(positions)]
    driver.start()
    assert sorted(driver.listed()) == sorted([kept.volume.handle, model])
    lives.assert_kept(kubelet, kept)
    with grpc.insecure_channel(driver.client.target,
                               options=csi_client.CHANNEL_OPTIONS) as channel:
        for uuid in uuids:
            handle = model.replace(uuid_of(model), uuid)
            assert_refused(channel, kubelet, handle)
            assert driver.image(handle).read_bytes() == uuid.encode(), "the image was touched"
    found = doctor.findings(driver)
    for uuid in uuids:
        finding = found[f"pool 'default', volume {uuid}"]
        assert finding["level"] == "warning"
        assert "record" in finding["found"]
        assert "restore its record.json from a backup" in finding["remedy"]
        shutil.rmtree(driver.volume_directory(model.replace(uuid_of(model), uuid)))


def record_in(driver, handle, state):
    """The text that the record has in a state: the product's own, so that its checksum is right."""
    return record_text.with_changes(driver.record_path(handle).read_text(), state=state)


def copy_of(driver, model, text, number):
    """A volume directory with this record; returns its name."""
    uuid = f"00000000-0000-5000-8000-{number:012x}"
    directory = driver.volume_directory(model.replace(uuid_of(model), uuid))
    directory.mkdir(mode=0o700)
    (directory / "record.json").write_bytes(text)
    (directory / "image").write_text(uuid)
    return uuid


def assert_refused(channel, kubelet, handle):
    staging = kubelet.root / "staging"
    staging.mkdir(parents=True, exist_ok=True)
    for name, fields in {
            "NodeStageVolume": {"staging_target_path": str(staging),
                                "volume_capability": csi_client.capability(filesystem="ext4")},
            "DeleteVolume": {},
            "ControllerExpandVolume": {"capacity_range": csi_client.at_least(1 << 28)}}.items():
        method = csi_client.METHODS[name]
        with refused("INTERNAL", "record"):
            csi_client.invoker(channel, method)(
                csi_client.request(method, {"volume_id": handle} | fields))


def test_the_marker_damaged_under_a_running_driver(driver, kubelet):
    """Whichever byte it is: nothing is created or deleted until the marker is restored."""
    kept = lives.keep(driver, kubelet, "kept")
    marker = driver.pool / "holdfast-pool.json"
    good = marker.read_bytes()
    with grpc.insecure_channel(driver.client.target,
                               options=csi_client.CHANNEL_OPTIONS) as channel:
        for position in range(len(good)):
            marker.write_bytes(flipped(good, position))
            for name, fields in {
                    "DeleteVolume": {"volume_id": kept.volume.handle},
                    "GetCapacity": {}, "Probe": {}}.items():
                method = csi_client.METHODS[name]
                with refused("FAILED_PRECONDITION", "marker"):
                    csi_client.invoker(channel, method)(csi_client.request(method, fields))
    marker.write_bytes(good)
    lives.assert_kept(kubelet, kept)


@pytest.mark.parametrize("place", ["pool", "state"])
def test_the_marker_or_its_copy_damaged_while_the_driver_was_down(driver, kubelet, place):
    """The pool is not served, and the log names the file; doctor names the remedy, which works."""
    kept = lives.keep(driver, kubelet, "kept")
    marker = driver.pool / "holdfast-pool.json"
    copy = driver.directory / "state" / "pools" / "default.json"
    damaged, whole = (marker, copy) if place == "pool" else (copy, marker)
    good = damaged.read_bytes()
    assert driver.server.stop() is None
    for position in bytes_that_count(good)[::STARTS_APART]:
        damaged.write_bytes(flipped(good, position))
        log_before = len(driver.log())
        if driver.start_unready() is None:
            with csi_client.refused("FAILED_PRECONDITION", damaged.name):
                driver.call("Probe")
            assert driver.server.stop() is None
        assert driver.server.process.wait(30) is not None
        said = driver.log()[log_before:]
        assert damaged.name in said, f"byte {position}: {said}"
        assert damaged.read_bytes() == flipped(good, position)
    finding = doctor.findings(driver)["pool 'default', directory"]
    assert finding["level"] == "missing"
    assert ("state directory" in finding["remedy"]) == (place == "pool")
    shutil.copy(whole, damaged)
    driver.start()
    lives.assert_kept(kubelet, kept)


def test_a_stage_record(driver, kubelet):
    """The record only helps to compare calls: the mount table shows what is staged, and nothing
    breaks."""
    volume = lives.new_volume(driver, "pv")
    path = kubelet.mount(volume, "pod")
    written = content.write(path / "data", MIB)
    record, = (driver.directory / "state" / "stages").iterdir()
    mounts = mount_table.read()
    good = record.read_bytes()
    for position in range(len(good)):
        record.write_bytes(flipped(record.read_bytes(), position))
        kubelet.restart([(volume, "pod", False)])
        assert mount_table.read() == mounts, f"byte {position}: the mounts have changed"
    assert content.checksum(path / "data") == written
    for position in (0, len(good) // 2):
        record.write_bytes(flipped(record.read_bytes(), position))
        driver.crash()
        kubelet.restart([(volume, "pod", False)])
    record.write_bytes(b"\0" * len(good))
    kubelet.unmount(volume, "pod")
    assert driver.loop(volume.handle) is None
    assert not record.exists()
