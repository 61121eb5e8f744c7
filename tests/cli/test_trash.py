# SPDX-License-Identifier: Apache-2.0
"""`holdfast trash` of one instance."""

import json
import re

import pytest

import admin_pb2
import command
import csi_client
from driver import MIB
from test_inventory import at, rows

NAMES = {"csi.storage.k8s.io/pvc/namespace": "shop", "csi.storage.k8s.io/pvc/name": "orders",
         "csi.storage.k8s.io/pv/name": "pvc-7"}
SNAPSHOT_NAMES = {"csi.storage.k8s.io/volumesnapshot/namespace": "shop",
                  "csi.storage.k8s.io/volumesnapshot/name": "nightly",
                  "csi.storage.k8s.io/volumesnapshotcontent/name": "snapcontent-7"}
NODE, DRIVER = "test-node", "csi.holdfast.dev"


@pytest.fixture
def driver(new_driver):
    return new_driver(",keepDeleted=24h")


@pytest.fixture
def entry(driver):
    """What was the volume of claim shop/orders."""
    driver.delete(driver.create("data-0", size=64 * MIB, **NAMES).volume_id)
    return driver.trash()[0]


def trash(holdfast, driver, *words):
    return holdfast("trash", *words, at(driver))


def test_the_list(holdfast, driver, entry):
    row, = rows(trash(holdfast, driver, "list"))
    assert (row["OF"], row["KIND"], row["NODE"]) == ("shop/orders", "volume", NODE)
    assert (row["POOL"], row["SIZE"], row["ID"]) == ("default", "64 MiB", entry.id)
    assert re.fullmatch(r"2[34]h", row["PURGED IN"])
    wide, = rows(trash(holdfast, driver, "list", "--output=wide"))
    assert (wide["NAME"], wide["KEPT FOR"]) == ("data-0", "1d")
    shown = command.parsed(trash(holdfast, driver, "list", "--output=json"))
    assert list(shown) == ["trash", "unreachable"] and shown["unreachable"] == []
    fields = [field.name for field in admin_pb2.TrashEntry.DESCRIPTOR.fields]
    assert list(shown["trash"][0]) == fields
    pool, = command.parsed(holdfast("pools", at(driver), "--output=json"))["pools"]
    assert (pool["trash"], pool["volumes"]) == (1, 0)
    for flag in ("--node=other", "--pool=other", "--namespace=other"):
        result = trash(holdfast, driver, "list", flag)
        assert (result.returncode, result.stdout) == (0, "")
        assert result.stderr == "nothing in the trash\n"


def test_a_restored_volume_has_its_persistent_volume(holdfast, driver, entry):
    result = trash(holdfast, driver, "restore", entry.id, "--storage-class=fast")
    made = command.parsed(result)
    assert f"restored volume '{entry.volume_id}'" in result.stderr
    assert driver.listed() == [entry.volume_id] and driver.trash() == []
    assert made["kind"] == "PersistentVolume" and made["metadata"]["name"] == "pvc-7"
    spec = made["spec"]
    assert spec["csi"] == {"driver": DRIVER, "volumeHandle": entry.volume_id, "fsType": "ext4"}
    assert (spec["capacity"], spec["accessModes"]) == ({"storage": str(64 * MIB)},
                                                       ["ReadWriteOnce"])
    assert (spec["volumeMode"], spec["storageClassName"]) == ("Filesystem", "fast")
    assert spec["persistentVolumeReclaimPolicy"] == "Retain"
    assert spec["claimRef"] == {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                                "namespace": "shop", "name": "orders"}
    term, = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": f"topology.{DRIVER}/node", "operator": "In", "values": [NODE]}]
    command.refused(trash(holdfast, driver, "restore", entry.id), 1, "there is no")


def test_a_restored_snapshot_has_its_objects(holdfast, driver):
    volume_id = driver.create("data-0").volume_id
    snapshot_id = driver.call("CreateSnapshot", source_volume_id=volume_id, name="snap-0",
                              parameters=SNAPSHOT_NAMES).snapshot.snapshot_id
    driver.delete_snapshot(snapshot_id)
    entry, = driver.trash()
    made = command.parsed(trash(holdfast, driver, "restore", entry.id))
    content, snapshot = made["items"]
    assert (content["kind"], snapshot["kind"]) == ("VolumeSnapshotContent", "VolumeSnapshot")
    assert content["spec"]["source"] == {"snapshotHandle": snapshot_id}
    assert content["spec"]["volumeSnapshotRef"] == {"namespace": "shop", "name": "nightly"}
    assert snapshot["spec"]["source"]["volumeSnapshotContentName"] == "snapcontent-7"
    assert driver.snapshots() == [snapshot_id]


def test_a_volume_for_nobody_is_restored_without_an_object(holdfast, driver):
    for claim, code in (("", 1), ("shop/orders", 0)):
        driver.delete(driver.create("raw", access="block").volume_id)
        entry, = driver.trash()
        flags = [f"--claim={claim}"] if claim else []
        result = trash(holdfast, driver, "restore", entry.id, *flags)
        assert result.returncode == code and driver.listed() == [entry.volume_id]
        if claim:
            spec = json.loads(result.stdout)["spec"]
            assert spec["claimRef"]["name"] == "orders" and spec["volumeMode"] == "Block"
        else:
            assert result.stdout == "" and "is restored" in result.stderr


def test_purge(holdfast, driver, entry):
    other = f"{entry.id[:-36 - 17]}00000000-0000-4000-8000-000000000000.20261125T084500Z"
    result = trash(holdfast, driver, "purge", other, entry.id)
    assert result.returncode == 1 and f"'{other}' is not purged" in result.stderr
    assert result.stdout == f"purged {entry.id}\n"
    assert driver.trash() == [] and not list((driver.pool / "trash").iterdir())


@pytest.mark.parametrize("words, said", [
    ((), "ACTION"), (("empty",), "empty"), (("restore",), "one ID"), (("purge",), "one ID"),
    (("list", "x"), "takes no ID"), (("restore", "x"), "'x'"), (("purge", "../x"), "'../x'"),
    (("restore", "x", "--claim=shop"), "NAMESPACE/NAME")])
def test_nonsense_is_a_usage_error(holdfast, driver, words, said):
    command.refused(trash(holdfast, driver, *words), 2, said)


def test_an_entry_of_another_node_is_refused(holdfast, driver, entry):
    elsewhere = entry.id.replace(NODE, "elsewhere")
    for action in ("restore", "purge"):
        assert trash(holdfast, driver, action, elsewhere).returncode == 1
    with csi_client.refused("FAILED_PRECONDITION", "elsewhere"):
        driver.client.admin_command("RestoreTrash", id=elsewhere)
    assert driver.trash() == [entry]
