# SPDX-License-Identifier: Apache-2.0
"""The dashboard and the alert rules as the chart has them, and the names that their queries use."""

import dataclasses
import json
import re

import yaml

from pytest_run import REPOSITORY

FILES = REPOSITORY / "charts" / "holdfast" / "files"
RULES = FILES / "alerts.yaml"
DASHBOARD = FILES / "dashboard.json"
NAME = re.compile(r"\b(?:holdfast|process)_[a-z0-9_]+")
# Longer than a test lasts, so that rates see all of it.
VARIABLES = {"$__rate_interval": "5m", "$percentile": "0.9",
             **{f"${name}": ".*" for name in ("job", "node", "pool", "method")}}


@dataclasses.dataclass
class Query:
    panel: str
    kind: str
    unit: str
    expression: str  # with the dashboard's variables
    legend: str

    def __str__(self):
        return f"{self.panel}: {self.legend or 'value'}"

    @property
    def promql(self):
        text = self.expression
        for variable, value in VARIABLES.items():
            text = text.replace(variable, value)
        assert "$" not in text, f"{self}: an unknown variable: {text}"
        return text

    def legend_of(self, labels):
        return re.sub(r"{{(\w+)}}", lambda found: labels.get(found[1], ""), self.legend)

    @property
    def told_by(self):
        """The labels by which people tell the lines apart."""
        if self.kind == "table":
            return ["node", "pool"]  # the columns that the panel names
        return re.findall(r"{{(\w+)}}", self.legend)


def dashboard():
    return json.loads(DASHBOARD.read_text())


def panels():
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def queries():
    return [query for panel in panels() for query in queries_of(panel)]


def queries_of(panel):
    unit = panel["fieldConfig"]["defaults"]["unit"]
    return [Query(panel["title"], panel["type"], unit, target["expr"], target["legendFormat"])
            for target in panel["targets"]]


def rules():
    """Returns the rules by name."""
    [group] = yaml.safe_load(RULES.read_text())["groups"]
    assert len({rule["alert"] for rule in group["rules"]}) == len(group["rules"])
    return {rule["alert"]: rule for rule in group["rules"]}


def names_in(text):
    return set(NAME.findall(text))
