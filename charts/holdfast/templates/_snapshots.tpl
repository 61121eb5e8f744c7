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

{{/* Checks of the classes of snapshots, which the schema cannot express. */}}
{{- define "holdfast.snapshots.check" -}}
{{- $takesSecrets := false }}
{{- range .Values.pools }}
{{- if and .rbd (not .controller) }}{{ $takesSecrets = true }}{{ end }}
{{- end }}
{{- $names := dict }}
{{- $default := "" }}
{{- range .Values.snapshotClasses }}
{{- if hasKey $names .name }}
{{- fail (printf "snapshotClasses: two classes are named '%s'" .name) }}
{{- end }}
{{- $_ := set $names .name true }}
{{- if and .default $default }}
{{- fail (printf "snapshotClasses: both '%s' and '%s' are the default, and Kubernetes accepts one default for each driver" $default .name) }}
{{- end }}
{{- if .default }}{{ $default = .name }}{{ end }}
{{- $class := . }}
{{- range $label, $value := .labels }}
{{- if regexMatch "^(app\\.kubernetes\\.io|helm\\.sh)/" $label }}
{{- fail (printf "VolumeSnapshotClass '%s': the chart itself sets the label '%s'" $class.name $label) }}
{{- end }}
{{- end }}
{{- if hasKey (.annotations | default dict) "snapshot.storage.kubernetes.io/is-default-class" }}
{{- fail (printf "VolumeSnapshotClass '%s': set default instead of the annotation 'snapshot.storage.kubernetes.io/is-default-class'" .name) }}
{{- end }}
{{- if and .secrets (not $takesSecrets) }}
{{- fail (printf "VolumeSnapshotClass '%s' names secrets, but every pool in Ceph has users of its own (controller, node) and pools of files need none" .name) }}
{{- end }}
{{- end }}
{{- end }}
