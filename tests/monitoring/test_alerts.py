# SPDX-License-Identifier: Apache-2.0
"""Every alert rule fires when it should and is silent otherwise, and speaks of what there is."""

import re
import subprocess

import pytest

import alert_tests
import sources
from pytest_run import REPOSITORY
from waiting import until

RULES = sources.rules()
RUNBOOK = "https://holdfast.dev/docs/monitoring.md#"


def cases_of(alert, fires):
    return alert_tests.CASES[alert]["fires" if fires else "silent"]


def test_promtool_takes_the_rules():
    subprocess.run(["promtool", "check", "rules", sources.RULES], check=True)


def test_every_rule_has_a_case_of_each_kind():
    assert set(alert_tests.CASES) == set(RULES)
    for alert, cases in alert_tests.CASES.items():
        assert cases["fires"] and cases["silent"], alert


@pytest.mark.parametrize("alert", RULES)
@pytest.mark.parametrize("fires", [True, False], ids=["fires", "is silent"])
def test_cases(tmp_path, alert, fires):
    assert alert_tests.check(tmp_path, alert, cases_of(alert, fires), fires) == ""


@pytest.mark.parametrize("alert", RULES)
@pytest.mark.parametrize("expression, fires", [("vector(1) > 1", True), ("vector(1)", False)])
def test_a_rule_that_never_or_always_fires_is_found(tmp_path, alert, expression, fires):
    rules = tmp_path / "rules.yaml"
    rules.write_text(alert_tests.with_expression(alert, expression))
    assert alert_tests.check(tmp_path, alert, cases_of(alert, fires), fires, rules)


@pytest.mark.parametrize("alert", RULES)
def test_what_a_rule_says(tmp_path, alert):
    rule = RULES[alert]
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    said = alert_tests.annotations(tmp_path, alert, cases_of(alert, True)[0])
    assert "<" not in said and "%!" not in said, said  # "<no value>", "<error expanding …>"
    labels = {**alert_tests.TARGET, **cases_of(alert, True)[0].get("labels", {})}
    for label in re.findall(r"\$labels\.(\w+)", str(rule["annotations"])):
        assert labels[label] in said or label == "instance", said


@pytest.mark.parametrize("alert", RULES)
def test_a_rule_has_its_section(alert):
    link = RULES[alert]["annotations"]["runbook_url"]
    assert link == RUNBOOK + alert.lower()
    assert f"\n### {alert}\n" in (REPOSITORY / "docs" / "monitoring.md").read_text()


def labels_served(scene):
    """The label names that samples of each metric have."""
    served = {}
    for text in scene.metrics().values():
        for line in text.splitlines():
            if found := re.match(r"(\w+)(?:{(.*)})? ", line):
                served.setdefault(found[1], set()).update(re.findall(r'(\w+)="', found[2] or ""))
    return served


@pytest.fixture(scope="module")
def served(scene, prometheus):  # Prometheus: everything has happened twice
    return labels_served(scene)


def test_every_name_in_rules_and_panels_is_served(served):
    texts = [rule["expr"] for rule in RULES.values()]
    texts += [query.expression for query in sources.queries()]
    names = {name for text in texts for name in sources.names_in(text)}
    assert names <= set(served), sorted(names - set(served))


def test_the_cases_have_series_as_they_are_served(served):
    for alert, cases in alert_tests.CASES.items():
        for case in cases["fires"] + cases["silent"]:
            for series in case["series"]:
                name, labels = alert_tests.parse(series)
                if name == "up":
                    continue
                assert labels.keys() == served.get(name), f"{alert}: {series}"


def test_every_metric_is_explained(served):
    page = (REPOSITORY / "docs" / "operations.md").read_text()
    families = {re.sub("_(bucket|sum|count)$", "", name) for name in served}
    explained = sources.names_in(page)
    assert families <= explained, sorted(families - explained)


def test_no_alert_where_all_is_well(prometheus):
    prometheus.await_scrape()
    rules = prometheus.rules()
    assert set(rules) == set(RULES)
    assert {rule["health"] for rule in rules.values()} == {"ok"}, rules
    assert not [name for name, rule in rules.items() if rule["state"] != "inactive"]


def test_a_pool_that_is_gone_is_told(prometheus, scene):
    def state():
        return prometheus.rules()["HoldfastPoolNotReady"]["state"]
    with scene.without_spare_pool():
        until(lambda: state() == "pending", "the alert does not begin")
        [alert] = prometheus.rules()["HoldfastPoolNotReady"]["alerts"]
        assert alert["annotations"]["summary"] == "Pool spare on n2 cannot serve volumes"
    until(lambda: state() == "inactive", "the alert does not end")


def test_a_controller_that_is_gone_is_told_by_its_nodes(prometheus, scene):
    def without_link():
        return {labels["node"] for labels, _ in prometheus.query("holdfast_link_connected == 0")}
    assert not without_link()
    scene.cluster.controller.server.kill()
    try:
        until(lambda: without_link() == {"n1", "n2"},
              "the nodes do not tell that their link is gone")
        until(lambda: prometheus.rules()["HoldfastDown"]["state"] == "pending",
              "the controller is not missed")
    finally:
        scene.cluster.controller.start()
    scene.cluster.wait_for("n1", "n2")
    until(lambda: not without_link(), "the nodes do not tell that the link is back")
