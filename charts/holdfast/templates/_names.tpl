{{- define "holdfast.labels" -}}
{{ include "holdfast.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "holdfast.selector" -}}
app.kubernetes.io/name: holdfast
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "holdfast.controller" -}}
{{ .Release.Name }}-controller
{{- end }}

{{- define "holdfast.node" -}}
{{ .Release.Name }}-node
{{- end }}

{{- define "holdfast.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The directory of the node's socket, on the host and in the driver's container. */}}
{{- define "holdfast.pluginDir" -}}
{{ .Values.kubeletPath }}/plugins/{{ .Values.driverName }}
{{- end }}

{{/* What the schema cannot say of values that belong together. */}}
{{- define "holdfast.check" -}}
{{- $socket := printf "%s/csi.sock" (include "holdfast.pluginDir" .) }}
{{- if gt (len $socket) 107 }}
{{- fail (printf "kubeletPath is too long: the socket '%s' has %d characters, and 107 are the most" $socket (len $socket)) }}
{{- end }}
{{- $pools := list }}
{{- range .Values.pools }}
{{- if has .name $pools }}
{{- fail (printf "pools: two pools are named '%s'" .name) }}
{{- end }}
{{- $pools = append $pools .name }}
{{- end }}
{{- range .Values.storageClasses }}
{{- $pool := dig "parameters" "pool" (first $pools) . }}
{{- if not (has $pool $pools) }}
{{- fail (printf "StorageClass '%s' names the pool '%s', which is not among pools" .name $pool) }}
{{- end }}
{{- end }}
{{- end }}
