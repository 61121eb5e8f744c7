# SPDX-License-Identifier: Apache-2.0
"""The driver's reports over HTTP: health and metrics."""

import urllib.error
import urllib.request

SECONDS = 10


def get(port, path):
    """Status and text."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def metric(port, name, **labels):
    """The value of the one sample with these labels, of which an empty one counts as absent, as in
    Prometheus; None if there is none."""
    status, text = get(port, "/metrics")
    assert status == 200, text
    want = {f'{key}="{value}"' for key, value in labels.items()}
    for line in text.splitlines():
        sample, _, value = line.rpartition(" ")
        family, _, rest = sample.partition("{")
        has = {label for label in rest.rstrip("}").split(",") if label and not label.endswith('=""')}
        if family == name and want == has:
            return float(value)
    return None
