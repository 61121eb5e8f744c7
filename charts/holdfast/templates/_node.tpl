{{/* The address on which kubelet asks for the health of a node's pod. In the host's network the whole
network would reach another one. */}}
{{- define "holdfast.node.probed" -}}
{{- if include "holdfast.inCeph" . }}127.0.0.1{{ end }}
{{- end }}

{{/* How it asks. Takes the chart's scope, a path and a port. */}}
{{- define "holdfast.node.probe" -}}
{path: {{ index . 1 }}, port: {{ index . 2 }}
{{- with include "holdfast.node.probed" (index . 0) }}, host: {{ . }}{{ end }}}
{{- end }}

{{/* The driver on a node. Takes the chart's scope and the path of the socket. */}}
{{- define "holdfast.nodeDriver" -}}
{{- $socket := index . 1 }}
{{- with index . 0 -}}
{{- $topologyKeys := include "holdfast.topologyKeys" . | splitList " " | compact -}}
- name: holdfast
  image: {{ include "holdfast.image" . | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  args:
    - serve
    - --role={{ ternary "all" "node" (eq .Values.provisioning "nodes") }}
    - --node-id=$(NODE_NAME)
    - --driver-name={{ .Values.driverName }}
    - --log-level={{ .Values.logLevel }}
    - --endpoint=unix://{{ $socket }}
    - --state-dir={{ .Values.stateDir }}
    {{- range .Values.pools }}
    - {{ printf "--pool=%s" (include "holdfast.pool" (list . "node")) | quote }}
    {{- end }}
    {{- if .Values.attachRequired }}
    - --attach
    {{- end }}
    {{- if .Values.node.maxVolumes }}
    - --max-volumes={{ .Values.node.maxVolumes }}
    {{- end }}
    {{- range $index, $key := $topologyKeys }}
    - --topology={{ $key }}=$(TOPOLOGY_{{ $index }})
    {{- end }}
    - --link-controller={{ include "holdfast.link.host" . }}:{{ .Values.link.port }}
    - --link-tls=/etc/holdfast/link
    - --link-token=/var/run/holdfast/token/token
    {{- if not .Values.node.sidecars }}
    - --kubelet-registration-dir={{ .Values.kubeletPath }}/plugins_registry
    - --health-address={{ include "holdfast.node.probed" . }}:9808
    {{- end }}
    {{- if .Values.metrics.enabled }}
    - --metrics-address=:9809
    {{- end }}
  env:
    - name: NODE_NAME
      valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
    {{- if $topologyKeys }}
    # Kubernetes gives a pod its node's labels of zone and region; without a label this is empty.
    {{- end }}
    {{- range $index, $key := $topologyKeys }}
    - name: TOPOLOGY_{{ $index }}
      valueFrom: {fieldRef: {fieldPath: "metadata.labels['{{ $key }}']"}}
    {{- end }}
  ports:
    - {name: health, containerPort: 9808}
    {{- if .Values.metrics.enabled }}
    - {name: metrics, containerPort: 9809}
    {{- end }}
  {{- if .Values.node.sidecars }}
  # livenessprobe answers 500 until the pools are recovered, which may take a while.
  startupProbe:
    httpGet: {{ include "holdfast.node.probe" (list . "/healthz" "health") }}
    periodSeconds: 5
    timeoutSeconds: 5
    failureThreshold: 120
  livenessProbe:
    httpGet: {{ include "holdfast.node.probe" (list . "/healthz" "health") }}
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 6
  {{- else }}
  {{- include "holdfast.probes" (list (include "holdfast.node.probe" (list . "/healthz" "health")) (include "holdfast.node.probe" (list . "/readyz" "health"))) | nindent 2 }}
  {{- end }}
  securityContext:
    # Kubernetes allows Bidirectional mounts only with it; docs/security.md lists what is used.
    privileged: true
    readOnlyRootFilesystem: true
  resources:
    {{- toYaml .Values.node.resources | nindent 4 }}
  volumeMounts:
    # At the same path as on the host: kubelet names paths below it.
    - {name: kubelet, mountPath: {{ .Values.kubeletPath }}, mountPropagation: Bidirectional}
    - {name: devices, mountPath: /dev}
    # A container's own /sys is read-only wherever its pod's first container has it so.
    - {name: sys, mountPath: /sys}
    - {name: state, mountPath: {{ .Values.stateDir }}}
    {{- range .Values.pools }}
    {{- if not .rbd }}
    # A disk that is mounted there later is seen.
    - {name: pool-{{ .name }}, mountPath: {{ .path }}, mountPropagation: HostToContainer}
    {{- end }}
    {{- end }}
    {{- with include "holdfast.ceph.mounts" (list . "node") | trim }}
    {{- . | nindent 4 }}
    {{- end }}
    - {name: link, mountPath: /etc/holdfast/link, readOnly: true}
    - {name: token, mountPath: /var/run/holdfast/token, readOnly: true}
{{- end }}
{{- end }}

{{/* What stands beside the driver by default. The socket is root's, so they run as root. */}}
{{- define "holdfast.nodeSidecars" -}}
{{- $socket := index . 1 }}
{{- with index . 0 -}}
- name: registrar
  image: {{ .Values.registrar.image | quote }}
  args:
    - --csi-address=/csi/csi.sock
    - --kubelet-registration-path={{ $socket }}
    - --http-endpoint={{ include "holdfast.node.probed" . }}:9810
  ports:
    - {name: registration, containerPort: 9810}
  livenessProbe:
    httpGet: {{ include "holdfast.node.probe" (list . "/healthz" "registration") }}
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 6
  securityContext:
    {{- include "holdfast.unprivileged" . | nindent 4 }}
  resources:
    {{- toYaml .Values.registrar.resources | nindent 4 }}
  volumeMounts:
    - {name: plugin, mountPath: /csi}
    - {name: registration, mountPath: /registration}
- name: liveness-probe
  image: {{ .Values.livenessProbe.image | quote }}
  args:
    - --csi-address=/csi/csi.sock
    - --http-endpoint={{ include "holdfast.node.probed" . }}:9808
    - --probe-timeout=3s
  securityContext:
    {{- include "holdfast.unprivileged" . | nindent 4 }}
  resources:
    {{- toYaml .Values.livenessProbe.resources | nindent 4 }}
  volumeMounts:
    - {name: plugin, mountPath: /csi}
{{- end }}
{{- end }}
