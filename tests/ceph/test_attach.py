# SPDX-License-Identifier: Apache-2.0
"""Clusters that attach (--attach): the controller decides which node may have a volume, and takes
it from a node that is lost."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import csi_client
import driver as driver_module
from csi_client import capability, refused
from rbd_driver import holder, image_of, never_made, nodes, record_nodes
from test_faults import until_it_works

MIB = driver_module.MIB
READERS, MANY = "MULTI_NODE_READER_ONLY", "MULTI_NODE_MULTI_WRITER"
ATTACH = ("--attach",)


@pytest.fixture
def two(new_driver):
    """Each a controller and a node in one, so each publishes to itself."""
    return [new_driver(name, node=name, flags=ATTACH) for name in ("n1", "n2")]


def create(driver, name="pvc", access="mount", mode="SINGLE_NODE_WRITER"):
    return driver.call("CreateVolume", name=name, capacity_range=csi_client.at_least(64 * MIB),
                       volume_capabilities=[capability(access, mode=mode)],
                       parameters={"provisioning": "thin"}).volume.volume_id


def publish(driver, volume_id, node, access="mount", mode="SINGLE_NODE_WRITER", **more):
    driver.call("ControllerPublishVolume", volume_id=volume_id, node_id=node,
                volume_capability=capability(access, mode=mode), **more)


def unpublish(driver, volume_id, node=""):
    driver.call("ControllerUnpublishVolume", volume_id=volume_id, node_id=node)


def published(ceph, volume_id):
    stored = nodes(ceph, volume_id) or {"published": []}
    return [(one["node"], one["access_mode"]) for one in stored["published"]]


def capabilities(driver):
    return [one.rpc.type for one in driver.call("ControllerGetCapabilities").capabilities]


@pytest.mark.slice
def test_only_who_attaches_says_so(driver, new_driver):
    publish_unpublish = 2
    assert publish_unpublish not in capabilities(driver)
    volume_id = create(driver)
    with refused("UNIMPLEMENTED", "--attach"):
        publish(driver, volume_id, "test-node")
    with refused("UNIMPLEMENTED", "--attach"):
        unpublish(driver, volume_id)
    assert publish_unpublish in capabilities(new_driver("other", flags=ATTACH))


@pytest.mark.slice
def test_one_node_at_a_time(two, ceph):
    first, second = two
    volume_id = create(first)
    for _ in range(2):
        publish(first, volume_id, "n1")
    with refused("FAILED_PRECONDITION", "published to node 'n1'"):
        publish(second, volume_id, "n2")
    with refused("ALREADY_EXISTS", "SINGLE_NODE_WRITER"):
        publish(first, volume_id, "n1", mode="SINGLE_NODE_MULTI_WRITER")
    with refused("FAILED_PRECONDITION", "published to node 'n1'"):
        second.delete(volume_id)
    unpublish(second, volume_id, "n2")  # which never had it
    assert published(ceph, volume_id) == [("n1", "SINGLE_NODE_WRITER")]
    for _ in range(2):
        unpublish(second, volume_id, "n1")
    publish(second, volume_id, "n2")
    unpublish(first, volume_id)  # from all
    assert nodes(ceph, volume_id) is None
    first.delete(volume_id)
    unpublish(first, volume_id, "n1")


@pytest.mark.slice
def test_nodes_that_share(two, ceph):
    first, second = two
    for access, mode in (("mount", READERS), ("block", READERS), ("block", MANY)):
        volume_id = create(first, f"pvc-{access}-{mode}", access, mode)
        publish(first, volume_id, "n1", access, mode)
        publish(second, volume_id, "n2", access, mode)
        assert published(ceph, volume_id) == [("n1", mode), ("n2", mode)]
        unpublish(first, volume_id)
        publish(first, volume_id, "n1", access)
        with refused("FAILED_PRECONDITION", "published to node 'n1'"):
            publish(second, volume_id, "n2", access, mode)
        unpublish(first, volume_id)


@pytest.mark.slice
def test_what_is_refused(two):
    driver = two[0]
    volume_id = create(driver)
    with refused("NOT_FOUND", "no node 'n2'"):
        publish(driver, volume_id, "n2")
    with refused("NOT_FOUND", "no volume"):
        publish(driver, never_made(volume_id), "n1")
    with refused("INVALID_ARGUMENT", "readonly"):
        publish(driver, volume_id, "n1", readonly=True)
    with refused("INVALID_ARGUMENT", "volume_capability.access_mode MULTI_NODE_MULTI_WRITER"):
        publish(driver, volume_id, "n1", mode=MANY)
    with refused("FAILED_PRECONDITION", "cannot be used as block"):
        publish(driver, volume_id, "n1", "block")
    with refused("INVALID_ARGUMENT", "node_id is longer"):
        publish(driver, volume_id, "n" * 257)


@pytest.mark.slice
def test_a_node_stages_only_what_is_published_to_it(two, directory):
    first, second = two
    volume_id = create(first)
    staging = directory / "staging"
    staging.mkdir()

    def stage(driver, mode="SINGLE_NODE_WRITER"):
        driver.call("NodeStageVolume", volume_id=volume_id, staging_target_path=str(staging),
                    volume_capability=capability(mode=mode))
    with refused("FAILED_PRECONDITION", "not published to node 'n1'"):
        stage(first)
    publish(first, volume_id, "n1")
    with refused("FAILED_PRECONDITION", "not published to node 'n2'"):
        stage(second)
    with refused("FAILED_PRECONDITION", "with access mode SINGLE_NODE_WRITER, not this one"):
        stage(first, READERS)
    with refused("FAILED_PRECONDITION", "this kernel has no rbd|lacks image features"):
        stage(first)  # as far as this host allows
    unpublish(first, volume_id)


@pytest.mark.slice
def test_a_vanished_node_is_fenced_before_the_answer(two, ceph, image_watch):
    """Although it lives: the caller has given it up, and it may still write."""
    first, second = two
    volume_id = create(first)
    publish(first, volume_id, "n1")
    image_watch(image_of(ceph, volume_id))
    [address] = ceph.watchers(image_of(ceph, volume_id))
    record_nodes(ceph, volume_id, holder("n1", address),
                 published=[{"node": "n1", "access_mode": "SINGLE_NODE_WRITER"}])
    unpublish(second, volume_id, "n1")
    assert address in ceph.ceph("osd", "blocklist", "ls")
    assert nodes(ceph, volume_id) is None
    publish(second, volume_id, "n2")
    until_it_works(lambda: unpublish(second, volume_id))


def test_readers_are_fenced_one_by_one(two, ceph):
    volume_id = create(two[0], mode=READERS)
    there = {name: f"10.9.8.{number}:0/77" for number, name in enumerate(("r1", "r2", "r3"))}
    record_nodes(ceph, volume_id, *(holder(*one, "readers") for one in there.items()),
                 published=[{"node": name, "access_mode": READERS} for name in there])
    unpublish(two[0], volume_id, "r2")
    fenced = ceph.ceph("osd", "blocklist", "ls")
    assert [address in fenced for address in there.values()] == [False, True, False]
    left = nodes(ceph, volume_id)
    assert [one["node"] for one in left["holders"]] == ["r1", "r3"]
    unpublish(two[1], volume_id)
    assert nodes(ceph, volume_id) is None
    fenced = ceph.ceph("osd", "blocklist", "ls")
    assert all(address in fenced for address in there.values())


def test_many_nodes_at_once(two, ceph):
    """If all want it alone, one gets it; if all share it, all get it."""
    alone, shared = create(two[0]), create(two[0], "shared", mode=READERS)

    def try_to(driver, node):
        try:
            until_it_works_unless_refused(lambda: publish(driver, alone, node))
            return True
        except csi_client.grpc.RpcError as error:
            assert csi_client.code_of(error) == "FAILED_PRECONDITION", error.details()
            return False
    for _ in range(10):
        with ThreadPoolExecutor(2) as threads:
            got = list(threads.map(try_to, two, ("n1", "n2")))
            list(threads.map(lambda driver, node: until_it_works_unless_refused(
                lambda: publish(driver, shared, node, mode=READERS)), two, ("n1", "n2")))
        assert sorted(got) == [False, True]
        assert sorted(node for node, _ in published(ceph, shared)) == ["n1", "n2"]
        for volume_id in (alone, shared):
            unpublish(two[0], volume_id)


def until_it_works_unless_refused(call):
    while True:
        try:
            return call()
        except csi_client.grpc.RpcError as error:
            if csi_client.code_of(error) not in csi_client.MAYBE_RUNNING:
                raise


def test_volumes_of_files(new_driver, directory):
    (directory / "files").mkdir()
    driver = new_driver(flags=ATTACH, pools=[f"files=file:{directory}/files,reserve=0"])
    volume_id = driver.create("here", pool="files", size=4 * MIB, access="block").volume_id
    for _ in range(2):
        publish(driver, volume_id, "test-node", "block")
    with refused("NOT_FOUND", "no node 'elsewhere'"):
        publish(driver, volume_id, "elsewhere", "block")
    with refused("INVALID_ARGUMENT", "needs more than one node"):
        publish(driver, volume_id, "test-node", "block", MANY)
    for _ in range(2):
        unpublish(driver, volume_id, "test-node")
    driver.delete(volume_id)


def test_what_was_published_outlives_the_controller(two, ceph):
    volume_id = create(two[0])
    publish(two[0], volume_id, "n1")
    two[0].crash()
    with refused("FAILED_PRECONDITION", "published to node 'n1'"):
        publish(two[1], volume_id, "n2")
    publish(two[0], volume_id, "n1")
    unpublish(two[0], volume_id)
