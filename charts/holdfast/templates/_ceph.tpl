{{/* What pools in Ceph (rbd) need beside a flag. Not empty if there is such a pool. */}}
{{- define "holdfast.inCeph" -}}
{{- range .Values.pools }}{{ if .rbd }}yes{{ end }}{{ end }}
{{- end }}

{{/* Where the files of such a pool are in a container. */}}
{{- define "holdfast.ceph.directory" -}}
/etc/holdfast/ceph/{{ .name }}
{{- end }}

{{/* The mounts and the volumes of a component's pools in Ceph. Take the chart's scope and the
component: controller or node. */}}
{{- define "holdfast.ceph.mounts" -}}
{{- range (index . 0).Values.pools }}
{{- if .rbd }}
- {name: ceph-{{ .name }}, mountPath: {{ include "holdfast.ceph.directory" . }}, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- define "holdfast.ceph.volumes" -}}
{{- $component := index . 1 }}
{{- range (index . 0).Values.pools }}
{{- if .rbd }}
- name: ceph-{{ .name }}
  projected:
    defaultMode: {{ ternary "0400" "0440" (eq $component "node") }}
    sources:
      - secret:
          name: {{ get (get . $component) "secret" | quote }}
          items: [{key: userKey, path: userKey}]
      {{- with .configMap }}
      - configMap:
          name: {{ . | quote }}
          items: [{key: ceph.conf, path: ceph.conf}]
      {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* A pool as the driver's flag has it. Takes the pool and the component. */}}
{{- define "holdfast.pool" -}}
{{- $component := index . 1 }}
{{- with index . 0 -}}
{{- if .rbd -}}
{{ .name }}=rbd:{{ .rbd }}
{{- with .monitors }},monitors={{ join ";" . }}{{ end }}
{{- if .configMap }},conf={{ include "holdfast.ceph.directory" . }}/ceph.conf{{ end }}
{{- printf ",user=%s,keyring=%s/userKey" (get (get . $component) "user") (include "holdfast.ceph.directory" .) }}
{{- else -}}
{{ .name }}=file:{{ .path }}
{{- end }}
{{- $pool := . }}
{{- range $key := list "fs" "dataPool" "reserve" "overcommit" "watermark" }}
{{- if hasKey $pool $key }},{{ $key }}={{ index $pool $key }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
