# SPDX-License-Identifier: Apache-2.0
"""A Prometheus on loopback that watches some targets."""

import contextlib
import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import yaml

import sources
import waiting
from link_files import free_port

SECONDS = 20
# Short, so that a test soon sees what happened.
INTERVAL = "500ms"


@contextlib.contextmanager
def watching(scene):
    """Yields a Prometheus that scrapes every process of the scene, with the chart's rules."""
    made = Prometheus(scene.directory / "prometheus", scene.targets(), sources.RULES)
    try:
        yield made.start()
    finally:
        made.stop()


class Prometheus:
    def __init__(self, directory, targets, rules):
        """`targets` are (node, port); `rules` is the file of the alert rules."""
        directory.mkdir()
        self.port = free_port()
        self.targets = targets
        self.log = directory / "log"
        self.process = None
        config = {
            "global": {"scrape_interval": INTERVAL, "scrape_timeout": INTERVAL,
                       "evaluation_interval": INTERVAL},
            "rule_files": [str(rules)],
            "scrape_configs": [{"job_name": "holdfast", "static_configs": [
                {"targets": [f"127.0.0.1:{port}"], "labels": {"node": node}}
                for node, port in targets]}]}
        (directory / "prometheus.yml").write_text(yaml.safe_dump(config))
        self.command = ["prometheus", f"--config.file={directory}/prometheus.yml",
                        f"--storage.tsdb.path={directory}/data", "--log.level=warn",
                        f"--web.listen-address=127.0.0.1:{self.port}"]

    def start(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT)
        waiting.until(self.is_ready, "Prometheus does not answer", SECONDS)
        return self

    def is_ready(self):
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.ask("/-/ready") is not None
        except (urllib.error.URLError, ConnectionError):
            return False

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(SECONDS)

    def ask(self, path, **parameters):
        query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
        address = f"http://127.0.0.1:{self.port}{path}{query}"
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:
            return answer.read().decode()

    def query(self, expression):
        """Returns [(labels, value)]."""
        try:
            data = json.loads(self.ask("/api/v1/query", query=expression))["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{expression}: {error.read().decode()}") from error
        assert data["resultType"] == "vector", expression
        return [(sample["metric"], float(sample["value"][1])) for sample in data["result"]]

    def range(self, query, start, end, step):
        """Returns [(legend, times, values)] of a query of the dashboard, without what is no
        number."""
        answer = json.loads(self.ask("/api/v1/query_range", query=query.promql, start=start,
                                     end=end, step=step))
        lines = []
        for series in answer["data"]["result"]:
            points = [(float(when), float(value)) for when, value in series["values"]
                      if value != "NaN"]
            lines.append((query.legend_of(series["metric"]), *map(list, zip(*points))) if points
                         else (query.legend_of(series["metric"]), [], []))
        return lines

    def await_scrape(self):
        """Waits until every target has been scraped again."""
        def scrapes():
            return sum(value for _, value in self.query("count_over_time(up[1h])"))
        targets = len(self.targets)
        enough = scrapes() + 3 * targets
        waiting.until(lambda: scrapes() >= enough, "the targets are not scraped", SECONDS)

    def rules(self):
        """Returns the alert rules with their state, by name."""
        groups = json.loads(self.ask("/api/v1/rules", type="alert"))["data"]["groups"]
        return {rule["name"]: rule for group in groups for rule in group["rules"]}
