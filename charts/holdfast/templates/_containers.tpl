{{/* The security context of a container that needs nothing from its host. */}}
{{- define "holdfast.unprivileged" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* The security context of a pod whose containers need no privileges. OpenShift chooses the users itself,
and refuses pods that name others. */}}
{{- define "holdfast.unprivilegedPod" -}}
runAsNonRoot: true
{{- if not .Values.openshift }}
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
{{- end }}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* The arguments that values add to the chart's own. Takes them and their indentation. */}}
{{- define "holdfast.extraArgs" -}}
{{- $indentation := repeat (int (index . 1)) " " }}
{{- range index . 0 }}
{{ $indentation }}- {{ . | quote }}
{{- end }}
{{- end }}

{{/* csi-provisioner, for both places where it may run. The socket is mounted at /csi. */}}
{{- define "holdfast.provisioner" -}}
- name: provisioner
  image: {{ include "holdfast.mirrored" (list . .Values.provisioner.image) | quote }}
  args:
    - --csi-address=/csi/csi.sock
    # The call includes the allocation of a thick volume.
    - --timeout=60s
    # Names of claims and volumes, which `holdfast volumes` shows.
    - --extra-create-metadata
    # CreateVolume gets the one node that the scheduler chose, not the whole cluster.
    - --strict-topology
    - --enable-capacity
    # The Deployment (through a ReplicaSet) or DaemonSet owns the capacity objects: they outlive a pod and
    # are deleted with the installation.
    - --capacity-ownerref-level={{ ternary 1 2 (eq .Values.provisioning "nodes") }}
    - --capacity-poll-interval={{ .Values.provisioner.capacityPollInterval }}
    {{- if eq .Values.provisioning "nodes" }}
    - --node-deployment
    {{- else }}
    - --leader-election
    # Enough for some hundred nodes at once; with the defaults it writes one object per second.
    - --capacity-threads=8
    - --kube-api-capacity-qps=50
    - --kube-api-capacity-burst=100
    - --kube-api-qps=50
    - --kube-api-burst=100
    {{- end }}
    {{- include "holdfast.extraArgs" (list .Values.provisioner.extraArgs 4) }}
  env:
    - name: NAMESPACE
      valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
    - name: POD_NAME
      valueFrom: {fieldRef: {fieldPath: metadata.name}}
    {{- if eq .Values.provisioning "nodes" }}
    - name: NODE_NAME
      valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
    {{- end }}
  securityContext:
    {{- include "holdfast.unprivileged" . | nindent 4 }}
  resources:
    {{- toYaml .Values.provisioner.resources | nindent 4 }}
{{- end }}

{{/* Probes of a driver that serves health itself. Takes the liveness probe and the readiness probe. */}}
{{- define "holdfast.probes" -}}
livenessProbe:
  httpGet: {{ index . 0 }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {{ index . 1 }}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}
