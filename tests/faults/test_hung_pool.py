# SPDX-License-Identifier: Apache-2.0
"""A pool that hangs makes its own volumes unavailable, and nothing else."""

import concurrent.futures

import frozen
import grpc
import hung_pool
import pytest

import csi_client
import driver_fixtures
import kubelet as kubelet_module
import lives
from observed import get, metric

WAITING = 300
REFUSED_AT_LEAST = 40
SIZE = 64 << 10


@pytest.fixture
def two_pools(directory, new_disk):
    driver = frozen.TwoPools(directory, new_disk(frozen.DISK)).start()
    yield driver
    assert not driver_fixtures.end(driver)


@pytest.fixture
def kubelet(two_pools, directory):
    return kubelet_module.Kubelet(directory / "kubelet", two_pools.call)


class Many:
    """Calls that are made at once and not waited for."""

    def __init__(self, driver, method, requests):
        self.channel = grpc.insecure_channel(driver.client.target,
                                             options=csi_client.CHANNEL_OPTIONS)
        method = csi_client.METHODS[method]
        invoke = csi_client.invoker(self.channel, method)
        self.calls = [invoke.future(csi_client.request(method, fields), timeout=600)
                      for fields in requests]

    def refused(self):
        return [call for call in self.calls if call.done() and call.code().name == "UNAVAILABLE"]

    def finish(self):
        codes = [call.code().name for call in self.calls]
        self.channel.close()
        return codes


def creation(name, **parameters):
    return {"name": name, "capacity_range": csi_client.at_least(SIZE),
            "volume_capabilities": [csi_client.capability("block")],
            "parameters": {"provisioning": "thin", "pool": "default", **parameters}}


def assert_others_are_served(driver, kubelet, published):
    """All that does not concern the pool that hangs, teardown first."""
    assert driver.call("Probe").ready.value
    assert get(driver.port, "/healthz")[0] == 200
    assert metric(driver.port, "holdfast_pool_ready", pool="second") == 1
    assert published.handle in driver.listed()
    lives.take_down(kubelet, published, "pod")
    driver.delete(published.handle)
    lives.leads_a_life(driver, kubelet, "another", pool="second")


def test_calls_that_wait_for_a_hung_pool_take_nobodys_place(two_pools, kubelet):
    """More of them than there may be calls at once: their own pool refuses creation, not teardown."""
    published = lives.new_volume(two_pools, "b", pool="second")
    kubelet.mount(published, "pod")
    of_hung = lives.new_volume(two_pools, "a")
    kubelet.mount(of_hung, "pod")
    with frozen.frozen(two_pools.disk.mount_point):
        waiting = Many(two_pools, "CreateVolume", (creation(f"w{i}") for i in range(WAITING)))
        frozen.await_that(lambda: len(waiting.refused()) >= REFUSED_AT_LEAST,
                          "nothing is refused")
        # Needs nothing from the pool.
        kubelet.unpublish(of_hung, "pod")
        assert_others_are_served(two_pools, kubelet, published)
    codes = waiting.finish()
    assert set(codes) <= {"OK", "UNAVAILABLE", "RESOURCE_EXHAUSTED"}, codes
    kubelet.unstage(of_hung)
    two_pools.delete(of_hung.handle)


@pytest.fixture
def held(directory):
    """A driver whose pool `default` can be made to hang completely."""
    driver = hung_pool.HeldPools(directory).start()
    yield driver
    driver.holder.let_go()
    assert not driver_fixtures.end(driver)


def test_a_pool_that_answers_nothing_is_not_waited_for(held, directory):
    """The callers that ask all pools: Probe, lists, metrics, the reconciler."""
    kubelet = kubelet_module.Kubelet(directory / "kubelet", held.call)
    published = lives.new_volume(held, "b", pool="second")
    kubelet.mount(published, "pod")
    hung = lives.new_volume(held, "a")
    held.holder.hold()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        stuck = pool.submit(held.call, "ControllerGetVolume", volume_id=hung.handle, timeout=600)
        held.holder.wait_until_holding()
        lives.outcome(lambda: held.call("Probe"), ("FAILED_PRECONDITION",))
        assert get(held.port, "/healthz")[0] == 200
        assert get(held.port, "/readyz")[0] in (200, 503)
        assert metric(held.port, "holdfast_pool_ready", pool="default") == 0
        assert metric(held.port, "holdfast_pool_ready", pool="second") == 1
        conditions = {entry.volume.volume_id: entry.status.volume_condition
                      for entry in held.call("ListVolumes").entries}
        assert conditions[hung.handle].abnormal
        assert "does not answer" in conditions[hung.handle].message
        assert not conditions[published.handle].abnormal
        problems = {pool.name: pool.problem for pool in held.client.admin("ListPools").pools}
        assert ("does not answer" in problems["default"], problems["second"]) == (True, "")
        assert len(held.client.admin("ListVolumes").volumes) == 2
        lives.take_down(kubelet, published, "pod")
        held.delete(published.handle)
        lives.leads_a_life(held, kubelet, "another", pool="second")
        # The reconciler reports the one pool, and continues with the other.
        rounds = held.client.admin("ListLeftovers").rounds
        frozen.await_that(lambda: held.client.admin("ListLeftovers").rounds > rounds, "no round")
        open_ones = {(open.kind, open.subject)
                     for open in held.client.admin("ListLeftovers").leftovers}
        assert open_ones == {("unreachable-pool", "default")}
        held.holder.let_go()
        stuck.result()
    frozen.await_that(lambda: not held.client.admin("ListLeftovers").leftovers, "not seen again")
    assert held.call("Probe").ready.value
