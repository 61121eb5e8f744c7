# SPDX-License-Identifier: Apache-2.0
"""Collects the information that explains a failed test."""

from cluster.api import ApiError
from installation import NAMESPACE

LOG_LINES = 60
NOT_TO_BE_HAD = (OSError, RuntimeError, ApiError)
OBJECTS = ("persistentvolumeclaims,persistentvolumes,volumeattachments,pods,"
           "csistoragecapacities")


def report(cluster):
    return "\n\n".join([
        section("objects", lambda: cluster.kubectl("get", OBJECTS, "-A", "-o", "wide")),
        section("events", lambda: tail(cluster.kubectl(
            "get", "events", "-A", "--sort-by=.lastTimestamp"))),
        section("claims", lambda: cluster.kubectl("describe", "persistentvolumeclaims")),
        *logs(cluster.api)])


def logs(api):
    try:
        pods = api.list("Pod", NAMESPACE)
    except NOT_TO_BE_HAD as error:  # a failed last teardown is reported at the end
        yield f"----- logs\n(not to be had: {error})"
        return
    for pod in pods:
        name = pod["metadata"]["name"]
        for container in pod["spec"]["containers"]:
            yield section(f"log of {name}, {container['name']}", lambda: api.logs(
                name, container["name"], NAMESPACE, tailLines=LOG_LINES))


def section(title, text):
    try:
        return f"----- {title}\n{text()}"
    except NOT_TO_BE_HAD as error:
        return f"----- {title}\n(not to be had: {error})"


def tail(text):
    return "\n".join(text.splitlines()[-LOG_LINES:])
