# SPDX-License-Identifier: Apache-2.0
"""Pinned tools and data from the Go module proxy: helm, kubeconform, Kubernetes' OpenAPI."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DIRECTORY = pathlib.Path(os.environ.get("HOLDFAST_TOOLS_DIR", REPOSITORY / "build" / "tools"))
PROGRAMS = {"helm": ("helm.sh/helm/v3", "cmd/helm", "v3.22.0"),
            "helm4": ("helm.sh/helm/v4", "cmd/helm", "v4.3.1"),
            "kubeconform": ("github.com/yannh/kubeconform", "cmd/kubeconform", "v0.8.0")}
# The oldest Kubernetes that the chart accepts, and the one that the driver is tested with.
KUBERNETES = ("v1.33.5", "v1.36.1")
# The API of snapshots, which is not part of Kubernetes.
SNAPSHOTS = ("github.com/kubernetes-csi/external-snapshotter/client/v8", "v8.7.0")


def find_go():
    """Provides a Go that is new enough for everything that is built here, whatever is installed."""
    subprocess.run([REPOSITORY / "scripts" / "go-tools"], check=True)


def go(*words, **environment):
    # Outside any module, because its requirements would count; with the Go version that the module
    # requests.
    settings = {"GOTOOLCHAIN": "auto", "CGO_ENABLED": "0", **environment}
    return subprocess.run([DIRECTORY / "go", *words], cwd="/", env={**os.environ, **settings}, check=True,
                          capture_output=True, text=True).stdout


def program(name):
    """Returns the path of a tool, which is built if it is missing or of another version."""
    module, package, version = PROGRAMS[name]
    path = DIRECTORY / name
    if not (path.exists() and f"mod\t{module}\t{version}\t" in go("version", "-m", path)):
        DIRECTORY.mkdir(parents=True, exist_ok=True)
        print(f"building {name} {version}", flush=True)
        with tempfile.TemporaryDirectory() as built:
            go("install", f"{module}/{package}@{version}", GOBIN=built)
            shutil.copy(pathlib.Path(built) / pathlib.PurePath(package).name, path)
    return path


def module_directory(module, version):
    return pathlib.Path(json.loads(go("mod", "download", "-json", f"{module}@{version}"))["Dir"])


def kubernetes_openapi(version):
    """Returns Kubernetes' own description of its API."""
    directory = module_directory("k8s.io/kubernetes", version)
    return json.loads((directory / "api/openapi-spec/swagger.json").read_text())


def snapshot_definitions():
    """Returns the files that define the API of snapshots."""
    return sorted((module_directory(*SNAPSHOTS) / "config/crd").glob("*snapshot.*.yaml"))
