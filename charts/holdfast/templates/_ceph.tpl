{{/* Not empty if there is a pool in Ceph (rbd); such pools need more than a flag. */}}
{{- define "holdfast.inCeph" -}}
{{- range .Values.pools }}{{ if .rbd }}yes{{ end }}{{ end }}
{{- end }}

{{/* The directory of such a pool's files in a container. */}}
{{- define "holdfast.ceph.directory" -}}
/etc/holdfast/ceph/{{ .name }}
{{- end }}

{{/* The files of a pool in Ceph, as sources of a volume. Empty for a file pool, and for a pool that needs
no files for users and monitors. Takes the pool and the component: controller or node. */}}
{{- define "holdfast.ceph.files" -}}
{{- $component := index . 1 }}
{{- with index . 0 }}
{{- with get . $component }}
- secret:
    name: {{ .secret | quote }}
    items: [{key: userKey, path: userKey}]
{{- end }}
{{- with .configMap }}
- configMap:
    name: {{ . | quote }}
    items: [{key: ceph.conf, path: ceph.conf}]
{{- end }}
{{- end }}
{{- end }}

{{/* The mounts and the volumes of a component's pools in Ceph. Take the chart's scope and the
component. */}}
{{- define "holdfast.ceph.mounts" -}}
{{- $component := index . 1 }}
{{- range (index . 0).Values.pools }}
{{- if include "holdfast.ceph.files" (list . $component) }}
- {name: ceph-{{ .name }}, mountPath: {{ include "holdfast.ceph.directory" . }}, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- define "holdfast.ceph.volumes" -}}
{{- $component := index . 1 }}
{{- range $pool := (index . 0).Values.pools }}
{{- with include "holdfast.ceph.files" (list $pool $component) | trim }}
- name: ceph-{{ $pool.name }}
  projected:
    defaultMode: {{ ternary "0400" "0440" (eq $component "node") }}
    sources:
      {{- . | nindent 6 }}
{{- end }}
{{- end }}
{{- end }}

{{/* The value of the driver's --pool flag for a pool in Ceph, up to the keys of all kinds. Takes the
pool and the component. */}}
{{- define "holdfast.ceph.pool" -}}
{{- $component := index . 1 }}
{{- with index . 0 -}}
{{- $pool := . }}
{{- .name }}=rbd:{{ .rbd }}
{{- with .monitors }},monitors={{ join ";" . }}{{ end }}
{{- if .configMap }},conf={{ include "holdfast.ceph.directory" . }}/ceph.conf{{ end }}
{{- with get . $component }}
{{- printf ",user=%s,keyring=%s/userKey" .user (include "holdfast.ceph.directory" $pool) }}
{{- end }}
{{- range $key, $value := .topology }},topology={{ $key }}={{ $value }}{{ end }}
{{- end }}
{{- end }}

{{/* The topology keys of pools that not every node reaches, separated by spaces. */}}
{{- define "holdfast.topologyKeys" -}}
{{- $keys := list }}
{{- range .Values.pools }}
{{- $keys = concat $keys (keys (default dict .topology)) }}
{{- end }}
{{- $keys | uniq | sortAlpha | join " " }}
{{- end }}

{{/* The parameters that make Kubernetes pass a Secret to calls. Takes the chart's scope, the Secret and
the calls. */}}
{{- define "holdfast.secretOfCalls" -}}
{{- $here := (index . 0).Release.Namespace }}
{{- $secret := index . 1 }}
{{- range index . 2 }}
csi.storage.k8s.io/{{ . }}-secret-name: {{ $secret.name | quote }}
csi.storage.k8s.io/{{ . }}-secret-namespace: {{ $secret.namespace | default $here | quote }}
{{- end }}
{{- end }}

{{/* The parameters that make Kubernetes pass a StorageClass's Secrets to the calls of each side. Takes
the chart's scope and the class. */}}
{{- define "holdfast.class.secrets" -}}
{{- $secrets := (index . 1).secrets }}
{{- include "holdfast.secretOfCalls" (list (index . 0) $secrets.controller (list "provisioner" "controller-publish" "controller-expand")) }}
{{- include "holdfast.secretOfCalls" (list (index . 0) $secrets.node (list "node-stage" "node-publish" "node-expand")) }}
{{- end }}
