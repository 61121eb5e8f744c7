# SPDX-License-Identifier: Apache-2.0
"""`holdfast volumes`, `snapshots`, `pools`, `nodes` and `leftovers` of one instance."""

import os
import re
import socket
import subprocess

import grpc
import pytest

import admin_pb2
import command
import content
import csi_client
import driver_fixtures
import waiting
from driver import MIB

RED = "\x1b[31m"
VERBS = ("volumes", "snapshots", "pools", "nodes", "leftovers")
NODE = "test-node"


def at(driver):
    return f"--endpoint=unix://{driver.server.socket}"


def columns(line, title_line):
    """The cells of a line by title: they begin where the titles do, or end there."""
    titles = title_line.split("  ")
    titles = [title.strip() for title in titles if title.strip()]
    cells = [cell.strip() for cell in line.split("  ") if cell.strip()]
    assert len(cells) == len(titles), f"{title_line}\n{line}"
    return dict(zip(titles, cells))


def rows(result):
    assert result.returncode == 0, result.stderr
    title_line, *lines = result.stdout.splitlines()
    return [columns(line, title_line) for line in lines]


def listed(holdfast, driver, verb, *flags):
    """The entries of its JSON; nothing may be missing."""
    shown = command.parsed(holdfast(verb, at(driver), "--output=json", *flags))
    assert list(shown) == [verb, "unreachable"] and shown["unreachable"] == []
    return shown[verb]


@pytest.fixture
def staged(driver, directory):
    """A published volume; its mounts are taken down afterwards."""
    volume_id = driver.create("data-0", filesystem="ext4").volume_id
    staging, target = directory / "staging", directory / "target"
    staging.mkdir()
    use = {"volume_id": volume_id, "staging_target_path": str(staging),
           "volume_capability": csi_client.capability(filesystem="ext4")}
    driver.call("NodeStageVolume", **use)
    driver.call("NodePublishVolume", target_path=str(target), **use)
    yield volume_id
    driver.call("NodeUnpublishVolume", volume_id=volume_id, target_path=str(target))
    driver.call("NodeUnstageVolume", volume_id=volume_id, staging_target_path=str(staging))


def test_a_pool_beside_a_kubelet_keeps_a_larger_reserve(kubelet_directory, driver, holdfast):
    (pool,) = listed(holdfast, driver, "pools")
    assert os.path.isdir(kubelet_directory)
    assert 0.19 < pool["reserve_bytes"] / pool["total_bytes"] < 0.21


@pytest.mark.parametrize("verb", VERBS)
def test_nobody_there(holdfast, directory, verb):
    path = directory / "csi.sock"
    command.refused(holdfast(verb, f"--endpoint=unix://{path}"), 1, str(path), "holdfast serve")


@pytest.mark.parametrize("verb", VERBS)
def test_server_has_ended(holdfast, directory, verb):
    path = directory / "csi.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(path))
    command.refused(holdfast(verb, f"--endpoint=unix://{path}"), 1, "has ended", "holdfast serve")


def test_a_file_is_no_socket(holdfast, directory):
    path = directory / "file"
    path.write_text("")
    command.refused(holdfast("volumes", f"--endpoint=unix://{path}"), 1, "not a socket")


def test_a_foreign_endpoint_is_a_usage_error(holdfast):
    command.refused(holdfast("volumes", "--endpoint=tcp://localhost:1"), 2, "tcp://localhost:1")


def test_the_endpoint_may_come_from_the_environment(holdfast, driver):
    result = holdfast("pools", CSI_ENDPOINT=f"unix://{driver.server.socket}")
    assert [row["NAME"] for row in rows(result)] == ["default"]


@pytest.mark.parametrize("verb", ("volumes", "snapshots", "leftovers"))
def test_there_are_none(holdfast, driver, verb):
    assert listed(holdfast, driver, verb) == []
    result = holdfast(verb, at(driver))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", f"no {verb}\n")


@pytest.mark.parametrize("verb, entry", [("volumes", "Volume"), ("snapshots", "Snapshot"),
                                         ("pools", "Pool"), ("nodes", "Node")])
def test_json_has_every_field_under_its_own_name(holdfast, driver, verb, entry):
    driver.snapshot(driver.create("data-0").volume_id, "snap-0")
    fields = getattr(admin_pb2, entry).DESCRIPTOR.fields
    items = listed(holdfast, driver, verb)
    assert items
    for item in items:
        assert list(item) == [field.name for field in fields]
        for field in fields:
            kind = {field.TYPE_INT64: int, field.TYPE_BOOL: bool}.get(field.type, str)
            assert type(item[field.name]) is (list if field.label == field.LABEL_REPEATED else kind)


def test_volume_in_use(holdfast, driver, directory, staged):
    driver.create("raw", access="block")
    volumes = {item["name"]: item for item in listed(holdfast, driver, "volumes")}
    data = volumes["data-0"]
    assert (data["id"], data["state"], data["capacity_bytes"]) == (staged, "formatted", 64 << 20)
    assert data["target_paths"] == [str(directory / "target")]
    assert data["staging_path"] == str(directory / "staging")
    assert data["node"] == NODE and data["written_bytes"] > 0 < data["writes"]
    assert data["allocated_bytes"] == os.stat(driver.image(staged)).st_blocks * 512
    table = {row["CLAIM"]: row for row in rows(holdfast("volumes", at(driver)))}
    assert (table["data-0"]["SIZE"], table["data-0"]["CONDITION"]) == ("64 MiB", "ok")
    assert table["data-0"]["NODE"] == data["node"] and table["data-0"]["POOL"] == "default"
    assert re.fullmatch(r"\d+s", table["data-0"]["AGE"])
    wide = {row["NAME"]: row for row in rows(holdfast("volumes", at(driver), "--output=wide"))}
    assert (wide["data-0"]["ID"], wide["data-0"]["USE"]) == (staged, "published 1")
    assert wide["data-0"]["DEVICE"] == data["device"]
    assert (wide["raw"]["FILESYSTEM"], wide["raw"]["USE"]) == ("(block)", "idle")
    assert wide["data-0"]["MOUNT POINTS"] == f"{directory}/staging,{directory}/target"
    assert wide["data-0"]["CREATED"] == data["created_at"]


def test_snapshots_and_their_copies(holdfast, driver):
    volume = driver.create("data-0").volume_id
    snapshot = driver.snapshot(volume, "snap-0").snapshot_id
    driver.create("copy-0", source=snapshot)
    shown, = listed(holdfast, driver, "snapshots")
    assert (shown["id"], shown["source_volume_id"]) == (snapshot, volume)
    assert (shown["size_bytes"], shown["copied_bytes"]) == (64 << 20, 64 << 20)
    assert shown["ready_to_use"] and 0 <= shown["shared_bytes"] <= shown["occupied_bytes"]
    row, = rows(holdfast("snapshots", at(driver)))
    assert (row["SNAPSHOT"], row["SIZE"], row["STATE"]) == ("snap-0", "64 MiB", "ready")
    wide, = rows(holdfast("snapshots", at(driver), "--output=wide"))
    assert (wide["VOLUME"], wide["ID"]) == (volume, snapshot)
    assert wide["CREATED"] == shown["created_at"]
    volumes = {row["NAME"]: row for row in rows(holdfast("volumes", at(driver), "--output=wide"))}
    assert (volumes["copy-0"]["SOURCE"], volumes["data-0"]["SOURCE"]) == (snapshot, "(none)")


def test_snapshots_say_whose_their_blocks_are(holdfast, new_disk, new_driver):
    new_disk(1 << 30, filesystem="xfs")
    driver = new_driver()
    for provisioning in ("thin", "thick"):
        volume = driver.create(provisioning, access="block", provisioning=provisioning).volume_id
        content.write(driver.image(volume))
        driver.snapshot(volume, f"{provisioning}-snap")

    def blocks():
        return {row["SNAPSHOT"]: row["BLOCKS"] for row in rows(holdfast("snapshots", at(driver)))}
    seen = blocks()
    assert seen["thin-snap"] == "shared"
    assert seen["thick-snap"] in ("settling", "own")
    waiting.until(lambda: blocks() == {"thin-snap": "shared", "thick-snap": "own"}, "it settles")
    assert rows(holdfast("pools", at(driver)))[0]["SNAPSHOTS"] == "2"


def test_copies_that_are_under_way_say_how_far_they_are(holdfast, new_disk, new_driver):
    """In a pool that cannot share blocks."""
    new_disk(4 << 30)
    driver = new_driver()
    size = 1000 * MIB
    volume = driver.create("origin", access="block", size=size).volume_id
    content.write(driver.image(volume), 800 * MIB)
    driver.snapshot(volume, "snap")
    shown, = listed(holdfast, driver, "snapshots")
    assert not shown["ready_to_use"] and 0 < shown["copied_bytes"] < size
    row, = rows(holdfast("snapshots", at(driver)))
    assert re.fullmatch(r"copying [\d.]+ MiB of 1000 MiB", row["STATE"])
    waiting.until(lambda: driver.call("ListSnapshots").entries[0].snapshot.ready_to_use, "it ends")
    with csi_client.refused("ABORTED", "is being copied"):
        driver.create("clone", access="block", size=size, source=driver.snapshots()[0])
    table = {row["CLAIM"]: row for row in rows(holdfast("volumes", at(driver)))}
    assert re.fullmatch(r"copying [\d.]+ MiB of 1000 MiB", table["clone"]["STATE"])
    assert table["origin"]["STATE"] == "ready"
    shown = {item["name"]: item for item in listed(holdfast, driver, "volumes")}
    assert 0 < shown["clone"]["copied_bytes"] < size == shown["origin"]["copied_bytes"]
    assert (shown["clone"]["state"], shown["clone"]["abnormal"]) == ("copying", False)
    assert len(driver.listed()) == 1, "no call has returned the clone"
    driver.delete(shown["clone"]["id"])


def test_columns_are_as_wide_as_their_cells(holdfast, driver):
    for name in ("a", "ein-längerer-name-als-alle-anderen"):
        driver.create(name)
    lines = holdfast("volumes", at(driver)).stdout.splitlines()
    assert len({line.index(word) for line, word in zip(lines[1:], ("64 MiB", "64 MiB"))}) == 1
    assert len({len(line) for line in lines[1:]}) == 1


def test_paths_cannot_command_the_terminal(holdfast, driver, directory):
    volume_id = driver.create("data-0", filesystem="ext4").volume_id
    staging = directory / "st\taging"  # a path's only control character: others are refused
    staging.mkdir()
    driver.call("NodeStageVolume", volume_id=volume_id, staging_target_path=str(staging),
                volume_capability=csi_client.capability(filesystem="ext4"))
    shown = command.run_on_terminal("volumes", at(driver), "--output=wide", NO_COLOR="1")
    driver.call("NodeUnstageVolume", volume_id=volume_id, staging_target_path=str(staging))
    assert "/st?aging" in shown


def test_abnormal_volume_is_red_on_a_terminal_only(holdfast, driver):
    volume_id = driver.create("data-0").volume_id
    image = driver.image(volume_id)
    os.truncate(image, 1 << 20)
    result = holdfast("volumes", at(driver), "--output=wide")
    assert rows(result)[0]["CONDITION"] == "abnormal"
    assert "truncated" in result.stdout
    assert "\x1b" not in result.stdout
    shown = command.run_on_terminal("volumes", at(driver))
    assert f"{RED}abnormal" in shown
    assert "\x1b" not in command.run_on_terminal("volumes", at(driver), NO_COLOR="1")
    os.truncate(image, driver.record(volume_id)["capacity_bytes"])
    assert "\x1b" not in command.run_on_terminal("volumes", at(driver))


def test_pool_with_a_problem(holdfast, driver):
    driver.create("data-0", size=64 << 20)
    row, = rows(holdfast("pools", at(driver)))
    assert (row["STATE"], row["VOLUMES"], row["PROVISIONED"]) == ("ok", "1", "64 MiB")
    wide, = rows(holdfast("pools", at(driver), "--output=wide"))
    assert wide["LOCATION"] == str(driver.pool)
    marker = driver.pool / "holdfast-pool.json"
    hidden = marker.rename(driver.pool / "hidden")
    row, = rows(holdfast("pools", at(driver)))
    assert "holdfast-pool.json" in row["STATE"]
    assert listed(holdfast, driver, "pools")[0]["problem"]
    assert len(listed(holdfast, driver, "pools", "--abnormal")) == 1
    assert "holdfast-pool.json" in listed(holdfast, driver, "nodes", "--abnormal")[0]["problem"]
    hidden.rename(marker)
    assert rows(holdfast("pools", at(driver)))[0]["STATE"] == "ok"
    assert listed(holdfast, driver, "pools", "--abnormal") == []
    assert listed(holdfast, driver, "nodes", "--abnormal") == []


def claimed(driver, name, claim, namespace="shop"):
    """A volume as csi-provisioner asks for it with --extra-create-metadata."""
    return driver.create(name, **{
        "csi.storage.k8s.io/pvc/name": claim, "csi.storage.k8s.io/pvc/namespace": namespace,
        "csi.storage.k8s.io/pv/name": name}).volume_id


def test_names_of_kubernetes(holdfast, driver, directory):
    volume_id = claimed(driver, "pvc-0", "orders")
    driver.call("CreateSnapshot", source_volume_id=volume_id, name="snapshot-0", parameters={
        "csi.storage.k8s.io/volumesnapshot/name": "nightly",
        "csi.storage.k8s.io/volumesnapshot/namespace": "shop",
        "csi.storage.k8s.io/volumesnapshotcontent/name": "snapcontent-0"})
    staging, targets = directory / "staging", [directory / name for name in ("t0", "t1")]
    staging.mkdir()
    use = {"volume_id": volume_id, "staging_target_path": str(staging),
           "volume_capability": csi_client.capability(filesystem="ext4")}
    driver.call("NodeStageVolume", **use)
    for number, target in enumerate(targets):
        context = {"csi.storage.k8s.io/pod.name": f"web-{number}",
                   "csi.storage.k8s.io/pod.namespace": "shop"}
        driver.call("NodePublishVolume", target_path=str(target), volume_context=context, **use)
        driver.call("NodePublishVolume", target_path=str(target), **use)  # the same, as before
    shown, = listed(holdfast, driver, "volumes")
    assert (shown["kubernetes_namespace"], shown["claim"], shown["persistent_volume"]) == (
        "shop", "orders", "pvc-0")
    assert shown["pods"] == ["shop/web-0", "shop/web-1"]
    row, = rows(holdfast("volumes", at(driver)))
    assert (row["CLAIM"], row["PODS"]) == ("shop/orders", "web-0,web-1")
    snapshot, = listed(holdfast, driver, "snapshots")
    assert [snapshot[field] for field in ("kubernetes_namespace", "volume_snapshot",
                                          "volume_snapshot_content")] == [
        "shop", "nightly", "snapcontent-0"]
    assert rows(holdfast("snapshots", at(driver)))[0]["SNAPSHOT"] == "shop/nightly"
    driver.crash()
    again, = listed(holdfast, driver, "volumes")
    assert (again["claim"], again["pods"]) == ("orders", shown["pods"]), "they are recorded"
    for target in targets:
        driver.call("NodeUnpublishVolume", volume_id=volume_id, target_path=str(target))
    assert listed(holdfast, driver, "volumes")[0]["pods"] == []
    driver.call("NodeUnstageVolume", volume_id=volume_id, staging_target_path=str(staging))


def test_a_claim_changes_nothing_for_a_repeated_call(holdfast, driver):
    volume_id = claimed(driver, "pvc-0", "orders")
    assert claimed(driver, "pvc-0", "another", "bank") == volume_id
    assert driver.create("pvc-0").volume_id == volume_id
    assert [item["claim"] for item in listed(holdfast, driver, "volumes")] == ["orders"]


@pytest.mark.parametrize("name", ["", "Orders", "-orders", "or\x1b[31mders", "x" * 254, "a/b", "ü"])
def test_what_cannot_be_a_name_is_left_out(holdfast, driver, name):
    claimed(driver, "pvc-0", name)
    shown, = listed(holdfast, driver, "volumes")
    assert (shown["claim"], shown["kubernetes_namespace"]) == ("", "shop")


def test_selection(holdfast, driver):
    for name, namespace in (("pvc-0", "shop"), ("pvc-1", "bank")):
        claimed(driver, name, "data", namespace)
    os.truncate(driver.image(driver.create("pvc-2").volume_id), 1 << 20)

    def names(*flags):
        return [item["name"] for item in listed(holdfast, driver, "volumes", *flags)]
    assert names() == ["pvc-2", "pvc-1", "pvc-0"], "by namespace and claim"
    assert names("--namespace=bank") == ["pvc-1"]
    assert names("--pool=default", f"--node={NODE}", "--namespace=shop") == ["pvc-0"]
    assert names("--pool=other") == names("--node=other") == []
    assert names("--abnormal") == ["pvc-2"]
    assert [item["name"] for item in listed(holdfast, driver, "nodes")] == [NODE]


def test_watching_shows_what_has_changed(driver):
    watching = subprocess.Popen(
        [driver_fixtures.binary(), "volumes", at(driver), "--watch"], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=command.ENVIRONMENT)
    try:
        assert watching.stdout.readline() == "no volumes\n"
        driver.create("data-0")
        for line in watching.stdout:
            if line.startswith("data-0 "):
                break
        assert watching.poll() is None
    finally:
        watching.kill()
        watching.communicate()


def test_leftovers(holdfast, driver):
    """A file beside an image that is not Holdfast's is not deleted with the volume."""
    volume_id = driver.create("data-0").volume_id
    directory = driver.image(volume_id).parent
    foreign = directory / "foreign"
    foreign.write_text("")
    with pytest.raises(grpc.RpcError):
        driver.delete(volume_id)
    driver.crash()  # a start looks at once
    waiting.until(lambda: listed(holdfast, driver, "leftovers"), "it is not listed")
    shown = listed(holdfast, driver, "leftovers")[0]
    assert shown["node"] == NODE and shown["remedy"]
    row = rows(holdfast("leftovers", at(driver), "--output=wide"))[0]
    assert (row["KIND"], row["SUBJECT"], row["REMEDY"]) == (
        shown["kind"], shown["subject"], shown["remedy"])
    assert listed(holdfast, driver, "leftovers", "--pool=other") == []
    assert listed(holdfast, driver, "leftovers", "--pool=default")
    for left in driver.pool.rglob("foreign"):
        left.unlink()
    driver.crash()
    waiting.until(lambda: not listed(holdfast, driver, "leftovers"), "it stays")
