{{/* Checks of the StorageClasses' names and metadata. */}}
{{- define "holdfast.storageClasses.check" -}}
{{- $names := dict }}
{{- $default := "" }}
{{- range .Values.storageClasses }}
{{- if hasKey $names .name }}
{{- fail (printf "storageClasses: two classes are named '%s'" .name) }}
{{- end }}
{{- $_ := set $names .name true }}
{{- if and .default $default }}
{{- fail (printf "storageClasses: both '%s' and '%s' are the default, of which a cluster should have one" $default .name) }}
{{- end }}
{{- if .default }}{{ $default = .name }}{{ end }}
{{- if hasKey (.annotations | default dict) "storageclass.kubernetes.io/is-default-class" }}
{{- fail (printf "StorageClass '%s': set default instead of the annotation 'storageclass.kubernetes.io/is-default-class'" .name) }}
{{- end }}
{{- $class := .name }}
{{- range $label, $text := .labels }}
{{- if regexMatch "^(app\\.kubernetes\\.io|helm\\.sh)/" $label }}
{{- fail (printf "StorageClass '%s': the chart itself sets the label '%s'" $class $label) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
