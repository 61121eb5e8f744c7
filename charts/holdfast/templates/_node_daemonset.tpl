{{/* The DaemonSet of a group of nodes. Takes the chart's scope, with the pools of the group, and the group. */}}
{{- define "holdfast.nodeDaemonSet" }}
{{- $group := index . 1 }}
{{- with index . 0 }}
{{- $onNodes := eq .Values.provisioning "nodes" }}
{{- $socket := printf "%s/csi.sock" (include "holdfast.pluginDir" .) }}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ include "holdfast.node" . }}{{ with $group.name }}-{{ . }}{{ end }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.labels" . | nindent 4 }}
    app.kubernetes.io/component: node
    {{- with $group.name }}
    holdfast.dev/node-group: {{ . }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "holdfast.selector" . | nindent 6 }}
      app.kubernetes.io/component: node
      {{- with $group.name }}
      holdfast.dev/node-group: {{ . }}
      {{- end }}
  updateStrategy:
    type: {{ .Values.node.updateStrategy }}
    {{- if eq .Values.node.updateStrategy "RollingUpdate" }}
    rollingUpdate: {maxUnavailable: {{ .Values.node.maxUnavailable }}}
    {{- end }}
  template:
    metadata:
      labels:
        {{- include "holdfast.selector" . | nindent 8 }}
        app.kubernetes.io/component: node
        {{- with $group.name }}
        holdfast.dev/node-group: {{ . }}
        {{- end }}
        {{- with .Values.node.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.node.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "holdfast.node" . }}
      # The driver does not use the cluster's API. Containers that need a token mount it explicitly.
      automountServiceAccountToken: false
      priorityClassName: {{ .Values.node.priorityClassName | quote }}
      terminationGracePeriodSeconds: 30
      {{- if include "holdfast.inCeph" . }}
      # The kernel's connections to Ceph belong to the network namespace in which they were made, and
      # end with it.
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
      {{- end }}
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        runAsUser: 0
        runAsGroup: 0
        seccompProfile: {type: RuntimeDefault}
      containers:
        {{- include "holdfast.nodeDriver" (list . $socket) | nindent 8 }}
        {{- if .Values.node.sidecars }}
        {{- include "holdfast.nodeSidecars" (list . $socket) | nindent 8 }}
        {{- end }}
        {{- if $onNodes }}
        {{- include "holdfast.provisioner" . | nindent 8 }}
          volumeMounts:
            - {name: plugin, mountPath: /csi}
            - {name: cluster, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
        {{- end }}
      volumes:
        - name: kubelet
          hostPath: {path: {{ .Values.kubeletPath }}, type: Directory}
        - name: devices
          hostPath: {path: /dev, type: Directory}
        - name: sys
          hostPath: {path: /sys, type: Directory}
        - name: state
          hostPath: {path: {{ .Values.stateDir }}, type: DirectoryOrCreate}
        {{- range include "holdfast.poolDirectories" . | fromJsonArray }}
        - name: {{ .name }}
          hostPath: {path: {{ .path }}, type: {{ .type }}}
        {{- end }}
        {{- with include "holdfast.ceph.volumes" (list . "node") | trim }}
        {{- . | nindent 8 }}
        {{- end }}
        - name: link
          secret:
            secretName: {{ include "holdfast.link.nodeSecret" . | quote }}
            defaultMode: 0400
        - name: token
          projected:
            defaultMode: 0400
            sources:
              - serviceAccountToken:
                  path: token
                  audience: {{ include "holdfast.link.audience" . }}
                  expirationSeconds: 3600
        {{- if or .Values.node.sidecars $onNodes }}
        - name: plugin
          hostPath: {path: {{ include "holdfast.pluginDir" . }}, type: DirectoryOrCreate}
        {{- end }}
        {{- if .Values.node.sidecars }}
        - name: registration
          hostPath: {path: {{ .Values.kubeletPath }}/plugins_registry, type: Directory}
        {{- end }}
        {{- if $onNodes }}
        - name: cluster
          projected:
            sources:
              - serviceAccountToken: {path: token, expirationSeconds: 3600}
              - configMap:
                  name: kube-root-ca.crt
                  items: [{key: ca.crt, path: ca.crt}]
        {{- end }}
      {{- with merge (deepCopy $group.nodeSelector) .Values.node.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.node.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with include "holdfast.nodeGroups.affinity" (list . $group) }}
      affinity:
        {{- . | nindent 8 }}
      {{- end }}
{{- end }}
{{- end }}
