# SPDX-License-Identifier: Apache-2.0
"""`holdfast audit` and `holdfast delete-volumes` of one instance."""

import json
import subprocess

import pytest

import audit
import command
import csi_client
import driver_fixtures
import waiting
from driver import MIB

NODE = "test-node"


def at(driver):
    return f"--endpoint=unix://{driver.server.socket}"


def claimed(driver, name, claim="", access="mount"):
    """A volume as csi-provisioner asks for it."""
    names = {"csi.storage.k8s.io/pvc/name": claim, "csi.storage.k8s.io/pvc/namespace": "shop",
             "csi.storage.k8s.io/pv/name": name} if claim else {}
    return driver.create(name, access=access, **names).volume_id


def has_looked(driver):
    waiting.until(lambda: driver.client.admin("ListLeftovers").rounds, "the first look")


def age(driver, *ids):
    assert driver.server.stop() is None
    audit.make_old(driver, *ids)
    driver.start()
    has_looked(driver)


def run(driver, objects, *flags):
    return audit.run(driver_fixtures.binary(), driver.server.socket, objects, *flags)


def judged(driver, *objects, code, flags=()):
    """The verdicts as {"findings": {(kind, subject)}, ...}."""
    shown = command.parsed(run(driver, audit.object_list(*objects), "--output=json", *flags), code)
    assert shown["complete"] == (code != audit.INCOMPLETE)
    return {verdict: {(entry["kind"], entry["subject"]) for entry in shown[verdict]}
            for verdict in ("findings", "unknown", "notes")}


def volume_object(driver, volume_id, name="pv", **changes):
    facts = {"size": driver.record(volume_id)["capacity_bytes"], "node": NODE} | changes
    return audit.persistent_volume(volume_id, facts["size"], facts["node"], name)


NOTHING = {"findings": set(), "unknown": set(), "notes": set()}


def test_what_agrees_is_clean(driver):
    volume_id = claimed(driver, "pvc-0", "orders")
    age(driver, volume_id)
    other = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "nfs"},
             "spec": {"nfs": {"server": "a", "path": "/"}}}
    assert judged(driver, volume_object(driver, volume_id), other, code=0) == NOTHING
    shown = run(driver, audit.object_list(volume_object(driver, volume_id), other))
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == ("0 findings, 0 unknown: 1 volume and 1 PersistentVolume of "
                            "csi.holdfast.dev were compared on 1 node\n")


def test_every_kind_of_finding(driver):
    alone = claimed(driver, "pvc-alone", "orders")
    larger, moved, twice = (claimed(driver, name) for name in ("larger", "moved", "twice"))
    gone = claimed(driver, "gone")
    gone_object = volume_object(driver, gone, "pv-gone")
    age(driver, alone, larger, moved, twice)
    driver.delete(gone)
    objects = [gone_object, volume_object(driver, larger, "pv-larger", size="1G"),
               volume_object(driver, moved, "pv-moved", node="n2"),
               volume_object(driver, twice, "pv-twice"), volume_object(driver, twice, "pv-again")]
    assert judged(driver, *objects, code=1) == NOTHING | {"findings": {
        ("pv-without-data", "pv-gone"), ("size-differs", "pv-larger"),
        ("node-differs", "pv-moved"), ("two-pvs", "pv-again"), ("volume-without-pv", alone)}}
    shown = run(driver, audit.object_list(*objects))
    line, = [line for line in shown.stdout.splitlines() if alone in line]
    assert line.split()[:5] == ["finding", "volume-without-pv", alone, "shop/orders", NODE]
    assert "\x1b" not in shown.stdout


def test_an_empty_list_is_not_clean_while_there_are_volumes(driver):
    volume_id = claimed(driver, "pvc-0")
    age(driver, volume_id)
    assert judged(driver, code=1)["findings"] == {("volume-without-pv", volume_id)}
    driver.delete(volume_id)
    assert judged(driver, code=0) == NOTHING


def test_a_new_volume_is_only_noted(driver):
    volume_id = claimed(driver, "pvc-0")
    has_looked(driver)
    assert judged(driver, code=0)["notes"] == {("volume-without-pv", volume_id)}


def test_a_volume_with_a_damaged_record_is_not_missing(driver):
    volume_id = claimed(driver, "pvc-0")
    kept = volume_object(driver, volume_id)
    path = driver.record_path(volume_id)
    good = path.read_bytes()
    assert driver.server.stop() is None
    path.write_bytes(good.replace(b"pvc-0", b"pvc-1"))
    driver.start()
    has_looked(driver)
    assert volume_id not in driver.listed()
    found = judged(driver, kept, code=2)
    assert found["unknown"] == {("pv-without-data", "pv")}
    assert found["findings"] == {("leftover", volume_id)}
    path.write_bytes(good)
    driver.crash()


def test_a_pool_that_is_away_hides_nothing_and_denies_nothing(driver):
    volume_id = claimed(driver, "pvc-0")
    gone = claimed(driver, "gone")
    age(driver, volume_id)
    objects = [volume_object(driver, volume_id, "pv-0"), volume_object(driver, gone, "pv-gone")]
    driver.delete(gone)
    marker = driver.pool / "holdfast-pool.json"
    hidden = marker.rename(driver.pool / "hidden")
    found = judged(driver, *objects, code=2)
    assert found["unknown"] == {("pool", "default"), ("pv-without-data", "pv-gone")}
    hidden.rename(marker)
    waiting.until(lambda: run(driver, audit.object_list(*objects)).returncode == 1, "it is back")
    assert judged(driver, *objects, code=1)["findings"] == {("pv-without-data", "pv-gone")}


def test_volumes_of_other_nodes_and_drivers_are_not_judged(driver):
    elsewhere = audit.persistent_volume(
        "default:n2:6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a001", "1Gi", "n2")
    other = audit.persistent_volume("vol-1", "1Gi", "")
    other["spec"]["csi"]["driver"] = "ebs.csi.aws.com"
    has_looked(driver)
    assert judged(driver, elsewhere, other, code=0) == NOTHING
    assert "1 of other nodes" in run(driver, audit.object_list(elsewhere)).stdout


def test_the_drivers_name_is_the_instances(directory, new_driver):
    driver = new_driver()
    assert driver.server.stop() is None
    driver.server.command.append("--driver-name=csi.example.org")
    driver.start()
    volume_id = claimed(driver, "pvc-0")
    age(driver, volume_id)
    kept = volume_object(driver, volume_id)
    assert judged(driver, kept, code=1)["findings"] == {("volume-without-pv", volume_id)}
    kept["spec"]["csi"]["driver"] = "csi.example.org"
    expression, = kept["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0][
        "matchExpressions"]
    expression["key"] = "topology.csi.example.org/node"
    assert judged(driver, kept, code=0) == NOTHING
    assert driver.server.stop() is None
    driver.server.command.pop()
    driver.start()


def test_snapshots(driver):
    volume_id = claimed(driver, "pvc-0")
    snapshot_id = driver.snapshot(volume_id, "snap-0").snapshot_id
    kept = volume_object(driver, volume_id)
    age(driver, volume_id, snapshot_id)
    assert judged(driver, kept, code=0) == NOTHING, "the list has no contents"
    without = {("snapshot-without-content", snapshot_id)}
    assert judged(driver, kept, code=1, flags=["--snapshots"])["findings"] == without
    content = audit.volume_snapshot_content(snapshot_id)
    assert judged(driver, kept, content, code=0) == NOTHING
    driver.delete_snapshot(snapshot_id)
    assert judged(driver, kept, content, code=1)["findings"] == {
        ("content-without-data", "snapcontent")}


@pytest.mark.parametrize("text, problem", [
    ("", "it is empty"),
    ("No resources found\n", "not JSON"),
    ('{"kind": "List", "items": [', "it ends in the middle"),
    ('{"kind": "List", "items": [{"kind": "PersistentVolumeClaim"}]}', "PersistentVolumeClaim"),
    ('{"kind": "Status"}', "not a list of PersistentVolumes"),
    ("[" * 1_000_000, "it is not an object"),
    ('{"a":' * 1_000_000, "nested"),
], ids=["empty", "no-json", "cut-off", "claims", "status", "array", "deep"])
def test_what_is_no_list_is_refused_in_one_sentence(driver, text, problem):
    result = run(driver, text)
    error = command.refused(result, audit.INCOMPLETE, "holdfast: standard input: ", problem)
    assert error.count("\n") == 1


def test_files(holdfast, driver, directory):
    path = directory / "pvs.json"
    command.refused(holdfast("audit", at(driver), path), audit.INCOMPLETE, str(path), "No such")
    path.write_text(audit.object_list())
    has_looked(driver)
    assert holdfast("audit", at(driver), path).returncode == 0
    with open(path, "ab") as file:
        file.truncate(1 << 30)
    command.refused(holdfast("audit", at(driver), path), audit.INCOMPLETE, str(path), "512 MiB")
    command.refused(holdfast("audit", at(driver), directory), audit.INCOMPLETE, "directory")


def test_no_instance_is_not_clean(holdfast, directory):
    path = directory / "pvs.json"
    path.write_text(audit.object_list())
    command.refused(holdfast("audit", f"--endpoint=unix://{directory}/csi.sock", path),
                    audit.INCOMPLETE, "holdfast serve")


def test_adoption(driver):
    orders = claimed(driver, "pvc-0", "orders")
    raw = claimed(driver, "pvc-1", "raw", access="block")
    unknown = claimed(driver, "pvc-2")
    age(driver, orders, raw, unknown)
    result = run(driver, audit.object_list(), "--adopt", "--storage-class=fast")
    assert result.returncode == audit.FINDINGS
    assert f"left out: '{unknown}': its claim is not recorded" in result.stderr
    adopted = {item["spec"]["csi"]["volumeHandle"]: item
               for item in json.loads(result.stdout)["items"]}
    assert set(adopted) == {orders, raw}
    assert adopted[orders] == {
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": "pvc-0",
                     "annotations": {"pv.kubernetes.io/provisioned-by": "csi.holdfast.dev"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "64Mi"},
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "shop",
                         "name": "orders"},
            "csi": {"driver": "csi.holdfast.dev", "fsType": "ext4", "volumeHandle": orders},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": audit.TOPOLOGY_KEY, "operator": "In", "values": [NODE]}]}]}},
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "fast",
            "volumeMode": "Filesystem"}}
    assert adopted[raw]["spec"]["volumeMode"] == "Block"
    assert "fsType" not in adopted[raw]["spec"]["csi"]
    chosen = run(driver, audit.object_list(), "--adopt", f"--claim={unknown}=shop/other")
    assert chosen.returncode == 0, chosen.stderr
    items = json.loads(chosen.stdout)["items"]
    assert len(items) == 3
    assert judged(driver, *items, code=0) == NOTHING, "the audit agrees with what it has printed"


@pytest.mark.parametrize("flags, problem", [
    (("--claim=x=shop/a",), "--claim"),
    (("--adopt", "--claim=x=shop/a"), "must be VOLUME_ID=NAMESPACE/NAME"),
    (("--adopt", "--access-mode=RWO"), "--access-mode"),
    (("--adopt", "--delete-list"), "--delete-list"),
    (("--storage-class=a",), "--adopt"),
])
def test_flags_that_cannot_be(driver, flags, problem):
    command.refused(run(driver, audit.object_list(), *flags), audit.INCOMPLETE, problem)


def delete(driver, objects, *ids):
    return subprocess.run(
        [driver_fixtures.binary(), "delete-volumes", at(driver), "--pvs=-", *ids],
        input=objects, capture_output=True, text=True, timeout=60, check=False)


def test_deletion_takes_an_explicit_command(driver):
    """The audit lists what may be named; only what is named is deleted, and all of it or none."""
    old, kept, young = (claimed(driver, name, name) for name in ("old", "kept", "young"))
    age(driver, old, kept)
    pvs = audit.object_list(volume_object(driver, kept))
    listed = run(driver, pvs, "--delete-list")
    assert listed.returncode == 0
    comment, named = listed.stdout.splitlines()
    assert named == old and comment.startswith("# shop/old, 64 MiB, ")
    assert set(driver.listed()) == {old, kept, young}, "a list deletes nothing"
    for refused, words in {kept: "PersistentVolume 'pv' has volume",
                           young: "is younger than 1h",
                           old[:-1] + "0": "is not listed"}.items():
        if refused == old:
            continue
        command.refused(delete(driver, pvs, old, refused), 1, "nothing is deleted", words)
    command.refused(delete(driver, pvs, old, "nonsense"), 2, "nothing is deleted", "nonsense")
    command.refused(delete(driver, "", old), 2, "standard input")
    assert set(driver.listed()) == {old, kept, young}
    done = delete(driver, pvs, old)
    assert (done.returncode, done.stdout) == (0, f"deleted {old}\n")
    assert set(driver.listed()) == {kept, young}


def test_a_volume_in_use_is_not_deleted(driver, directory):
    volume_id = claimed(driver, "pvc-0", "orders")
    age(driver, volume_id)
    staging = directory / "staging"
    staging.mkdir()
    driver.call("NodeStageVolume", volume_id=volume_id, staging_target_path=str(staging),
                volume_capability=csi_client.capability(filesystem="ext4"))
    assert "it is attached" in run(driver, audit.object_list()).stdout
    command.refused(delete(driver, audit.object_list(), volume_id), 1, "is not deleted")
    driver.call("NodeUnstageVolume", volume_id=volume_id, staging_target_path=str(staging))
    assert delete(driver, audit.object_list(), volume_id).returncode == 0
    assert driver.listed() == []


def test_names_cannot_command_the_terminal(driver):
    volume_id = driver.create("a\tb", size=64 * MIB).volume_id
    age(driver, volume_id)
    name = "pv\x1b[2J"
    objects = audit.object_list(volume_object(driver, volume_id, name, node="n2"))
    shown = run(driver, objects)
    assert shown.returncode == 1 and "\x1b" not in shown.stdout
    listed = run(driver, audit.object_list(), "--delete-list").stdout
    assert listed.splitlines()[0].startswith("# a?b, ")
