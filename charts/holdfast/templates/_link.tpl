{{/* The host that nodes dial and that the controller's certificate names. */}}
{{- define "holdfast.link.host" -}}
{{ include "holdfast.controller" . }}.{{ .Release.Namespace }}.svc
{{- end }}

{{/* The audience of the node's token. */}}
{{- define "holdfast.link.audience" -}}
link.{{ .Values.driverName }}
{{- end }}

{{- define "holdfast.link.controllerSecret" -}}
{{- if eq .Values.link.certificates "secret" -}}
{{ required "link.certificates is secret: link.controllerSecret must name the Secret" .Values.link.controllerSecret }}
{{- else -}}
{{ include "holdfast.prefix" . }}-link-controller
{{- end }}
{{- end }}

{{- define "holdfast.link.nodeSecret" -}}
{{- if eq .Values.link.certificates "secret" -}}
{{ required "link.certificates is secret: link.nodeSecret must name the Secret" .Values.link.nodeSecret }}
{{- else -}}
{{ include "holdfast.prefix" . }}-link-node
{{- end }}
{{- end }}
