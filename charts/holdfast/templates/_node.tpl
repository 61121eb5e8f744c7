{{/* The address on which kubelet queries the health of a node's pod. With the host's network, any other
address could be reached from the whole network. */}}
{{- define "holdfast.node.probed" -}}
{{- if include "holdfast.inCeph" . }}127.0.0.1{{ end }}
{{- end }}

{{/* The HTTP probe. Takes the chart's scope, a path and a port. */}}
{{- define "holdfast.node.probe" -}}
{path: {{ index . 1 }}, port: {{ index . 2 }}
{{- with include "holdfast.node.probed" (index . 0) }}, host: {{ . }}{{ end }}}
{{- end }}

{{/* The host's directories that contain file pools, as JSON: name, path and type of each hostPath.
A missing directory of type Directory keeps the whole pod, and so all other pools, from starting.
Therefore the parent directory is mounted if a pool's own directory may be missing, unless the parent is
the root or contains another mount of the pod. */}}
{{- define "holdfast.poolDirectories" -}}
{{- $root := . }}
{{- $seen := dict }}
{{- $all := list }}
{{- range $pool := .Values.pools }}
{{- if not $pool.rbd }}
{{- $path := $pool.path }}
{{- $type := ternary "DirectoryOrCreate" "Directory" (default false $pool.create) }}
{{- if not $pool.create }}
{{- $above := dir $pool.path }}
{{- $alone := ne $above "/" }}
{{- range list $root.Values.kubeletPath $root.Values.stateDir "/dev" "/sys" "/etc/holdfast" "/var/run/holdfast" }}
{{- if hasPrefix (printf "%s/" $above) (printf "%s/" .) }}{{ $alone = false }}{{ end }}
{{- end }}
{{- if $alone }}
{{- $path = $above }}
{{- $type = "DirectoryOrCreate" }}
{{- end }}
{{- end }}
{{- if not (hasKey $seen $path) }}
{{- $_ := set $seen $path true }}
{{- $all = append $all (dict "name" (printf "pool-%s" $pool.name) "path" $path "type" $type) }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $all }}
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
    - --copy-rate={{ .Values.node.copyRate }}
    {{- if ne (toString .Values.node.trimInterval) "0" }}
    - --trim-interval={{ .Values.node.trimInterval }}
    {{- end }}
    {{- range $index, $key := $topologyKeys }}
    - --topology={{ $key }}=$(TOPOLOGY_{{ $index }})
    {{- end }}
    - --link-controller={{ include "holdfast.link.host" . }}:{{ .Values.link.port }}
    - --link-tls=/etc/holdfast/link
    - --link-token=/var/run/holdfast/token/token
    {{- if not .Values.node.sidecars }}
    - --kubelet-registration-dir={{ .Values.kubeletPath }}/plugins_registry
    {{- end }}
    - --health-address={{ include "holdfast.node.probed" . }}:9808
    {{- if .Values.metrics.enabled }}
    - --metrics-address=:9809
    {{- if .Values.metrics.volumes }}
    - --volume-metrics
    {{- end }}
    {{- end }}
    {{- include "holdfast.extraArgs" (list .Values.node.extraArgs 4) }}
  env:
    # Also for what `kubectl exec` runs here.
    - {name: CSI_ENDPOINT, value: {{ printf "unix://%s" $socket | quote }}}
    - name: NODE_NAME
      valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
    {{- if $topologyKeys }}
    # Kubernetes copies the labels for zone and region from a node to its pods. Empty without a label.
    {{- end }}
    {{- range $index, $key := $topologyKeys }}
    - name: TOPOLOGY_{{ $index }}
      valueFrom: {fieldRef: {fieldPath: "metadata.labels['{{ $key }}']"}}
    {{- end }}
    {{- with .Values.node.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - {name: health, containerPort: 9808}
    {{- if .Values.metrics.enabled }}
    - {name: metrics, containerPort: 9809}
    {{- end }}
  # A driver that answers is alive, even without any of its pools. A restart would not bring a disk
  # back, and pods could not be removed in the meantime.
  {{- include "holdfast.probes" (list (include "holdfast.node.probe" (list . "/healthz" "health")) (include "holdfast.node.probe" (list . "/readyz" "health"))) | nindent 2 }}
  securityContext:
    # Kubernetes requires this for Bidirectional mounts; docs/security.md lists the privileges in use.
    privileged: true
    readOnlyRootFilesystem: true
  resources:
    {{- toYaml .Values.node.resources | nindent 4 }}
  volumeMounts:
    # At the same path as on the host: kubelet names paths below it.
    - {name: kubelet, mountPath: {{ .Values.kubeletPath }}, mountPropagation: Bidirectional}
    - {name: devices, mountPath: /dev}
    # A container's own /sys is read-only if its pod's sandbox has a read-only /sys.
    - {name: sys, mountPath: /sys}
    - {name: state, mountPath: {{ .Values.stateDir }}}
    {{- range include "holdfast.poolDirectories" . | fromJsonArray }}
    # A disk that is mounted there later becomes visible.
    - {name: {{ .name }}, mountPath: {{ .path }}, mountPropagation: HostToContainer}
    {{- end }}
    {{- with include "holdfast.ceph.mounts" (list . "node") | trim }}
    {{- . | nindent 4 }}
    {{- end }}
    - {name: link, mountPath: /etc/holdfast/link, readOnly: true}
    - {name: token, mountPath: /var/run/holdfast/token, readOnly: true}
{{- end }}
{{- end }}

{{/* What node.sidecars adds. It runs as root, because root owns the socket. */}}
{{- define "holdfast.nodeSidecars" -}}
{{- $socket := index . 1 }}
{{- with index . 0 -}}
- name: registrar
  image: {{ include "holdfast.mirrored" (list . .Values.registrar.image) | quote }}
  args:
    - --csi-address=/csi/csi.sock
    - --kubelet-registration-path={{ $socket }}
    - --http-endpoint={{ include "holdfast.node.probed" . }}:9810
    {{- include "holdfast.extraArgs" (list .Values.registrar.extraArgs 4) }}
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
{{- end }}
{{- end }}
