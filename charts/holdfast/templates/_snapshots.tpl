{{/* The group and version of the API of snapshots. */}}
{{- define "holdfast.snapshots.api" -}}
snapshot.storage.k8s.io/v1
{{- end }}

{{/* Not empty if snapshots are on. */}}
{{- define "holdfast.snapshots" -}}
{{- $enabled := toString .Values.snapshots.enabled }}
{{- $kind := printf "%s/VolumeSnapshot" (include "holdfast.snapshots.api" .) }}
{{- if or (eq $enabled "true") (and (eq $enabled "auto") (.Capabilities.APIVersions.Has $kind)) }}yes{{ end }}
{{- end }}

{{/* The same of snapshots of several volumes. */}}
{{- define "holdfast.groups.api" -}}
groupsnapshot.storage.k8s.io/v1
{{- end }}

{{/* Not empty if group snapshots are on. */}}
{{- define "holdfast.groups" -}}
{{- if include "holdfast.snapshots" . }}
{{- $enabled := toString .Values.snapshots.groups }}
{{- $kind := printf "%s/VolumeGroupSnapshot" (include "holdfast.groups.api" .) }}
{{- if or (eq $enabled "true") (and (eq $enabled "auto") (.Capabilities.APIVersions.Has $kind)) }}yes{{ end }}
{{- end }}
{{- end }}

{{/* Checks of classes of snapshots that the schema cannot express. Call with the classes, the name of
their value, their kind, and the annotation of a default. */}}
{{- define "holdfast.snapshots.checkClasses" -}}
{{- $value := index . 1 }}
{{- $kind := index . 2 }}
{{- $annotation := index . 3 }}
{{- $names := dict }}
{{- $default := "" }}
{{- range $class := index . 0 }}
{{- if hasKey $names $class.name }}
{{- fail (printf "%s: two classes are named '%s'" $value $class.name) }}
{{- end }}
{{- $_ := set $names $class.name true }}
{{- if and $class.default $default }}
{{- fail (printf "%s: both '%s' and '%s' are the default, and Kubernetes accepts one default for each driver" $value $default $class.name) }}
{{- end }}
{{- if $class.default }}{{ $default = $class.name }}{{ end }}
{{- range $label, $text := $class.labels }}
{{- if regexMatch "^(app\\.kubernetes\\.io|helm\\.sh)/" $label }}
{{- fail (printf "%s '%s': the chart itself sets the label '%s'" $kind $class.name $label) }}
{{- end }}
{{- end }}
{{- if hasKey ($class.annotations | default dict) $annotation }}
{{- fail (printf "%s '%s': set default instead of the annotation '%s'" $kind $class.name $annotation) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "holdfast.snapshots.check" -}}
{{- include "holdfast.snapshots.checkClasses" (list .Values.snapshotClasses "snapshotClasses" "VolumeSnapshotClass" "snapshot.storage.kubernetes.io/is-default-class") }}
{{- include "holdfast.snapshots.checkClasses" (list .Values.groupSnapshotClasses "groupSnapshotClasses" "VolumeGroupSnapshotClass" "groupsnapshot.storage.kubernetes.io/is-default-class") }}
{{- $takesSecrets := false }}
{{- range .Values.pools }}
{{- if and .rbd (not .controller) }}{{ $takesSecrets = true }}{{ end }}
{{- end }}
{{- range .Values.snapshotClasses }}
{{- if and .secrets (not $takesSecrets) }}
{{- fail (printf "VolumeSnapshotClass '%s' names secrets, but every pool in Ceph has users of its own (controller, node) and pools of files need none" .name) }}
{{- end }}
{{- end }}
{{- end }}
