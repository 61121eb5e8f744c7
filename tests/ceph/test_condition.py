# SPDX-License-Identifier: Apache-2.0
"""A volume's condition reports its image, the clients that have it open, and the cluster's health.
A process that is working on the volume never makes it look abnormal."""

import itertools
import json
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import csi_client
import driver as driver_module
from cluster import until
from rbd_driver import (change_record, holder, image_of, record, record_nodes, unrecord_nodes)
from test_faults import BOUND_SECONDS, frozen, full, quota, until_it_works  # noqa: F401

MIB = driver_module.MIB
NORMAL = ""
HEALTH_SECONDS = 120  # until the monitors report the state, and the driver asks them again


def condition(driver, volume):
    """The problem, or NORMAL; ListVolumes reports the same."""
    said = told(driver, volume)
    listed = [entry for entry in driver.call("ListVolumes").entries
              if entry.volume.volume_id == volume.volume_id]
    assert text(listed[0].status.volume_condition) == said
    return said


def told(driver, volume):
    return text(driver.call("ControllerGetVolume",
                            volume_id=volume.volume_id).status.volume_condition)


def text(described):
    return described.message if described.abnormal else NORMAL


def checks(ceph):
    return json.loads(ceph.ceph("health", "detail"))["checks"]


def tells(driver, volume, words):
    until(lambda: words in told(driver, volume), f"no {words}", HEALTH_SECONDS)
    assert words in condition(driver, volume)


def is_normal_again(driver, volume):
    until(lambda: told(driver, volume) == NORMAL, "it stays abnormal", HEALTH_SECONDS)
    assert condition(driver, volume) == NORMAL


def test_damage(driver, ceph):
    volume = driver.create("pvc-1", size=64 * MIB)
    image = image_of(ceph, volume.volume_id)
    assert condition(driver, volume) == NORMAL
    ceph.rbd("resize", "--allow-shrink", "--size", "32M", "--no-progress", f"rbd/{image}")
    assert "truncated" in condition(driver, volume)
    ceph.rbd("resize", "--size", "96M", "--no-progress", f"rbd/{image}")
    assert "the record is older than the image" in condition(driver, volume)
    ceph.rbd("rm", "--no-progress", f"rbd/{image}")
    assert "missing" in condition(driver, volume)
    ceph.rbd("create", "--size", "64M", f"rbd/{image}")
    assert "it was replaced" in condition(driver, volume)
    ceph.rbd("rm", "--no-progress", f"rbd/{image}")  # the driver leaves it alone


@pytest.mark.slice
def test_a_stranger_is_named_until_it_is_gone(driver, ceph, image_watch):
    volume, other = driver.create("pvc-1", size=64 * MIB), driver.create("pvc-2", size=64 * MIB)
    image = image_of(ceph, volume.volume_id)
    end_watch = image_watch(image)
    said, address = condition(driver, volume), ceph.watchers(image)[0]
    assert f"'{image}' is open in clients {address}" in said
    assert f"ceph osd blocklist add {address}" in said
    assert condition(driver, other) == NORMAL
    end_watch()
    assert condition(driver, volume) == NORMAL


def test_nodes_that_have_it_are_no_strangers(driver, ceph, image_watch):
    volume = driver.create("pvc", size=64 * MIB)
    image = image_of(ceph, volume.volume_id)
    image_watch(image)
    address = ceph.watchers(image)[0]
    for nodes in ([holder("n1", address)], [holder("n1", "")],
                  [holder("n1", address, "writers"), holder("n2", "", "writers")]):
        record_nodes(ceph, volume.volume_id, *nodes)
        assert condition(driver, volume) == NORMAL, nodes
    record_nodes(ceph, volume.volume_id, holder("n1", "", "readers"))
    assert "which no node" in condition(driver, volume), "a reader's client is not seen"
    image_watch(image)
    until(lambda: len(ceph.watchers(image)) == 2, "no second watch", 30)
    record_nodes(ceph, volume.volume_id, holder("n1", ""))
    assert "which no node" in condition(driver, volume), "one node has one client"
    unrecord_nodes(ceph, volume.volume_id)


@pytest.mark.slice
def test_a_writer_whose_client_is_gone_is_named(driver, ceph, image_watch):
    volume = driver.create("pvc", size=64 * MIB)
    image = image_of(ceph, volume.volume_id)
    gone = "10.9.8.7:0/4711"
    record_nodes(ceph, volume.volume_id, holder("n1", gone))
    said = condition(driver, volume)
    assert f"node 'n1' has the volume, but its client {gone} no longer has image '{image}' open" in said
    assert "another node may take the volume over" in said
    image_watch(image)
    record_nodes(ceph, volume.volume_id, holder("n1", gone, "writers"),
                 holder("n2", ceph.watchers(image)[0], "writers"))
    assert "node 'n1' has the volume" in condition(driver, volume)
    record_nodes(ceph, volume.volume_id, holder("n1", "", "writers"),
                 holder("n2", ceph.watchers(image)[0], "writers"))
    assert condition(driver, volume) == NORMAL, "about to map it"
    unrecord_nodes(ceph, volume.volume_id)


@pytest.mark.slice
def test_readers_have_no_watch(driver, ceph):
    volume = driver.create("pvc", size=64 * MIB)
    record_nodes(ceph, volume.volume_id, holder("n1", "10.9.8.7:0/4711", "readers"),
                 holder("n2", "10.9.8.8:0/12", "readers"))
    assert condition(driver, volume) == NORMAL
    unrecord_nodes(ceph, volume.volume_id)


def test_who_grows_it_is_no_stranger(driver, ceph, image_watch):
    volume = driver.create("pvc", size=64 * MIB)
    image_watch(image_of(ceph, volume.volume_id))
    while True:
        change_record(ceph, driver_module.uuid_of(volume.volume_id), grow_to_bytes=80 * MIB)
        said = told(driver, volume)
        # The driver regularly looks for interrupted work, and finishes it.
        if record(ceph, volume.volume_id)["grow_to_bytes"] != 0:
            break
    assert said == NORMAL


def test_a_volume_that_changes_is_not_judged(driver, ceph, image_watch):
    """Nodes connect and disconnect, so a client that has the image open may be one of them."""
    volume = driver.create("pvc", size=64 * MIB)
    image_watch(image_of(ceph, volume.volume_id))
    enough = threading.Event()

    def come_and_go():
        for number in itertools.count():
            record_nodes(ceph, volume.volume_id, holder(f"n{number}", "10.9.8.7:0/1", "readers"))
            if enough.is_set():
                return

    with ThreadPoolExecutor(1) as threads:
        nodes = threads.submit(come_and_go)
        try:
            assert told(driver, volume) == NORMAL
        finally:
            enough.set()
        nodes.result()
    assert "which no node" in condition(driver, volume)
    unrecord_nodes(ceph, volume.volume_id)


def test_another_process_at_work_is_no_alarm(driver, new_driver, ceph):
    """It makes, grows and deletes volumes while they are looked at."""
    other = new_driver("other", node="other-node")
    kept = [other.create(f"kept-{number}", size=4 * MIB, access="block") for number in range(4)]
    enough, growths = threading.Event(), {volume.volume_id: 0 for volume in kept}

    def work(volume_id):
        while not enough.is_set():
            growths[volume_id] += 1
            other.call("ControllerExpandVolume", volume_id=volume_id,
                       capacity_range=csi_client.at_least((4 + growths[volume_id]) * MIB))
            passing = other.create(f"passing-{volume_id}", size=4 * MIB, access="block")
            other.delete(passing.volume_id)

    with ThreadPoolExecutor(len(kept)) as threads:
        works = [threads.submit(work, volume_id) for volume_id in growths]
        try:
            looks = 0
            while looks < 12 or min(growths.values()) < 20:
                said = [text(entry.status.volume_condition)
                        for entry in driver.call("ListVolumes").entries]
                assert len(said) >= len(kept) and not list(filter(None, said)), said
                looks += 1
        finally:
            enough.set()
        for one in works:
            one.result()


def test_a_full_pool(quota, driver, ceph):  # noqa: F811
    volume = driver.create("pvc", size=64 * MIB)
    with full(ceph, quota):
        tells(driver, volume, "POOL_FULL (1 pool(s) full)")
        ceph.ceph("health", "mute", "POOL_FULL")
        is_normal_again(driver, volume)
        ceph.ceph("health", "unmute", "POOL_FULL")
        tells(driver, volume, "POOL_FULL")
    is_normal_again(driver, volume)


@pytest.fixture
def data_pool(ceph):
    """A second pool, and a user of both."""
    ceph.make_pool("data")
    ceph.make_user("both", ("mon", "profile rbd"),
                   ("osd", "profile rbd pool=rbd, profile rbd pool=data"))
    yield "data"
    ceph.ceph("osd", "pool", "delete", "data", "data", "--yes-i-really-really-mean-it")


def set_size(ceph, pool, size):
    """The number of object stores that the pool needs before it serves; only one exists."""
    ceph.ceph("osd", "pool", "set", pool, "size", str(size), "--yes-i-really-mean-it")
    ceph.ceph("osd", "pool", "set", pool, "min_size", str(size))


@pytest.fixture
def unserved(ceph, data_pool):
    """Has the monitors say at once that the data pool's requests are not served."""
    def begin():
        ceph.ceph("config", "set", "global", "mon_pg_stuck_threshold", "1")
        set_size(ceph, data_pool, 2)
        until(lambda: "PG_AVAILABILITY" in checks(ceph), "no PG_AVAILABILITY", HEALTH_SECONDS)

    def end():
        set_size(ceph, data_pool, 1)
        ceph.ceph("config", "rm", "global", "mon_pg_stuck_threshold")
        until(lambda: "PG_AVAILABILITY" not in checks(ceph), "it stays", HEALTH_SECONDS)

    begin.end = end
    yield begin
    end()


def test_data_that_is_not_served(data_pool, unserved, new_driver, ceph):
    """The check of another pool does not concern the volume."""
    driver = new_driver("split", user="both", location=f"rbd,dataPool={data_pool}")
    volume = driver.create("pvc", size=64 * MIB)
    assert condition(driver, volume) == NORMAL
    unserved()
    tells(driver, volume, "PG_AVAILABILITY (Reduced data availability: ")
    assert condition(new_driver("plain"), volume) == NORMAL
    unserved.end()
    is_normal_again(driver, volume)


def test_another_pool_that_is_full(data_pool, driver, ceph):
    volume = driver.create("pvc", size=64 * MIB)
    ceph.rados("put", "one", "/etc/hostname", pool=data_pool)
    ceph.ceph("osd", "pool", "set-quota", data_pool, "max_objects", "1")
    until(lambda: "POOL_FULL" in checks(ceph), "the quota is not seen", HEALTH_SECONDS)
    driver.restart()  # its earlier answer is forgotten
    assert condition(driver, volume) == NORMAL


def test_an_error_of_the_cluster(driver, ceph):
    """One that this Ceph can be given without hurting it."""
    volume = driver.create("pvc", size=64 * MIB)
    ceph.ceph("osd", "set-full-ratio", "0.5")
    try:
        tells(driver, volume, "OSD_OUT_OF_ORDER_FULL")
        image = image_of(ceph, volume.volume_id)
        ceph.rbd("resize", "--allow-shrink", "--size", "32M", "--no-progress", f"rbd/{image}")
        said = condition(driver, volume)
        assert "OSD_OUT_OF_ORDER_FULL" in said and "truncated" in said, "none hides the other"
        ceph.rbd("resize", "--size", "64M", "--no-progress", f"rbd/{image}")
    finally:
        ceph.ceph("osd", "set-full-ratio", "0.95")
    is_normal_again(driver, volume)


def test_monitors_that_hang_are_waited_for_once(driver, ceph):
    volumes = [driver.create(f"pvc-{number}", size=4 * MIB, access="block") for number in range(8)]
    ceph.signal("mon.a", signal.SIGSTOP)
    began = time.monotonic()
    entries = driver.call("ListVolumes").entries
    assert time.monotonic() - began < BOUND_SECONDS
    assert len(entries) == len(volumes)
    for entry in entries:
        assert "did not answer in time" in text(entry.status.volume_condition)
    ceph.signal("mon.a", signal.SIGCONT)
    is_normal_again(driver, volumes[0])


def test_an_object_store_that_hangs_is_waited_for_once(driver, ceph, frozen):  # noqa: F811
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: driver.create(f"pvc-{number}", size=4 * MIB,
                                                      access="block"), range(64)))
    until(lambda: "not looked at" in lists_during_a_hang(driver, ceph, frozen),
          "no list was under way", 300)


def lists_during_a_hang(driver, ceph, frozen):  # noqa: F811
    """The answers of lists, some of which are in progress when the store stops."""
    until_it_works(lambda: driver.call("ListVolumes"))
    enough, said = threading.Event(), []

    def list_all():
        while not enough.is_set():
            try:
                entries = driver.call("ListVolumes").entries
                said.extend(text(entry.status.volume_condition) for entry in entries)
            except csi_client.grpc.RpcError as error:
                assert csi_client.code_of(error) == "UNAVAILABLE"

    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(list_all) for _ in range(4)]
        until(lambda: said, "no call ends", BOUND_SECONDS)
        frozen()
        enough.set()
        began = time.monotonic()
        for call in calls:
            call.result()
        assert time.monotonic() - began < BOUND_SECONDS
    ceph.signal("osd.0", signal.SIGCONT)
    wrong = " ".join(one for one in said if one != NORMAL)
    assert all("did not answer" in one for one in said if one != NORMAL), wrong
    return wrong
