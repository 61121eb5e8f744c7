# SPDX-License-Identifier: Apache-2.0
"""PodMonitor, alert rules and dashboard; tests/monitoring tests what their queries say."""

import json
import re

import yaml

import value_sets
from rendering import CHART, NAMESPACE, render

ALERTS = CHART / "files" / "alerts.yaml"
DASHBOARD = CHART / "files" / "dashboard.json"


def rules(rendered):
    [group] = rendered.one("PrometheusRule")["spec"]["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def own(labels):
    """Without those that every object has."""
    return {key: value for key, value in labels.items()
            if not key.startswith(("app.kubernetes.io/", "helm.sh/"))}


def test_nothing_of_it_is_made_unless_it_is_wanted():
    for rendered in (render(), render("metrics.enabled=true")):
        kinds = {found["kind"] for found in rendered.objects}
        assert not {"PodMonitor", "PrometheusRule", "ConfigMap"} & kinds


def test_objects_have_the_labels_by_which_they_are_found():
    rendered = render(text=value_sets.MONITORING)
    assert own(rendered.one("PodMonitor")["metadata"]["labels"]) == {"release": "monitoring"}
    assert own(rendered.one("PrometheusRule")["metadata"]["labels"]) == {
        "release": "monitoring", "role": "alert-rules"}
    dashboard = rendered.one("ConfigMap")["metadata"]
    assert own(dashboard["labels"]) == {"grafana_dashboard": "1", "team": "storage"}
    assert dashboard["namespace"] == "monitoring"
    plain = render("metrics.enabled=true", "metrics.dashboard.enabled=true").one("ConfigMap")
    assert own(plain["metadata"]["labels"]) == {"grafana_dashboard": "1"}
    assert plain["metadata"]["namespace"] == NAMESPACE


def test_metrics_of_each_volume_are_served_if_they_are_wanted():
    wanted, plain = render(text=value_sets.MONITORING), render("metrics.enabled=true")
    for component in ("controller", "node"):
        assert "--volume-metrics" in wanted.flags(component)
        assert "--volume-metrics" not in plain.flags(component)


def test_the_monitor_scrapes_the_port_of_both_pods_and_tells_the_node():
    rendered = render(text=value_sets.MONITORING)
    spec = rendered.one("PodMonitor")["spec"]
    [endpoint] = spec["podMetricsEndpoints"]
    for kind, component in (("Deployment", "controller"), ("DaemonSet", "node")):
        labels = rendered.one(kind)["spec"]["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"].items() <= labels.items()
        ports = {port["name"]: port["containerPort"]
                 for port in rendered.container(component, "holdfast")["ports"]}
        assert ports[endpoint["port"]] == 9809
    assert endpoint["relabelings"] == [
        {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"},
        {"targetLabel": "cluster", "replacement": "west"}]
    assert endpoint["interval"] == "30s"
    plain = render("metrics.enabled=true", "metrics.podMonitor.enabled=true").one("PodMonitor")
    assert "interval" not in plain["spec"]["podMetricsEndpoints"][0]


def test_the_rules_are_those_of_the_file():
    given = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
    made = rules(render("metrics.enabled=true", "metrics.alerts.enabled=true"))
    def same(rule):
        return {**rule, "expr": re.sub(r" # metrics\.\S+", "", rule["expr"]).strip()}
    assert {name: same(rule) for name, rule in made.items()} == {
        rule["alert"]: same(rule) for rule in given}


def test_values_get_into_the_rules():
    made = rules(render(text=value_sets.MONITORING))
    assert made["HoldfastPoolAlmostFull"]["expr"].split()[-2:] == ["<", "2.5"]
    assert {rule["annotations"]["runbook_url"] for rule in made.values()} == {
        f"https://wiki.example.com/holdfast#{name.lower()}" for name in made}


def test_the_file_and_the_values_name_the_same():
    """A number with a comment is what the value is by default, and that value exists."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())["metrics"]["alerts"]
    named = re.findall(r"(\d+) # metrics\.alerts\.(\w+)", ALERTS.read_text())
    assert named and all(values[name] == int(number) for number, name in named)
    assert f"{values['runbook']}#" in ALERTS.read_text()


def test_the_dashboard_arrives_as_it_is():
    text = render(text=value_sets.MONITORING).one("ConfigMap")["data"]["holdfast.json"]
    assert json.loads(text) == json.loads(DASHBOARD.read_text())
