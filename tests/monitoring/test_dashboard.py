# SPDX-License-Identifier: Apache-2.0
"""Every query of the dashboard has a sensible answer."""

import math
import re

import pytest

import sources
from waiting import until

# What a value of a unit may be.
SENSIBLE = {"percentunit": lambda value: 0 <= value <= 1, "s": lambda value: 0 <= value < 3600}
QUERIES = sources.queries()


def numbers(found):
    return [value for _, value in found if not math.isnan(value)]


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_query(prometheus, query):
    found = until(lambda: prometheus.query(query.promql), f"no result: {query.promql}", 20)
    assert numbers(found), f"no number: {found}"
    is_sensible = SENSIBLE.get(query.unit, lambda value: value >= 0)
    assert all(is_sensible(value) for value in numbers(found)), found
    assert not any(math.isinf(value) for _, value in found), found
    for label in query.told_by:
        assert all(label in labels for labels, _ in found), f"no label {label}: {found}"
    shown = [tuple(labels.get(label) for label in query.told_by) for labels, _ in found]
    assert len(set(shown)) == len(shown), f"lines of one name: {found}"


# What the scene must look like, by panel and legend.
TRUTHS = {
    "Drivers: value": 3,
    "Pools that cannot serve: value": 0,
    "Abnormal volumes: value": 0,
    "Leftovers: value": 0,
    "Nodes missing: value": 0,
    "Nodes: connected": 2,
    "Nodes: missing": 0,
}


@pytest.mark.parametrize("name", TRUTHS)
def test_a_figure(prometheus, name):
    [query] = [query for query in QUERIES if str(query) == name]
    until(lambda: numbers(prometheus.query(query.promql)) == [TRUTHS[name]],
          f"{name} is {TRUTHS[name]}")


def of(prometheus, name, **labels):
    """The values of a query's series that have these labels."""
    [query] = [query for query in QUERIES if str(query) == name]
    return [value for there, value in prometheus.query(query.promql)
            if labels.items() <= there.items()]


def test_calls_and_errors_are_told_apart(prometheus):
    def seen(name, **labels):
        return [value for value in of(prometheus, name, **labels) if value > 0]
    assert seen("Calls by method: {{method}}", method="CreateSnapshot")
    assert seen("Errors by code: {{code}}", code="INVALID_ARGUMENT")
    assert seen("Errors by method and code: {{method}} {{code}}", method="DeleteVolume",
                code="INVALID_ARGUMENT")
    assert not of(prometheus, "Errors by code: {{code}}", code="OK")
    assert seen("Time to answer, by method: {{method}}", method="NodeStageVolume")


def test_snapshots_and_transfers_are_told(prometheus):
    def seen(name, **labels):
        return of(prometheus, name, **labels)[0] > 0
    assert seen("Transferred: {{node}} {{direction}}", node="n2", direction="received")
    assert seen("Transferred: {{node}} {{direction}}", node="n1", direction="sent")
    assert seen("Transfers that ended: {{direction}} {{code}}", direction="received", code="OK")
    assert seen("Snapshots: {{blocks}}", blocks="shared")
    assert seen("Freezes: all")
    assert not seen("Freezes: ended by the guard")
    assert of(prometheus, "Provisioned: {{node}} {{pool}} {{provisioning}}", node="n2",
              pool="default", provisioning="thick")[0] >= 2 * (64 << 20)


def test_a_pool_that_is_gone_is_seen(prometheus, scene):
    name = "Pools that cannot serve: value"
    with scene.without_spare_pool():
        until(lambda: of(prometheus, name) == [1], "the pool is missed")
        assert of(prometheus, "Pools that can serve: {{node}} {{pool}}", node="n2",
                  pool="spare") == [0]
    until(lambda: of(prometheus, name) == [0], "the pool is back")


def test_variables_have_values(prometheus):
    for variable in sources.dashboard()["templating"]["list"]:
        if variable["type"] != "query":
            continue
        inner = variable["definition"].removeprefix("label_values(").removesuffix(")")
        series, _, label = inner.rpartition(", ")
        found = prometheus.query(series.replace("$job", ".*"))
        assert {labels[label] for labels, _ in found if label in labels}, variable["name"]


def test_panels_do_not_overlap_and_are_explained():
    taken = set()
    for panel in sources.dashboard()["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not taken & cells and place["x"] + place["w"] <= 24, panel["title"]
        taken |= cells
        assert panel["type"] == "row" or panel["description"], panel["title"]
    ids = [panel["id"] for panel in sources.dashboard()["panels"]]
    assert len(set(ids)) == len(ids)


def test_alerts_that_panels_name_exist():
    named = set(re.findall(r"\bHoldfast[A-Z]\w+", sources.DASHBOARD.read_text()))
    assert named and named <= set(sources.rules())
