{{/* Errors that a schema cannot say. */}}
{{- define "kopf.check" -}}
{{- if eq .Values.mode "run" -}}
{{- if not .Values.operator.modules }}{{ fail "operator.modules: name the module of the operator in a registry: oci://ghcr.io/me/operator:v1" }}{{ end -}}
{{- if and .Values.operator.clusterwide .Values.operator.namespaces }}{{ fail "either operator.clusterwide or operator.namespaces can be set, not both" }}{{ end -}}
{{- if and .Values.shared .Values.operator.peering }}{{ fail "either shared or operator.peering can be set, not both: replicas that share the objects take part in no peering" }}{{ end -}}
{{- if and .Values.rbac.create (not .Values.rules.cluster) (not .Values.rules.namespaces) }}{{ fail "rules: the operator has no rights: print them by `kopf manifest MODULE --values`, or set rbac.create=false if its roles exist" }}{{ end -}}
{{- with .Values.host }}{{ if or .namespaces .allowRegistries .allowPrivateHosts .limits (ne (.identity | default "token") "token") (.admission | default dict).enabled }}{{ fail "host is for mode=serve: one operator has the values of operator" }}{{ end }}{{ end -}}
{{- else -}}
{{- with .Values.operator }}{{ if or .namespaces .clusterwide .peering .allowWanted (.admission | default dict).name }}{{ fail "operator is for mode=run: a host has the values of host, such as host.namespaces" }}{{ end }}{{ end -}}
{{- if .Values.operator.modules }}{{ fail "operator.modules is for mode=run: a host gets its operators by WasmOperators" }}{{ end -}}
{{- if or .Values.rules.cluster .Values.rules.namespaces }}{{ fail "rules is for mode=run: a host has its own rules, and its operators those of their service accounts" }}{{ end -}}
{{- end -}}
{{- end -}}
