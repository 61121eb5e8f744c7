{{/* The groups of nodes that run the driver, as JSON: name, pools, labels of the nodes (nodeSelector), and for each
of the labels that other groups have, that this group's nodes do not (excluded). The first one has no name: the
nodes that are in no group. There is none if no pool is left for it. */}}
{{- define "holdfast.nodeGroups" -}}
{{- $shared := list }}
{{- range .Values.pools }}{{ if .rbd }}{{ $shared = append $shared . }}{{ end }}{{ end }}
{{- $all := list }}
{{- $before := list }}
{{- range .Values.nodeGroups }}
{{- $all = append $all (dict "name" .name "pools" (concat .pools $shared) "nodeSelector" .nodeSelector "excluded" $before) }}
{{- $before = append $before .nodeSelector }}
{{- end }}
{{- if .Values.pools }}
{{- $all = prepend $all (dict "name" "" "pools" .Values.pools "nodeSelector" dict "excluded" $before) }}
{{- end }}
{{- toJson $all }}
{{- end }}

{{- define "holdfast.nodeGroups.check" -}}
{{- $seen := dict }}
{{- range $group := .Values.nodeGroups }}
{{- if hasKey $seen $group.name }}
{{- fail (printf "nodeGroups: two groups are named '%s'" $group.name) }}
{{- end }}
{{- $_ := set $seen $group.name true }}
{{- $pools := dict }}
{{- range $group.pools }}
{{- if .rbd }}
{{- fail (printf "nodeGroups: pool '%s' of group '%s' is in Ceph: name it in pools, because all nodes have it" .name $group.name) }}
{{- end }}
{{- if hasKey $pools .name }}
{{- fail (printf "nodeGroups: two pools of group '%s' are named '%s'" $group.name .name) }}
{{- end }}
{{- $_ := set $pools .name true }}
{{- end }}
{{- range $.Values.pools }}
{{- if and .rbd (hasKey $pools .name) }}
{{- fail (printf "nodeGroups: a pool of group '%s' has the name '%s' of a pool in Ceph, which all nodes have" $group.name .name) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.nodeGroups .Values.node.affinity.nodeAffinity }}
{{- fail "node.affinity.nodeAffinity and nodeGroups cannot be combined: the chart writes the node affinity that keeps the groups apart; use node.nodeSelector" }}
{{- end }}
{{- if not (or .Values.pools .Values.nodeGroups) }}
{{- fail "pools is empty, and there are no nodeGroups: no node would have a pool" }}
{{- end }}
{{- end }}

{{/* The affinity of a group's pods. Takes the chart's scope and the group. */}}
{{- define "holdfast.nodeGroups.affinity" -}}
{{- $affinity := deepCopy (index . 0).Values.node.affinity }}
{{- $expressions := list }}
{{- range (index . 1).excluded }}
{{- range $key, $value := . }}
{{- $expressions = append $expressions (dict "key" $key "operator" "NotIn" "values" (list $value)) }}
{{- end }}
{{- end }}
{{- if $expressions }}
{{- $terms := list (dict "matchExpressions" $expressions) }}
{{- $_ := set $affinity "nodeAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms)) }}
{{- end }}
{{- with $affinity }}{{ toYaml . }}{{ end }}
{{- end }}
