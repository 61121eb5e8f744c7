# SPDX-License-Identifier: Apache-2.0
"""Credentials in calls, for a pool that has no user of its own."""

import pathlib

import pytest

import csi_client
import driver as driver_module
from csi_client import capability, refused
from conftest import CAPS, USER
from rbd_driver import journal, residue
from test_faults import until_it_works

MIB = driver_module.MIB


def key_of(ceph, user):
    keyring = (ceph.directory / f"{user}.keyring").read_text()
    return keyring.split("key = ")[1].split()[0]


@pytest.fixture
def secrets(ceph):
    return {"userID": USER, "userKey": key_of(ceph, USER)}


@pytest.fixture
def bare(new_driver, secrets, ceph):
    """A driver that knows no user until a call names one."""
    driver = new_driver(user=None, flags=("--attach",))
    yield driver
    # So that the fixture's own check for leftovers finds it.
    if driver.server.process.poll() is None:
        create(driver, secrets, "last")
        for volume_id in driver.listed():
            delete(driver, secrets, volume_id)


def create(driver, secrets, name="pvc"):
    return driver.call("CreateVolume", name=name, capacity_range=csi_client.at_least(64 * MIB),
                       volume_capabilities=[capability()], parameters={"provisioning": "thin"},
                       secrets=secrets).volume.volume_id


def delete(driver, secrets, volume_id):
    driver.call("DeleteVolume", volume_id=volume_id, secrets=secrets)


def calls_with_secrets(driver, volume_id, staging):
    """Every call that must bring them, but the creation."""
    return {
        "publish": lambda secrets: driver.call(
            "ControllerPublishVolume", volume_id=volume_id, node_id="test-node",
            volume_capability=capability(), secrets=secrets),
        "stage": lambda secrets: driver.call(
            "NodeStageVolume", volume_id=volume_id, staging_target_path=str(staging),
            volume_capability=capability(), secrets=secrets),
        "unpublish": lambda secrets: driver.call(
            "ControllerUnpublishVolume", volume_id=volume_id, secrets=secrets),
        "expand": lambda secrets: driver.call(
            "ControllerExpandVolume", volume_id=volume_id,
            capacity_range=csi_client.at_least(96 * MIB), secrets=secrets),
        "delete": lambda secrets: delete(driver, secrets, volume_id)}


def calls_without(driver, volume_id):
    return [lambda: driver.call("ListVolumes"),
            lambda: driver.call("GetCapacity", parameters={"provisioning": "thin"}),
            lambda: driver.call("ControllerGetVolume", volume_id=volume_id)]


@pytest.fixture
def staging(directory):
    path = directory / "staging"
    path.mkdir()
    return path


@pytest.mark.slice
def test_a_life(bare, secrets, ceph, staging):
    volume_id = create(bare, secrets)
    assert create(bare, secrets) == volume_id
    for name, call in calls_with_secrets(bare, volume_id, staging).items():
        if name == "stage":
            with refused("FAILED_PRECONDITION", "this kernel has no rbd|lacks image features"):
                call(secrets)
        else:
            call(secrets)
    assert residue(ceph) == []


@pytest.mark.slice
def test_missing_or_half(bare, secrets, ceph, staging):
    volume_id = create(bare, secrets)
    calls = {"create": lambda given: create(bare, given, "other"),
             **calls_with_secrets(bare, volume_id, staging)}
    half = {key: value for key, value in secrets.items() if key == "userID"}
    other_half = {key: value for key, value in secrets.items() if key == "userKey"}
    for name, call in calls.items():
        for given, missing in ((half, "userKey"), (other_half, "userID"), ({}, "userID")):
            if name == "unpublish" and not given:
                continue  # the last ones do
            with refused("INVALID_ARGUMENT", f"^secrets: {missing} is missing"):
                call(given)
        with refused("INVALID_ARGUMENT", "^secrets: userKey is not a Ceph key"):
            call({**secrets, "userKey": "not a key"})
        with refused("INVALID_ARGUMENT", "^secrets: userID must be"):
            call({**secrets, "userID": "a,b"})
    assert bare.listed() == [volume_id], "the good ones are still known"


@pytest.mark.slice
def test_before_there_are_any(bare, secrets):
    volume_id = create(bare, secrets)
    bare.restart()
    for call in calls_without(bare, volume_id):
        with refused("UNAVAILABLE", "no user of its own.*userID and userKey"):
            call()
    # Calls that need no cluster work.
    bare.call("NodeUnstageVolume", volume_id=volume_id, staging_target_path="/var/tmp/none")
    create(bare, secrets)
    for call in calls_without(bare, volume_id):
        until_it_works(call)


@pytest.mark.slice
def test_the_key_is_kept_in_memory_alone(bare, secrets, ceph, staging):
    volume_id = create(bare, secrets)
    errors = []
    for given in ({**secrets, "userID": "unknown"}, secrets):
        for name, call in calls_with_secrets(bare, volume_id, staging).items():
            if given != secrets and name != "expand":
                continue  # each waits for the cluster's refusal
            try:
                call(given)
            except csi_client.grpc.RpcError as error:
                errors.append(error.details())
    process = pathlib.Path(f"/proc/{bare.server.process.pid}")
    places = [bare.log(), str(journal(ceph)), *errors,
              *((process / name).read_text() for name in ("cmdline", "environ")),
              *(path.read_text() for path in (bare.directory / "state").rglob("*")
                if path.is_file())]
    assert errors and not [place for place in places if secrets["userKey"] in place]


def test_each_call_is_made_as_who_it_says(bare, secrets, ceph):
    """Also while calls of another user are running; and a user without permission is refused."""
    ceph.make_user("watcher", ("mon", "profile rbd-read-only"), ("osd", "profile rbd-read-only"))
    watcher = {"userID": "watcher", "userKey": key_of(ceph, "watcher")}
    for number in range(3):
        volume_id = create(bare, secrets, f"pvc-{number}")
        with refused("FAILED_PRECONDITION", "check user, key and caps"):
            create(bare, watcher, "other")
        with refused("FAILED_PRECONDITION", "check user, key and caps"):
            delete(bare, watcher, volume_id)
        delete(bare, secrets, volume_id)


def test_a_key_that_changes(bare, secrets, ceph):
    ceph.make_user("rotating", *CAPS)
    old = {"userID": "rotating", "userKey": key_of(ceph, "rotating")}
    volume_id = create(bare, old)
    ceph.ceph("auth", "rm", "client.rotating")
    ceph.make_user("rotating", *CAPS)
    new = {"userID": "rotating", "userKey": key_of(ceph, "rotating")}
    assert new != old
    delete(bare, new, volume_id)
    assert bare.listed() == []
    clients = [line for line in bare.log().splitlines() if "connected to Ceph cluster" in line]
    assert len(clients) == 2


def test_a_wrong_key_is_not_remembered(bare, secrets):
    volume_id, key = create(bare, secrets), secrets["userKey"]
    wrong = key[:-6] + ("B" if key[-6] == "A" else "A") + key[-5:]
    with refused("UNAVAILABLE", "and the key"):
        create(bare, {**secrets, "userKey": wrong}, "other")
    assert bare.listed() == [volume_id]
