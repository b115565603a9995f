{{- define "kopf.name" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "kopf.account" -}}
{{- .Values.serviceAccount.name | default (include "kopf.name" .) -}}
{{- end -}}

{{/* Names of objects of the cluster are unique in it. */}}
{{- define "kopf.clusterName" -}}
{{- if eq .Values.mode "serve" }}{{ include "kopf.name" . }}{{ else }}{{ .Release.Namespace }}:{{ include "kopf.name" . }}{{ end -}}
{{- end -}}

{{- define "kopf.selector" -}}
app.kubernetes.io/name: {{ include "kopf.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "kopf.labels" -}}
{{ include "kopf.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: kopf
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "kopf.metadata" -}}
name: {{ include "kopf.name" . | quote }}
namespace: {{ .Release.Namespace | quote }}
labels: {{- include "kopf.labels" . | nindent 2 }}
{{- end -}}

{{- define "kopf.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Whether API servers connect to the pod. */}}
{{- define "kopf.webhooks" -}}
{{- if eq .Values.mode "serve" }}{{ if .Values.host.admission.enabled }}true{{ end }}{{ else if .Values.operator.admission.name }}true{{ end -}}
{{- end -}}

{{- define "kopf.arguments" -}}
{{- if eq .Values.mode "serve" }}{{ include "kopf.arguments.serve" . }}{{ else }}{{ include "kopf.arguments.run" . }}{{ end }}
{{- if .Values.registryCredentials }}
- --docker-config-json-path=/etc/kopf/registries/.dockerconfigjson
{{- end }}
- --log-format=json
{{- with .Values.traces }}
- {{ printf "--traces=%s" . | quote }}
{{- end }}
{{- range .Values.args }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "kopf.arguments.run" -}}
{{- $name := include "kopf.name" . -}}
- run
{{- range .Values.operator.modules }}
- {{ . | quote }}
{{- end }}
{{- if .Values.operator.clusterwide }}
- --all-namespaces
{{- else }}
{{- range .Values.operator.namespaces | default (list .Release.Namespace) }}
- {{ printf "--namespace=%s" . | quote }}
{{- end }}
{{- end }}
{{- if .Values.operator.peering }}
- {{ printf "--peering=%s" .Values.operator.peering | quote }}
{{- else }}
- --standalone
{{- end }}
{{- if .Values.operator.allowWanted }}
- --allow-wanted
{{- end }}
{{- $secret := "" }}
{{- if gt (int .Values.replicas) 1 }}
- --replicas={{ ternary "shared" "leader" .Values.shared }}
- {{ printf "--lease=%s/%s" .Release.Namespace $name | quote }}
{{- $secret = printf ",\"secret\":{\"namespace\":%q,\"name\":\"%s-webhooks\"}" .Release.Namespace $name }}
{{- end }}
{{- with .Values.operator.admission.name }}
- {{ printf "--admission-managed=%s" . | quote }}
- {{ printf "--admission-server={\"type\":\"server\",\"port\":9443,\"service\":{\"namespace\":%q,\"name\":%q,\"port\":443}%s}" $.Release.Namespace $name $secret | quote }}
{{- end }}
- --liveness=http://0.0.0.0:8080/healthz
- --listen=0.0.0.0:8081
{{- end -}}

{{- define "kopf.arguments.serve" -}}
{{- $name := include "kopf.name" . -}}
- serve
- {{ printf "--identity=%s" .Values.host.identity | quote }}
{{- range .Values.host.namespaces }}
- {{ printf "--namespace=%s" . | quote }}
{{- end }}
{{- range .Values.host.allowRegistries }}
- {{ printf "--allow-registry=%s" . | quote }}
{{- end }}
{{- range .Values.host.allowPrivateHosts }}
- {{ printf "--allow-private-host=%s" . | quote }}
{{- end }}
{{- range $limit, $value := .Values.host.limits }}
- {{ printf "--limit=%s=%s" $limit (kindIs "string" $value | ternary $value (toJson $value)) | quote }}
{{- end }}
{{- if .Values.host.admission.enabled }}
- {{ printf "--admission-server={\"type\":\"server\",\"port\":9443,\"service\":{\"namespace\":%q,\"name\":%q,\"port\":443},\"secret\":{\"namespace\":%[1]q,\"name\":\"%s-admission\"}}" .Release.Namespace $name $name | quote }}
{{- end }}
{{- if gt (int .Values.replicas) 1 }}
- --replicas={{ ternary "shared" "leader" .Values.shared }}
- {{ printf "--lease=%s/%s" .Release.Namespace $name | quote }}
{{- end }}
- --listen=127.0.0.1:8080
- --listen=0.0.0.0:8443
{{- end -}}
