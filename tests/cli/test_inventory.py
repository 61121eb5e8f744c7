# SPDX-License-Identifier: Apache-2.0
"""`holdfast volumes`, `holdfast snapshots` and `holdfast pools`."""

import os
import socket

import pytest

import admin_pb2
import command
import csi_client

RED = "\x1b[31m"
VERBS = ("volumes", "snapshots", "pools")


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


@pytest.mark.parametrize("verb", ("volumes", "snapshots"))
def test_there_are_none(holdfast, driver, verb):
    assert command.parsed(holdfast(verb, at(driver), "--output=json")) == []
    result = holdfast(verb, at(driver))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", f"no {verb}\n")


@pytest.mark.parametrize("verb, entry", [("volumes", "Volume"), ("snapshots", "Snapshot"),
                                         ("pools", "Pool")])
def test_json_has_every_field_under_its_own_name(holdfast, driver, verb, entry):
    driver.snapshot(driver.create("data-0").volume_id, "snap-0")
    fields = getattr(admin_pb2, entry).DESCRIPTOR.fields
    for item in command.parsed(holdfast(verb, at(driver), "--output=json")):
        assert list(item) == [field.name for field in fields]
        for field in fields:
            kind = {field.TYPE_INT64: int, field.TYPE_BOOL: bool}.get(field.type, str)
            assert type(item[field.name]) is (list if field.label == field.LABEL_REPEATED else kind)


def test_volume_in_use(holdfast, driver, directory, staged):
    driver.create("raw", access="block")
    volumes = {item["name"]: item
               for item in command.parsed(holdfast("volumes", at(driver), "--output=json"))}
    data = volumes["data-0"]
    assert (data["id"], data["state"], data["capacity_bytes"]) == (staged, "formatted", 64 << 20)
    assert data["target_paths"] == [str(directory / "target")]
    assert data["staging_path"] == str(directory / "staging")
    table = {row["NAME"]: row for row in rows(holdfast("volumes", at(driver)))}
    assert (table["data-0"]["ID"], table["data-0"]["USE"]) == (staged, "published 1")
    assert (table["data-0"]["SIZE"], table["data-0"]["DEVICE"]) == ("64 MiB", data["device"])
    assert (table["raw"]["FILESYSTEM"], table["raw"]["USE"]) == ("(block)", "idle")
    wide = {row["NAME"]: row for row in rows(holdfast("volumes", at(driver), "--output=wide"))}
    assert wide["data-0"]["MOUNT POINTS"] == f"{directory}/staging,{directory}/target"
    assert wide["data-0"]["CREATED"] == data["created_at"]


def test_snapshots_and_their_copies(holdfast, driver):
    volume = driver.create("data-0").volume_id
    snapshot = driver.snapshot(volume, "snap-0").snapshot_id
    driver.create("copy-0", source=snapshot)
    shown, = command.parsed(holdfast("snapshots", at(driver), "--output=json"))
    assert (shown["id"], shown["source_volume_id"]) == (snapshot, volume)
    assert (shown["size_bytes"], shown["copied_bytes"]) == (64 << 20, 64 << 20)
    assert shown["ready_to_use"] and 0 <= shown["shared_bytes"] <= shown["occupied_bytes"]
    row, = rows(holdfast("snapshots", at(driver)))
    assert (row["ID"], row["NAME"], row["SIZE"], row["STATE"]) == (
        snapshot, "snap-0", "64 MiB", "ready")
    assert row["CREATED"] == shown["created_at"]
    wide, = rows(holdfast("snapshots", at(driver), "--output=wide"))
    assert wide["VOLUME"] == volume
    volumes = {row["NAME"]: row for row in rows(holdfast("volumes", at(driver), "--output=wide"))}
    assert (volumes["copy-0"]["SOURCE"], volumes["data-0"]["SOURCE"]) == (snapshot, "(none)")


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
    assert row["LOCATION"] == str(driver.pool)
    marker = driver.pool / "holdfast-pool.json"
    hidden = marker.rename(driver.pool / "hidden")
    row, = rows(holdfast("pools", at(driver)))
    assert "holdfast-pool.json" in row["STATE"]
    assert command.parsed(holdfast("pools", at(driver), "--output=json"))[0]["problem"]
    hidden.rename(marker)
    assert rows(holdfast("pools", at(driver)))[0]["STATE"] == "ok"
