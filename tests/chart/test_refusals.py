# SPDX-License-Identifier: Apache-2.0
"""Values that cannot work are refused before anything is installed, with the value's name."""

import pytest

import value_sets
from rendering import Refused, render

LONG = "/var/lib/" + 90 * "k"
REFUSALS = {
    "colour=blue": "'colour' not allowed",
    "node.sidecar=false": "'sidecar' not allowed",
    "node.sidecars=maybe": "/node/sidecars",
    "logLevel=loud": "/logLevel",
    "driverName=Holdfast": "/driverName",
    "kubeletPath=var/lib/kubelet": "/kubeletPath",
    "kubeletPath=/var/../kubelet": "/kubeletPath",
    f"kubeletPath={LONG}": "kubeletPath is too long.*107",
    "stateDir=/var/lib/holdfast/": "/stateDir",
    "provisioning=everywhere": "/provisioning",
    "pools=null": "pools",
    "link.port=80": "/link/port",
    "link.port=9809": "/link/port",
    "link.certificates=none": "/link/certificates",
    "link.certificates=secret": "/link/controllerSecret",
    "nodeGroups[0].name=a": "/nodeGroups/0.*missing properties 'nodeSelector', 'pools'",
    "lostPools[0].node=worker-3": "/lostPools/0.*missing properties 'pool', 'id'",
    "node.maxVolumes=-1": "/node/maxVolumes",
    "node.copyRate=fast": "/node/copyRate",
    "node.trimInterval=weekly": "/node/trimInterval",
    "node.updateStrategy=Recreate": "/node/updateStrategy",
    "node.maxUnavailable=some": "/node/maxUnavailable",
    "attachRequired=maybe": "/attachRequired",
    "provisioner.capacityPollInterval=often": "/provisioner/capacityPollInterval",
    "snapshots.enabled=maybe": "/snapshots/enabled.*'auto', true, false",
    "snapshots.class=a": "'class' not allowed",
    "snapshotter.timeout=1m": "'timeout' not allowed",
    "controller.resources.limits.memory=much": "/controller/resources/limits/memory",
    "image.tag=a:b": "/image/tag",
    "image.tag=1.0@sha256:abc": "/image/tag",
    "image.digest=abc": "/image/digest",
    "imageRegistry=mirror.example.com/": "/imageRegistry",
    "nameOverride=Storage": "/nameOverride",
    "controller.extraArgs[0]=verbose": "/controller/extraArgs/0",
    "node.extraEnv[0].name=CSI_ENDPOINT": "/node/extraEnv/0",
    "node.podLabels.holdfast\\.dev/node-group=a": "node.podLabels: the chart itself sets labels",
    "metrics.podMonitor.interval=often": "/metrics/podMonitor/interval",
    "metrics.podMonitor=true": "/metrics/podMonitor.*want object",
    "metrics.volumes=true": "metrics.volumes needs metrics.enabled",
    "metrics.podMonitor.enabled=true": "metrics.podMonitor.enabled needs metrics.enabled",
    "metrics.alerts.enabled=true": "metrics.alerts.enabled needs metrics.enabled",
    "metrics.dashboard.enabled=true": "metrics.dashboard.enabled needs metrics.enabled",
    "metrics.alerts.labels.team=1": "/metrics/alerts/labels/team",
    "metrics.alerts.poolAvailablePercent=101": "/metrics/alerts/poolAvailablePercent",
    "metrics.alerts.runbook=wiki": "/metrics/alerts/runbook",
    "metrics.dashboard.namespace=Grafana": "/metrics/dashboard/namespace",
    "metrics.dashboard.labels.helm\\.sh/chart=a":
        "metrics.dashboard.labels: the chart itself sets the label 'helm.sh/chart'",
}
POOL_REFUSALS = {
    "{name: UPPER, path: /srv}": "/pools/0/name",
    "{name: twenty-five-letters-long-x, path: /srv}": "/pools/0/name",
    "{name: default, path: srv}": "/pools/0/path",
    "{name: default}": "missing property 'path'",
    "{name: default, path: /srv, fs: zfs}": "/pools/0/fs",
    "{name: default, path: /srv, reserve: much}": "/pools/0/reserve",
    "{name: default, path: /srv, overcommit: 0.5}": "/pools/0/overcommit",
    "{name: default, path: /srv, watermark: '90'}": "/pools/0/watermark",
    "{name: default, path: /srv, keepDeleted: soon}": "/pools/0/keepDeleted",
    "{name: default, path: /srv, keepDeleted: ''}": "/pools/0/keepDeleted",
    "{name: default, path: /srv, trash: empty}": "/pools/0/trash",
    "{name: default, path: /srv, size: 1Gi}": "'size' not allowed",
    "{name: default, path: /srv, topology: {zone: a}}": "'topology' not allowed",
}
RBD = "name: fast, rbd: volumes, monitors: ['10.0.0.1:6789'], "
USERS = "controller: {user: a, secret: b}, node: {user: c, secret: d}"
RBD_REFUSALS = {
    f"{{{RBD} {USERS}, path: /srv}}": "'path' not allowed",
    f"{{{RBD} {USERS}, reserve: 5%}}": "'reserve' not allowed",
    f"{{{RBD} {USERS}, configMap: ceph}}": "/pools/0.*oneOf",
    f"{{name: fast, rbd: volumes, {USERS}}}": "/pools/0.*oneOf",
    f"{{name: fast, rbd: a/b/c, monitors: [m], {USERS}}}": "/pools/0/rbd",
    f"{{name: fast, rbd: volumes, monitors: [], {USERS}}}": "/pools/0/monitors",
    f"{{name: fast, rbd: volumes, monitors: ['m,conf=/x'], {USERS}}}": "/pools/0/monitors/0",
    f"{{{RBD} node: {{user: a, secret: b}}}}": "'controller' required, if 'node' exists",
    f"{{{RBD} controller: {{user: a, secret: b}}}}": "'node' required, if 'controller' exists",
    f"{{{RBD} controller: {{user: a, secret: b}}, node: {{user: a}}}}": "missing property 'secret'",
    f"{{{RBD} controller: {{user: 'a,b', secret: b}}, node: {{user: a, secret: b}}}}":
        "/pools/0/controller/user",
    f"{{{RBD} {USERS}, dataPool: a b}}": "/pools/0/dataPool",
    f"{{{RBD} {USERS}, topology: zone=a}}": "/pools/0/topology",
    f"{{{RBD} {USERS}, topology: {{}}}}": "/pools/0/topology",
    f"{{{RBD} {USERS}, topology: {{zone: a, rack: b}}}}": "/pools/0/topology",
    f"{{{RBD} {USERS}, topology: {{A.com/zone: a}}}}": "/pools/0/topology",
    f"{{{RBD} {USERS}, topology: {{zone: -a}}}}": "/pools/0/topology/zone",
    f"{{{RBD} {USERS}, topology: {{zone: 'a,fs=xfs'}}}}": "/pools/0/topology/zone",
}
CLASS_REFUSALS = {
    "{name: Fast}": "/storageClasses/0/name",
    "{parameters: {}}": "missing property 'name'",
    "{name: fast, reclaimPolicy: Recycle}": "/storageClasses/0/reclaimPolicy",
    "{name: fast, volumeBindingMode: Late}": "/storageClasses/0/volumeBindingMode",
    "{name: fast, parameters: {fstype: ext4}}": "'fstype' not allowed",
    "{name: fast, parameters: {provisioning: fat}}": "/storageClasses/0/parameters/provisioning",
    "{name: fast, secrets: {controller: {name: a}}}": "missing property 'node'",
    "{name: fast, secrets: {controller: {}, node: {name: b}}}": "missing property 'name'",
    "{name: fast, secrets: {controller: {name: A}, node: {name: b}}}":
        "/storageClasses/0/secrets/controller/name",
    "{name: x, secrets: {controller: {name: a}, node: {name: b, namespace: '${pvc.namespace}'}}}":
        "/storageClasses/0/secrets/node/namespace",
    "{name: fast, secrets: {controller: {name: a}, node: {name: b, key: c}}}": "'key' not allowed",
    "{name: fast, secrets: {controller: {name: a}, node: {name: b}, attacher: {name: c}}}":
        "'attacher' not allowed",
    "{name: fast, parameters: {csi.storage.k8s.io/provisioner-secret-name: a}}": "not allowed",
    "{name: fast, secrets: {controller: {name: a}, node: {name: b}}}":
        "names secrets, but its pool 'default' is of files",
    "{name: a}, {name: a}": "two classes are named 'a'",
    "{name: a, default: true}, {name: b}, {name: c, default: true}":
        "both 'a' and 'c' are the default",
    "{name: a, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}":
        "StorageClass 'a': set default instead of the annotation",
    "{name: a, labels: {helm.sh/chart: b}}": "the chart itself sets the label 'helm.sh/chart'",
}


SNAPSHOT_CLASS_REFUSALS = {
    "{name: Fast}": "/snapshotClasses/0/name",
    "{default: true}": "missing property 'name'",
    "{name: a, isDefault: true}": "'isDefault' not allowed",
    "{name: a, default: maybe}": "/snapshotClasses/0/default",
    "{name: a, deletionPolicy: Keep}": "/snapshotClasses/0/deletionPolicy.*'Delete', 'Retain'",
    "{name: a, parameters: {pool: default}}": "'pool' not allowed",
    "{name: a, parameters: {consistency: perfect}}": "/parameters/consistency",
    "{name: a, parameters: {maxFreeze: 2}}": "/parameters/maxFreeze",
    "{name: a, labels: {tier: 1}}": "/snapshotClasses/0/labels/tier",
    "{name: a, annotations: {tier: 1}}": "/snapshotClasses/0/annotations/tier",
    "{name: a, labels: {app.kubernetes.io/name: b}}":
        "VolumeSnapshotClass 'a': the chart itself sets the label 'app.kubernetes.io/name'",
    "{name: a, labels: {helm.sh/chart: b}}": "the chart itself sets the label 'helm.sh/chart'",
    "{name: a, annotations: {snapshot.storage.kubernetes.io/is-default-class: 'true'}}":
        "VolumeSnapshotClass 'a': set default instead of the annotation",
    "{name: a}, {name: a}": "two classes are named 'a'",
    "{name: a, default: true}, {name: b}, {name: c, default: true}":
        "both 'a' and 'c' are the default",
    "{name: a, secrets: {controller: {name: b}}}":
        "VolumeSnapshotClass 'a' names secrets, but every pool in Ceph has users of its own",
    "{name: a, secrets: {controller: {name: B}}}": "/snapshotClasses/0/secrets/controller/name",
    "{name: a, secrets: {controller: {name: b}, node: {name: c}}}": "'node' not allowed",
    "{name: a, secrets: {}}": "missing property 'controller'",
}


@pytest.mark.parametrize("value", REFUSALS)
def test_a_wrong_value(value):
    with pytest.raises(Refused, match=REFUSALS[value]):
        render(value)


@pytest.mark.parametrize("pool", POOL_REFUSALS)
def test_a_wrong_pool(pool):
    with pytest.raises(Refused, match=POOL_REFUSALS[pool]):
        render(text=f"pools: [{pool}]")


@pytest.mark.parametrize("pool", RBD_REFUSALS)
def test_a_wrong_pool_in_ceph(pool):
    with pytest.raises(Refused, match=RBD_REFUSALS[pool]):
        render(text=f"pools: [{pool}]\nstorageClasses: []")


@pytest.mark.parametrize("storage_class", CLASS_REFUSALS)
def test_a_wrong_class(storage_class):
    with pytest.raises(Refused, match=CLASS_REFUSALS[storage_class]):
        render(text=f"storageClasses: [{storage_class}]")


@pytest.mark.parametrize("classes", SNAPSHOT_CLASS_REFUSALS)
def test_a_wrong_class_of_snapshots(classes):
    """Whether snapshots are on or not: they may be, in the next cluster."""
    with pytest.raises(Refused, match=SNAPSHOT_CLASS_REFUSALS[classes]):
        render(text=f"snapshotClasses: [{classes}]")


def test_two_pools_of_one_name():
    with pytest.raises(Refused, match="two pools are named 'a'"):
        render(text="pools: [{name: a, path: /srv/a}, {name: a, path: /srv/b}]")


def test_a_class_with_a_pool_that_is_not_there():
    with pytest.raises(Refused, match="StorageClass 'fast'.*pool 'nvme'"):
        render(text="storageClasses: [{name: fast, parameters: {pool: nvme}}]")


@pytest.mark.parametrize("parameters, reason", [
    ("{pool: fast}", "thin volumes only"),
    ("{pool: fast, provisioning: thick}", "thin volumes only"),
    ("{provisioning: thin}", "names no pool")])
def test_a_class_that_a_pool_in_ceph_cannot_serve(parameters, reason):
    with pytest.raises(Refused, match=f"StorageClass 'wrong'.*{reason}"):
        render(text=f"pools: [{{{RBD} {USERS}}}]\n"
                    f"storageClasses: [{{name: wrong, parameters: {parameters}}}]")


SECRETS = "secrets: {controller: {name: a}, node: {name: b}}"


@pytest.mark.parametrize("users, more, reason", [
    ("", "", "names no secrets, and its pool 'fast' has no users"),
    (USERS, SECRETS, "names secrets, but its pool 'fast' has users of its own"),
    ("", f"{SECRETS}, volumeBindingMode: WaitForFirstConsumer", "waits for its first consumer")])
def test_a_class_and_its_pool_that_do_not_agree_who_asks_ceph(users, more, reason):
    with pytest.raises(Refused, match=f"StorageClass 'wrong'.*{reason}"):
        render(text=f"pools: [{{{RBD} {users}}}]\nstorageClasses: [{{name: wrong, "
                    f"parameters: {{pool: fast, provisioning: thin}}, {more}}}]")


def test_a_pool_without_users_can_be_for_classes_that_the_chart_does_not_make():
    assert not render(text=f"pools: [{{{RBD}}}]\nstorageClasses: []").all("StorageClass")


def test_nodes_do_not_provision_in_ceph():
    with pytest.raises(Refused, match="provisioning is nodes.*pools in Ceph"):
        render("provisioning=nodes", text=value_sets.CEPH)
