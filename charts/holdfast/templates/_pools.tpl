{{/* The value of the driver's --pool flag for a pool: the text from its kind's template, and the keys that
are copied unchanged. Takes the pool and the component: controller or node. */}}
{{- define "holdfast.pool" -}}
{{- $pool := index . 0 }}
{{- if $pool.rbd -}}
{{ include "holdfast.ceph.pool" . }}
{{- else -}}
{{ $pool.name }}=file:{{ $pool.path }}
{{- end }}
{{- range $key := list "fs" "dataPool" "reserve" "overcommit" "watermark" "keepDeleted" "trash" "sectorSize" }}
{{- if hasKey $pool $key }},{{ $key }}={{ index $pool $key }}{{ end }}
{{- end }}
{{- end }}
