{{/* The value of the driver's --pool flag for a pool: the template of its kind, and the keys that need
nothing but their value. Takes the pool and the component: controller or node. */}}
{{- define "holdfast.pool" -}}
{{- $pool := index . 0 }}
{{- if $pool.rbd -}}
{{ include "holdfast.ceph.pool" . }}
{{- else -}}
{{ $pool.name }}=file:{{ $pool.path }}
{{- end }}
{{- range $key := list "fs" "dataPool" "reserve" "overcommit" "watermark" }}
{{- if hasKey $pool $key }},{{ $key }}={{ index $pool $key }}{{ end }}
{{- end }}
{{- end }}
