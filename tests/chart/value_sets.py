# SPDX-License-Identifier: Apache-2.0
"""The ways to install that are shown to work, as arguments of rendering.render."""

TWO_POOLS = """
pools:
  - {name: fast, path: /mnt/nvme, fs: xfs, reserve: 10Gi}
  - {name: bulk, path: /mnt/disk, overcommit: 1.5, watermark: 80%, keepDeleted: 24h, trash: reclaim}
storageClasses:
  - name: bulk
    default: true
    reclaimPolicy: Retain
    volumeBindingMode: Immediate
    allowVolumeExpansion: false
    mountOptions: [noatime]
    parameters: {pool: bulk, provisioning: thin, mkfsOptions: "-m 0"}
    allowedTopologies:
      - matchLabelExpressions:
          - {key: topology.csi.holdfast.dev/node, values: [n1, n2]}
"""
GROUPS = """
pools:
  - {name: default, path: /var/lib/holdfast/pools/default, create: true}
nodeGroups:
  - name: nvme
    nodeSelector: {disk: nvme}
    pools:
      - {name: default, path: /mnt/nvme}
      - {name: bulk, path: /mnt/disk}
  - name: big
    nodeSelector: {size: big}
    pools: [{name: default, path: /mnt/raid}]
node:
  nodeSelector: {os: linux}
storageClasses:
  - {name: any, parameters: {pool: "default, bulk"}}
"""
SCHEDULING = """
imagePullSecrets: [{name: registry}]
controller:
  localhostSeccompProfile: holdfast/controller.json
  priorityClassName: important
  nodeSelector: {role: infra}
  tolerations: [{key: infra, operator: Exists}]
  affinity: {nodeAffinity: {}}
  topologySpreadConstraints:
    - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}
  podAnnotations: {team: storage}
node:
  maxVolumes: 100
  copyRate: 50Mi
  trimInterval: 7d
  tolerations: []
  nodeSelector: {disk: local}
  affinity: {nodeAffinity: {}}
  podAnnotations: {team: storage}
  updateStrategy: OnDelete
"""
DIGEST = f"sha256:{64 * 'a'}"
SITE = f"""
nameOverride: storage
imageRegistry: mirror.example.com:5000/copies
image: {{repository: registry.example.com/holdfast, digest: "{DIGEST}"}}
storageClasses:
  - name: fast
    default: true
    labels: {{tier: fast}}
    annotations: {{example.com/owner: storage}}
controller: &component
  podLabels: {{cost-center: "7"}}
  serviceAccountAnnotations: {{example.com/role: storage}}
  extraArgs: [--log-format=text]
  extraEnv: [{{name: GRPC_TRACE, value: http}}]
node: *component
provisioner: &sidecar {{extraArgs: [--v=5]}}
resizer: *sidecar
snapshotter: *sidecar
attacher: *sidecar
registrar: *sidecar
healthMonitor: {{enabled: true, extraArgs: [--v=5]}}
"""
CEPH = """
pools:
  - {name: default, path: /var/lib/holdfast/pools/default}
  - name: fast
    rbd: kubernetes/team-a
    monitors: [10.0.0.1:6789, 10.0.0.2:6789]
    controller: {user: holdfast-controller, secret: ceph-controller}
    node: {user: holdfast-node, secret: ceph-node}
    fs: xfs
  - name: wide
    rbd: wide
    configMap: ceph
    dataPool: wide.data
    controller: {user: wide-c, secret: wide-controller}
    node: {user: wide-n, secret: wide-node}
storageClasses:
  - {name: local}
  - {name: fast, parameters: {pool: fast, provisioning: thin}}
  - name: late
    volumeBindingMode: WaitForFirstConsumer
    parameters: {pool: fast, provisioning: thin}
"""
CEPH_ALONE = """
pools:
  - name: fast
    rbd: kubernetes
    monitors: [10.0.0.1:6789]
    controller: {user: holdfast-controller, secret: ceph-controller}
    node: {user: holdfast-node, secret: ceph-node}
storageClasses: [{name: fast, parameters: {pool: fast, provisioning: thin}}]
"""
ZONES = """
pools:
  - {name: default, path: /var/lib/holdfast/pools/default}
  - name: a
    rbd: a
    monitors: [10.0.0.1:6789]
    topology: {topology.kubernetes.io/zone: zone-a}
    controller: &user {user: holdfast, secret: ceph}
    node: *user
  - name: b
    rbd: b
    monitors: [10.1.0.1:6789]
    topology: {topology.kubernetes.io/zone: zone-b}
    controller: *user
    node: *user
  - name: racks
    rbd: c
    monitors: [10.2.0.1:6789]
    topology: {example.com/rack: "7"}
    controller: *user
    node: *user
storageClasses:
  - {name: local}
  - {name: a, parameters: {pool: a, provisioning: thin}}
  - name: b
    volumeBindingMode: WaitForFirstConsumer
    parameters: {pool: b, provisioning: thin}
  - {name: racks, parameters: {pool: racks, provisioning: thin}}
  - name: some
    parameters: {pool: a, provisioning: thin}
    allowedTopologies: [{matchLabelExpressions: [{key: example.com/rack, values: ["1"]}]}]
"""
SECRETS = """
pools:
  - {name: default, path: /var/lib/holdfast/pools/default}
  - {name: fast, rbd: kubernetes/team-a, monitors: [10.0.0.1:6789], fs: xfs, keepDeleted: 24h}
  - {name: wide, rbd: wide, configMap: ceph}
storageClasses:
  - {name: local}
  - name: fast-team
    parameters: {pool: fast, provisioning: thin}
    secrets:
      controller: {name: fast-controller}
      node: {name: fast-node, namespace: default}
  - name: wide-team
    parameters: {pool: wide, provisioning: thin}
    secrets: &elsewhere
      controller: {name: wide, namespace: default}
      node: {name: wide, namespace: default}
  - name: wide-kept
    reclaimPolicy: Retain
    parameters: {pool: wide, provisioning: thin}
    secrets: *elsewhere
"""
SNAPSHOTS = """
snapshots: {enabled: true}
snapshotClasses:
  - {name: kept, deletionPolicy: Retain}
  - name: backups
    default: true
    labels: {velero.io/csi-volumesnapshot-class: "true"}
    annotations: {k10.kasten.io/is-snapshot-class: "true"}
    parameters: {consistency: frozen, maxFreeze: 500ms}
"""
SNAPSHOTS_WITH_SECRETS = SECRETS + """
snapshots: {enabled: true}
snapshotClasses:
  - {name: local}
  - {name: fast, secrets: {controller: {name: fast-snapshots}}}
  - name: wide
    parameters: {consistency: crash}
    secrets: {controller: {name: wide, namespace: default}}
"""
GROUP_SNAPSHOTS = """
snapshots: {enabled: true, groups: true}
groupSnapshotClasses:
  - {name: kept, deletionPolicy: Retain}
  - name: backups
    default: true
    labels: {velero.io/csi-volumegroupsnapshot-class: "true"}
    annotations: {example.com/purpose: nightly}
    parameters: {maxFreeze: 500ms}
"""
MONITORING = """
metrics:
  enabled: true
  volumes: true
  podMonitor:
    enabled: true
    labels: {release: monitoring}
    interval: 30s
    relabelings: [{targetLabel: cluster, replacement: west}]
  alerts:
    enabled: true
    labels: {release: monitoring, role: alert-rules}
    poolAvailablePercent: 2.5
    runbook: https://wiki.example.com/holdfast
  dashboard: {enabled: true, namespace: monitoring, labels: {grafana_dashboard: "1", team: storage}}
"""
VALUE_SETS = {
    "defaults": {},
    "provisioning on the nodes": {"values": ["provisioning=nodes"]},
    "a registrar": {"values": ["node.sidecars=true"]},
    "a registrar, provisioning on the nodes": {
        "values": ["node.sidecars=true", "provisioning=nodes"]},
    "cert-manager": {"values": ["link.certificates=cert-manager"]},
    "existing secrets": {"values": ["link.certificates=secret", "link.controllerSecret=c",
                                    "link.nodeSecret=n"]},
    "several pools": {"text": TWO_POOLS},
    "another kubelet path": {"values": ["kubeletPath=/var/snap/kubelet"]},
    "scheduling": {"text": SCHEDULING},
    "what a site adds": {"text": SITE},
    "OpenShift": {"values": ["openshift=true"]},
    "everything on": {"values": ["metrics.enabled=true", "healthMonitor.enabled=true",
                                 "seLinuxMount=true", "logLevel=debug"]},
    "Prometheus operator and Grafana": {"text": MONITORING},
    "pools in Ceph": {"text": CEPH},
    "pools in Ceph alone, a registrar": {"text": CEPH_ALONE, "values": [
        "node.sidecars=true", "metrics.enabled=true"]},
    "users of pools in Ceph by their classes": {"text": SECRETS},
    "pools in Ceph that not every node reaches": {"text": ZONES},
    "snapshots": {"text": SNAPSHOTS},
    "snapshots, provisioning on the nodes": {
        "text": SNAPSHOTS, "values": ["provisioning=nodes"]},
    "snapshots with the users of classes": {"text": SNAPSHOTS_WITH_SECRETS},
    "snapshots of several volumes": {"text": GROUP_SNAPSHOTS},
    "attaching": {"values": ["attachRequired=true"]},
    "everything off": {"values": ["networkPolicy=false", "storageClasses=null"]},
}
