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

{{/* What the names of all objects begin with. */}}
{{- define "holdfast.prefix" -}}
{{ .Values.nameOverride | default .Release.Name }}
{{- end }}

{{- define "holdfast.controller" -}}
{{ include "holdfast.prefix" . }}-controller
{{- end }}

{{- define "holdfast.node" -}}
{{ include "holdfast.prefix" . }}-node
{{- end }}

{{/* An image, from the mirror if there is one. Takes the chart's scope and the image. A first component
with a dot or a colon is a registry, as container runtimes read it. */}}
{{- define "holdfast.mirrored" -}}
{{- $image := index . 1 }}
{{- $mirror := (index . 0).Values.imageRegistry }}
{{- if $mirror }}
{{- $parts := splitList "/" $image }}
{{- if and (gt (len $parts) 1) (or (regexMatch "[.:]" (first $parts)) (eq "localhost" (first $parts))) }}
{{- $parts = rest $parts }}
{{- end }}
{{- $image = printf "%s/%s" $mirror (join "/" $parts) }}
{{- end }}
{{- $image }}
{{- end }}

{{/* The driver's image. A digest decides; the tag is then only for people. */}}
{{- define "holdfast.image" -}}
{{- $image := printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- with .Values.image.digest }}{{ $image = printf "%s@%s" $image . }}{{ end }}
{{- include "holdfast.mirrored" (list . $image) }}
{{- end }}

{{/* The directory of the node's socket, on the host and in the driver's container. */}}
{{- define "holdfast.pluginDir" -}}
{{ .Values.kubeletPath }}/plugins/{{ .Values.driverName }}
{{- end }}

{{/* Checks of several values together, which the schema cannot express. */}}
{{- define "holdfast.check" -}}
{{- $socket := printf "%s/csi.sock" (include "holdfast.pluginDir" .) }}
{{- if gt (len $socket) 107 }}
{{- fail (printf "kubeletPath is too long: the socket '%s' has %d characters, and the maximum is 107" $socket (len $socket)) }}
{{- end }}
{{- $pools := dict }}
{{- $file := dict }}
{{- range .Values.pools }}
{{- if hasKey $pools .name }}
{{- fail (printf "pools: two pools are named '%s'" .name) }}
{{- end }}
{{- $_ := set $pools .name . }}
{{- if not .rbd }}{{ $file = . }}{{ end }}
{{- end }}
{{- include "holdfast.nodeGroups.check" . }}
{{- range .Values.nodeGroups }}
{{- range .pools }}
{{- $_ := set $pools .name . }}
{{- $file = . }}
{{- end }}
{{- end }}
{{- include "holdfast.storageClasses.check" . }}
{{- range .Values.storageClasses }}
{{- $class := . }}
{{- $pool := $file }}
{{- $named := dig "parameters" "pool" "" . }}
{{- range $index, $name := splitList "," (nospace $named) | compact }}
{{- if not (hasKey $pools $name) }}
{{- fail (printf "StorageClass '%s' names the pool '%s', which is not among pools" $class.name $name) }}
{{- end }}
{{- $other := get $pools $name }}
{{- if and $index (ne (empty $other.rbd) (empty $pool.rbd)) }}
{{- fail (printf "StorageClass '%s' names pools of nodes and in Ceph together ('%s'): name pools of one sort" $class.name $named) }}
{{- end }}
{{- $pool = $other }}
{{- end }}
{{- if not $pool }}
{{- fail (printf "StorageClass '%s' names no pool, and all pools are in Ceph: such a pool must be named (parameters.pool)" .name) }}
{{- end }}
{{- if and $pool.rbd (ne (dig "parameters" "provisioning" "thick" .) "thin") }}
{{- fail (printf "StorageClass '%s' uses the pool '%s' in Ceph, which supports thin volumes only: parameters.provisioning must be thin" .name $pool.name) }}
{{- end }}
{{- if and .secrets (not $pool.rbd) }}
{{- fail (printf "StorageClass '%s' names secrets, but its pool '%s' is of files and needs none" .name $pool.name) }}
{{- end }}
{{- if and .secrets $pool.controller }}
{{- fail (printf "StorageClass '%s' names secrets, but its pool '%s' has users of its own (controller, node), which would be used instead: remove one or the other" .name $pool.name) }}
{{- end }}
{{- if and $pool.rbd (not $pool.controller) (not .secrets) }}
{{- fail (printf "StorageClass '%s' names no secrets, and its pool '%s' has no users (controller, node): one of them must name the Ceph users" .name $pool.name) }}
{{- end }}
{{- if and .secrets (eq "WaitForFirstConsumer" (default "" .volumeBindingMode)) }}
{{- fail (printf "StorageClass '%s' names secrets and waits for its first consumer: the scheduler would wait for the pool's capacity, which the driver cannot query before a call brings secrets; leave out volumeBindingMode" .name) }}
{{- end }}
{{- end }}
{{- include "holdfast.snapshots.check" . }}
{{- if and .Values.metrics.volumes (not .Values.metrics.enabled) }}
{{- fail "metrics.volumes needs metrics.enabled: without it the pods serve no metrics" }}
{{- end }}
{{- range $name := list "podMonitor" "alerts" "dashboard" }}
{{- $object := get $.Values.metrics $name }}
{{- if and $object.enabled (not $.Values.metrics.enabled) }}
{{- fail (printf "metrics.%s.enabled needs metrics.enabled: without it the pods serve no metrics" $name) }}
{{- end }}
{{- range $label, $text := $object.labels }}
{{- if regexMatch "^(app\\.kubernetes\\.io|helm\\.sh)/" $label }}
{{- fail (printf "metrics.%s.labels: the chart itself sets the label '%s'" $name $label) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $component := list "controller" "node" }}
{{- range $label, $text := (get $.Values $component).podLabels }}
{{- if regexMatch "^(app\\.kubernetes\\.io|helm\\.sh|holdfast\\.dev)/" $label }}
{{- fail (printf "%s.podLabels: the chart itself sets labels such as '%s'" $component $label) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and (include "holdfast.inCeph" .) (eq .Values.provisioning "nodes") }}
{{- fail "provisioning is nodes, but the controller creates the volumes of pools in Ceph: set provisioning to controller" }}
{{- end }}
{{- end }}
