# SPDX-License-Identifier: Apache-2.0
"""A cluster that hangs, restarts, refuses, fences or is full: nothing is lost, duplicated or
stuck."""

import contextlib
import functools
import json
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import csi_client
import driver as driver_module
import driver_fixtures
from cluster import until
from csi_client import refused
from conftest import CAPS
from rbd_driver import change_record, image_of, journal, moment, record, residue

MIB = driver_module.MIB
ASKERS, CREATORS = 32, 4
BOUND_SECONDS = 55  # slightly less than a CO's sidecars wait


def expand(driver, volume_id, required):
    return driver.call("ControllerExpandVolume", volume_id=volume_id,
                       capacity_range=csi_client.at_least(required))


@pytest.fixture
def frozen(ceph):
    """Stops the object store, as a disk that hangs does."""
    def freeze():
        ceph.signal("osd.0", signal.SIGSTOP)
    yield freeze
    ceph.signal("osd.0", signal.SIGCONT)


def test_an_object_store_that_hangs(driver, ceph, frozen):
    kept, doomed = driver.create("kept", size=64 * MIB), driver.create("doomed", size=64 * MIB)
    calls = {
        "create": lambda: driver.create("new", size=64 * MIB),
        "expand": lambda: expand(driver, kept.volume_id, 80 * MIB),
        "delete": lambda: driver.delete(doomed.volume_id),
        "get": lambda: driver.call("ControllerGetVolume", volume_id=kept.volume_id),
        "list": lambda: driver.call("ListVolumes"),
    }
    frozen()
    for call in calls.values():
        began = time.monotonic()
        with refused("UNAVAILABLE", "did not answer in time"):
            call()
        assert time.monotonic() - began < BOUND_SECONDS, "every call ends before the CO gives up"
    ceph.signal("osd.0", signal.SIGCONT)
    for name in ("create", "expand", "delete"):
        until_it_works(calls[name])
    assert len(driver.listed()) == 2 == len(ceph.images()), "none twice, none lost"
    assert record(ceph, kept.volume_id)["capacity_bytes"] == 80 * MIB


def ending_of(driver, method):
    """The driver's log entry of the only such call that has ended, even if its caller did not
    wait."""
    def ended():
        calls = [json.loads(line) for line in driver.log().splitlines() if '"call"' in line]
        return next((call for call in calls if call["method"] == method), None)
    until(ended, f"{method} does not end", 60)
    return ended()


@pytest.mark.slice
def test_an_answer_after_the_deadline_is_uncertain(driver, ceph, frozen):
    """Any code will do: its caller no longer waited for it."""
    volume = driver.create("pvc", size=64 * MIB)
    ceph.rbd("rm", "--no-progress", f"rbd/{image_of(ceph, volume.volume_id)}")
    frozen()
    began, seconds = time.monotonic(), 1
    with refused("DEADLINE_EXCEEDED"):
        driver.call("ControllerExpandVolume", timeout=seconds, volume_id=volume.volume_id,
                    capacity_range=csi_client.at_least(80 * MIB))
    # gRPC rounds up the time that it sends to the server, whose clock also starts later. So the
    # caller gives up some milliseconds before the driver knows that.
    until(lambda: time.monotonic() > began + 2 * seconds, "time stands still")
    ceph.signal("osd.0", signal.SIGCONT)
    assert ending_of(driver, "ControllerExpandVolume")["code"] == "UNAVAILABLE"
    with refused("FAILED_PRECONDITION", "is missing from the Ceph pool"):
        expand(driver, volume.volume_id, 80 * MIB)
    driver.delete(volume.volume_id)


def test_whoever_must_wait_is_told_why_before_its_deadline(driver, ceph, frozen):
    names = [f"pvc-{number}" for number in range(12)]  # more than are at work at the same time
    refusals = []

    def create(name):
        while True:
            try:
                return driver.create(name, size=64 * MIB,
                                     call=functools.partial(driver.call, timeout=3))
            except csi_client.grpc.RpcError as error:
                assert csi_client.code_of(error) in (*csi_client.MAYBE_RUNNING,
                                                     "DEADLINE_EXCEEDED"), error.details()
                refusals.append(error.details())

    frozen()
    with ThreadPoolExecutor(len(names)) as threads:
        creations = [threads.submit(create, name) for name in names]
        try:
            until(lambda: "other calls are at work" in str(refusals), "nobody has to wait", 60)
        finally:
            ceph.signal("osd.0", signal.SIGCONT)
        made = {creation.result().volume_id for creation in creations}
    assert set(driver.listed()) == made and len(made) == len(names)


def until_it_works(call, seconds=60, others=()):
    """Repeats a call as a CO does, but only while the code says that it may still be running, or is
    one of the given codes."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return call()
        except csi_client.grpc.RpcError as error:
            maybe = csi_client.code_of(error) in (*csi_client.MAYBE_RUNNING, "FAILED_PRECONDITION",
                                                  *others)
            assert maybe, error.details()
            assert time.monotonic() < deadline, error.details()
            time.sleep(0.2)


@pytest.mark.slice
def test_a_client_that_was_fenced_comes_back(driver, ceph):
    volume = driver.create("pvc-1")
    for address in ceph.clients():
        ceph.ceph("osd", "blocklist", "add", address)
    until_it_works(lambda: driver.create("pvc-2"))
    assert len(driver.listed()) == 2
    driver.delete(volume.volume_id)
    assert "connected to Ceph cluster" in driver.log().split("fenced")[-1]


def is_whole(ceph, volume_id):
    """The image is there, and it is the record's."""
    stored = record(ceph, volume_id)
    image = json.loads(ceph.rbd("info", "--format", "json", f"rbd/{stored['image_name']}"))
    return (image["id"], image["size"]) == (stored["image_id"], stored["capacity_bytes"])


def test_two_controllers_that_want_the_same_names(driver, new_driver, ceph):
    """The two do not know each other and want different volumes: the cluster's contents decide."""
    wishes = {driver: "-m 1", new_driver("other", node="other-node"): "-m 2"}
    names = [f"pvc-{number}" for number in range(24)]
    together = threading.Barrier(len(wishes))

    def make_all(one):
        made = []
        for name in names:
            together.wait()
            try:
                made.append(until_it_works(lambda name=name: one.create(
                    name, size=64 * MIB, mkfsOptions=wishes[one])))
            except AssertionError as error:
                assert "exists with another set of parameters" in str(error)
        return made
    with ThreadPoolExecutor(len(wishes)) as threads:
        made = [volume for volumes in threads.map(make_all, wishes) for volume in volumes]
    assert sorted(driver.listed()) == sorted(volume.volume_id for volume in made), "one each"
    assert all(is_whole(ceph, volume.volume_id) for volume in made)


@pytest.mark.slice
def test_what_another_controller_is_making_is_left_to_it(driver, ceph):
    """Unless it has been running for longer than it takes."""
    volume = driver.create("pvc", size=64 * MIB)
    image = image_of(ceph, volume.volume_id)
    for wish in ("", "-m 1"):
        change_record(ceph, driver_module.uuid_of(volume.volume_id), state="allocating",
                      image_id="", created_at=moment(1))
        with refused("ABORTED", "being made by another process"):
            driver.create("pvc", size=64 * MIB, mkfsOptions=wish)
    assert ceph.images() == [image]
    until_it_works(lambda: driver.create("pvc", size=64 * MIB))
    assert ceph.images() == [image_of(ceph, volume.volume_id)] != [image], (
        "whether it has all its parts does not show, so it is made again")
    change_record(ceph, driver_module.uuid_of(volume.volume_id), state="allocating", image_id="",
                  created_at=moment(3600))
    assert driver.create("pvc", size=64 * MIB) == volume, "no clock makes anybody wait"


def test_two_controllers_at_odds(driver, new_driver, ceph):
    """One driver creates and one deletes the same volume, repeatedly. Any remaining volume is
    complete, because a late deletion never reaches a later image."""
    other = new_driver("other", node="other-node")
    volume_id = driver.create("pvc", size=64 * MIB).volume_id
    enough = threading.Event()

    def delete_all():
        while not enough.is_set():
            until_it_works(lambda: other.delete(volume_id), seconds=200)
    with ThreadPoolExecutor(1) as threads:
        deletions = threads.submit(delete_all)
        try:
            for number in range(40):
                until_it_works(lambda number=number: deletions.done() or driver.create(
                    "pvc", size=64 * MIB, mkfsOptions=f"-m {number % 2}"),
                    seconds=200, others=["ALREADY_EXISTS"])
        finally:
            enough.set()
        deletions.result()
    until_it_works(lambda: other.delete(volume_id))
    until_it_works(lambda: driver.create("pvc", size=64 * MIB))
    assert is_whole(ceph, volume_id)
    # An image that both created and removed at once may remain as an orphan, which is reported.
    driver.delete(volume_id)
    for image in ceph.images():
        assert driver_module.uuid_of(volume_id) in image
        ceph.rbd("rm", "--no-progress", f"rbd/{image}")
    for name in residue(ceph):
        ceph.rados("rm", name)


def test_a_monitor_that_restarts(driver, ceph):
    driver.create("pvc-1")
    pid = ceph.pid("mon.a")
    ceph.signal("mon.a", signal.SIGKILL)
    until_it_works(lambda: driver.create("pvc-2"))
    until(lambda: ceph.pid("mon.a") not in (0, pid) and ceph.try_ceph("quorum_status") is not None,
          "the monitor does not come back", 60)
    until_it_works(lambda: driver.create("pvc-3"))
    assert len(driver.listed()) == 3


@pytest.fixture
def silent(ceph):
    """Stops every monitor: it accepts connections but does not answer."""
    def begin():
        ceph.signal("mon.a", signal.SIGSTOP)
    yield begin
    ceph.signal("mon.a", signal.SIGCONT)


def capacity(driver, pool):
    parameters = {"pool": pool, "provisioning": "thin"}
    return driver.call("GetCapacity", parameters=parameters).available_capacity


def creation(driver, name):
    return driver.create(name, size=64 * MIB, pool="ceph")


@pytest.mark.parametrize("is_connected", [False, True], ids=["unconnected", "connected"])
def test_monitors_that_hang_hold_up_their_own_pool_alone(new_driver, ceph, silent, directory,
                                                         is_connected):
    """Every call ends before its caller gives up, and may be repeated."""
    (directory / "files").mkdir()
    driver = new_driver(pools=[f"files=file:{directory}/files,reserve=0"])
    if is_connected:
        driver.listed()
    else:
        driver.server.kill()
    silent()
    if not is_connected:
        driver.start()
    beside = []

    def others_go_on_until_all_have_ended():
        assert capacity(driver, "files") > 0
        volume = driver.create("here", pool="files", size=4 * MIB, access="block")
        driver.delete(volume.volume_id)
        beside.append(not any(call.done() for call in waiting))
        return all(call.done() for call in waiting)

    with ThreadPoolExecutor(ASKERS + CREATORS) as threads:
        waiting = [threads.submit(csi_client.outcome, call) for call in (
            *[lambda: capacity(driver, "ceph")] * ASKERS,
            *(functools.partial(creation, driver, f"pvc-{number}") for number in range(CREATORS)))]
        until(others_go_on_until_all_have_ended, "they do not end", csi_client.CALL_SECONDS)
    assert any(beside), "the other pool's calls waited for this one's"
    assert {call.result() for call in waiting} == {"UNAVAILABLE"}
    ceph.signal("mon.a", signal.SIGCONT)
    assert until_it_works(lambda: capacity(driver, "ceph")) > 0
    for number in range(CREATORS):
        until_it_works(functools.partial(creation, driver, f"pvc-{number}"))
    assert len(ceph.images()) == CREATORS


def test_a_wrong_key(new_driver, ceph, directory):
    path = directory / "wrong.keyring"
    other = ceph.make_user("other", *CAPS).read_text()
    path.write_text(other.replace("client.other", "client.holdfast"))
    driver = new_driver("wrong", keyring=path)
    # librados says the same of a wrong key as of monitors that are not there.
    with refused("UNAVAILABLE", "and the key"):
        driver.create("pvc-1")
    assert driver.is_ready(), "a restart would not help"
    # The right key is taken without a restart.
    path.write_text((ceph.directory / "holdfast.keyring").read_text())
    assert until_it_works(lambda: driver.create("pvc-1")).volume_id


def test_a_user_without_rights(new_driver, ceph):
    ceph.make_user("reader", ("mon", "profile rbd-read-only"), ("osd", "profile rbd-read-only"))
    driver = new_driver("reader", user="reader")
    with refused("FAILED_PRECONDITION", "caps"):
        driver.create("pvc-1")
    assert journal(ceph) == {}


def test_monitors_that_cannot_be_reached(new_driver, directory):
    (directory / "files").mkdir()
    driver = new_driver("far", monitors="127.0.0.1:9",
                        pools=[f"files=file:{directory}/files,reserve=0"])
    assert driver.is_ready(), "the other pools serve"
    volume = driver.create("here", pool="files", size=4 * MIB, access="block")
    began = time.monotonic()
    with refused("UNAVAILABLE", "did not answer in time"):
        driver.create("pvc-1", pool="ceph")
    assert time.monotonic() - began < BOUND_SECONDS
    driver.delete(volume.volume_id)
    driver.server.kill()


def test_a_missing_keyring_is_told_at_the_start(directory, ceph):
    import rbd_driver
    driver = rbd_driver.RbdDriver(driver_fixtures.binary(), directory / "d", ceph, "holdfast",
                                  keyring=directory / "gone")
    assert driver.server.start() is not None
    assert driver.server.process.wait() != 0 and "keyring" in driver.log()


def test_the_pool_of_another_cluster_is_not_taken(new_driver, ceph):
    """Volumes must never seem to be deleted because a name now means another pool."""
    driver = new_driver()
    volume = driver.create("pvc-1")
    known = driver.directory / "state" / "pools" / "ceph.json"
    sound = known.read_text()
    ceph.make_pool("other")
    try:
        assert driver.server.stop() is None
        elsewhere = new_driver(driver.directory.name, location="other")
        for call in (lambda: elsewhere.delete(volume.volume_id), lambda: elsewhere.create("x"),
                     lambda: elsewhere.call("ListVolumes")):
            with refused("FAILED_PRECONDITION", "give it another name"):
                call()
        assert known.read_text() == sound
        elsewhere.server.kill()
        driver.start()
        assert driver.listed() == [volume.volume_id]
    finally:
        ceph.ceph("osd", "pool", "delete", "other", "other", "--yes-i-really-really-mean-it")


@pytest.fixture(params=["max_objects", "max_bytes"])
def quota(request):
    return request.param


@contextlib.contextmanager
def full(ceph, quota):
    """The pool accepts no more objects, or bytes."""
    ceph.ceph("osd", "pool", "set-quota", "rbd", quota, "1")
    try:
        until(lambda: "full_quota" in ceph.ceph("osd", "pool", "ls", "detail"),
              "the quota is not seen", 120)
        yield
    finally:
        ceph.ceph("osd", "pool", "set-quota", "rbd", quota, "0")
        until(lambda: "full_quota" not in ceph.ceph("osd", "pool", "ls", "detail"),
              "the quota stays", 120)


def test_a_full_pool(quota, new_driver, ceph):
    """This includes a pool from which no image was ever removed, where librbd has no object for
    notes."""
    if "rbd_trash" in ceph.rados("ls").split():
        ceph.rados("rm", "rbd_trash")
    driver = new_driver()
    volume = driver.create("pvc-1", size=64 * MIB)
    with full(ceph, quota):
        with refused("RESOURCE_EXHAUSTED", "full or at its quota|no room"):
            driver.create("pvc-2", size=64 * MIB)
        assert driver.listed() == [volume.volume_id]
        driver.delete(volume.volume_id)  # calls that free space must work
        assert residue(ceph) == []
    until_it_works(lambda: driver.create("pvc-2", size=64 * MIB))


def test_an_image_that_cannot_be_removed_is_not_forgotten(quota, driver, ceph):
    """librbd says that there is none when it cannot note it."""
    volume_id = driver.create("pvc", size=64 * MIB).volume_id
    image = image_of(ceph, volume_id)
    ceph.rados("rm", "rbd_trash")
    with full(ceph, quota):
        with refused("UNAVAILABLE", f"{image}.*could not be removed.*quota"):
            driver.delete(volume_id)
        assert ceph.images() == [image] and list(journal(ceph))
    until_it_works(lambda: driver.delete(volume_id))
    assert residue(ceph) == []


@pytest.mark.slice
def test_the_key_is_nowhere_to_be_seen(driver, ceph):
    driver.create("pvc-1")
    key = next(line.split("=", 1)[1].strip() for line in
               (ceph.directory / "holdfast.keyring").read_text().splitlines() if "key" in line)
    places = [driver.log(), str(journal(ceph)),
              open(f"/proc/{driver.server.process.pid}/cmdline").read(),
              open(f"/proc/{driver.server.process.pid}/environ").read(),
              *(path.read_text() for path in (driver.directory / "state").rglob("*")
                if path.is_file())]
    assert len(key) > 30 and not [place for place in places if key in place]
