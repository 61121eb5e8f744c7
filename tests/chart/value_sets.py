# SPDX-License-Identifier: Apache-2.0
"""The ways to install that are shown to work, as arguments of rendering.render."""

TWO_POOLS = """
pools:
  - {name: fast, path: /mnt/nvme, fs: xfs, reserve: 10Gi}
  - {name: bulk, path: /mnt/disk, overcommit: 1.5, watermark: 80%}
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
SCHEDULING = """
imagePullSecrets: [{name: registry}]
controller:
  localhostSeccompProfile: holdfast/controller.json
  priorityClassName: important
  nodeSelector: {role: infra}
  tolerations: [{key: infra, operator: Exists}]
  affinity: {nodeAffinity: {}}
  podAnnotations: {team: storage}
node:
  maxVolumes: 100
  tolerations: []
  nodeSelector: {disk: local}
  affinity: {nodeAffinity: {}}
  podAnnotations: {team: storage}
  updateStrategy: OnDelete
"""
VALUE_SETS = {
    "defaults": {},
    "provisioning on the nodes": {"values": ["provisioning=nodes"]},
    "no sidecars": {"values": ["node.sidecars=false"]},
    "no sidecars, provisioning on the nodes": {
        "values": ["node.sidecars=false", "provisioning=nodes"]},
    "cert-manager": {"values": ["link.certificates=cert-manager"]},
    "existing secrets": {"values": ["link.certificates=secret", "link.controllerSecret=c",
                                    "link.nodeSecret=n"]},
    "several pools": {"text": TWO_POOLS},
    "another kubelet path": {"values": ["kubeletPath=/var/snap/kubelet"]},
    "scheduling": {"text": SCHEDULING},
    "everything on": {"values": ["metrics.enabled=true", "healthMonitor.enabled=true",
                                 "seLinuxMount=true", "logLevel=debug"]},
    "Prometheus operator": {"values": ["metrics.enabled=true", "metrics.podMonitor=true"]},
    "everything off": {"values": ["networkPolicy=false", "storageClasses=null"]},
}
