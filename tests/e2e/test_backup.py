# SPDX-License-Identifier: Apache-2.0
"""The manifests of docs/backup.md, as a person applies them: what backup tools do, step by step."""

import pytest

from cluster.processes import until
from installation import REPOSITORY

MANIFESTS = REPOSITORY / "docs" / "examples" / "backup"
CLASSES = {"StorageClass": "holdfast-temporary", "VolumeSnapshotClass": "holdfast-backup"}


@pytest.fixture
def apply(cluster, workloads):
    """Applies a manifest, with words replaced."""
    def run(name, **words):
        text = (MANIFESTS / f"{name}.yaml").read_text()
        for placeholder, value in words.items():
            text = text.replace(placeholder, value)
        manifest = cluster.directory / f"{name}.yaml"
        manifest.write_text(text)
        cluster.kubectl("apply", "--filename", manifest)
    yield run
    workloads.clean()
    for kind, name in CLASSES.items():
        cluster.api.delete(kind, name)


def ended(workloads, pod):
    until(lambda: workloads.phase(pod) == "Succeeded",
          lambda: f"pod {pod} does not end well: {workloads.explain(pod)}", 120)


@pytest.mark.slice
def test_the_manifests_of_the_backup_guide(workloads, apply):
    apply("1-application")
    workloads.running("application")
    apply("2-classes-and-snapshot")
    workloads.ready("monday")
    workloads.sh("application", "rm /data/first; echo late > /data/second; sync")

    apply("3-files")
    ended(workloads, "file-backup")

    content = workloads.api.get("VolumeSnapshotContent", workloads.content_of("monday"))
    apply("4-device", HANDLE=content["status"]["snapshotHandle"])
    ended(workloads, "device-backup")
    workloads.remove("Pod", "file-backup", "device-backup")
    workloads.remove("PersistentVolumeClaim", "monday-files", "monday-device")

    apply("5-restore")
    ended(workloads, "restore")
    workloads.remove("Pod", "restore")
    volume = workloads.volume_of("restored-device")
    name = volume["metadata"]["name"]
    workloads.api.patch("PersistentVolume", name,
                        {"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
    workloads.remove("PersistentVolumeClaim", "restored-device")
    workloads.remove("PersistentVolume", name)

    handle = volume["spec"]["csi"]["volumeHandle"]
    apply("6-restored", HANDLE=handle, NODE=handle.split(":")[1])
    workloads.running("restored")
    assert workloads.sh("restored", "cat /data/first").strip() == "precious"
    assert "second" not in workloads.sh("restored", "ls /data")
    assert int(workloads.sh("restored", "df -m /data | tail -n 1").split()[1]) > 100, "it has grown"
    backups = workloads.pod("backups")
    workloads.running(backups)
    assert "first" in workloads.sh(backups, "tar -tf /data/monday.tar")
    # The snapshot with the policy Retain outlives its object; its content is what names it.
    workloads.remove("VolumeSnapshot", "monday")
    assert workloads.api.find("VolumeSnapshotContent", content["metadata"]["name"])
