# SPDX-License-Identifier: Apache-2.0
"""The cases of alert_cases.yaml as promtool's unit tests of rules."""

import pathlib
import re
import subprocess

import yaml

import sources

CASES = yaml.safe_load(pathlib.Path(__file__).with_name("alert_cases.yaml").read_text())
TARGET = {"job": "holdfast", "instance": "n1:9809", "node": "n1"}
SERIES = re.compile(r"(?P<name>\w+)(?:{(?P<labels>.*)})?")
ANNOTATIONS = re.compile(r"Annotations:{(.*)}\n")


def parse(series):
    """Returns name and labels, without those of the target."""
    found = SERIES.fullmatch(series)
    return found["name"], dict(re.findall(r'(\w+)="([^"]*)"', found["labels"] or ""))


def notation(labels):
    return "{" + ", ".join(f'{key}="{value}"' for key, value in labels.items()) + "}"


def group(case):
    """What promtool is given of a case, but for the expectation."""
    series = [(parse(text), values) for text, values in case["series"].items()]
    return {"interval": "1m", "input_series": [
        {"series": name + notation({**TARGET, **labels}), "values": values}
        for (name, labels), values in series]}


def run(directory, *groups, rules=sources.RULES):
    file = directory / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(rules)], "tests": list(groups)}))
    done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout + done.stderr


def check(directory, alert, cases, fires, rules=sources.RULES):
    """Returns what promtool says against any of the cases; empty if all are as expected."""
    code, said = run(directory, *(expectation(alert, case, fires) for case in cases), rules=rules)
    return said if code else ""


def expectation(alert, case, fires):
    labels = {"alertname": alert, "severity": sources.rules()[alert]["labels"]["severity"],
              **case.get("labels", {})}
    firing = notation({"alertname": alert, "alertstate": "firing"})
    expected = [{"labels": notation(labels), "value": 1}] if fires else []
    return group(case) | {"promql_expr_test": [
        {"expr": f"count by ({', '.join(labels)}) (ALERTS{firing})", "eval_time": case["at"],
         "exp_samples": expected}]}


def annotations(directory, alert, case):
    """The texts that people would read: promtool shows them where it expects no alert."""
    _, said = run(directory, group(case) | {"alert_rule_test": [
        {"alertname": alert, "eval_time": case["at"], "exp_alerts": []}]})
    found = ANNOTATIONS.search(said)
    assert found, f"{alert} does not fire: {said}"
    return found[1]


def with_expression(alert, expression):
    """Returns the rules with another expression in one of them."""
    rules = yaml.safe_load(sources.RULES.read_text())
    for rule in rules["groups"][0]["rules"]:
        if rule["alert"] == alert:
            rule["expr"] = expression
    return yaml.safe_dump(rules)
