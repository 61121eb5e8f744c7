{{/* A ClusterRole and its binding. Takes the chart's scope, its purpose, a ServiceAccount, and the
rules as YAML. */}}
{{- define "holdfast.clusterRole" -}}
{{- $scope := index . 0 }}
{{- $name := printf "%s-%s" (include "holdfast.prefix" $scope) (index . 1) }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}
  labels:
    {{- include "holdfast.labels" $scope | nindent 4 }}
rules:
  {{- index . 3 | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name }}
  labels:
    {{- include "holdfast.labels" $scope | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ index . 2 }}
    namespace: {{ $scope.Release.Namespace }}
{{- end }}

{{- define "holdfast.rules.events" -}}
- apiGroups: [""]
  resources: [events]
  verbs: [list, watch, create, update, patch]
{{- end }}
