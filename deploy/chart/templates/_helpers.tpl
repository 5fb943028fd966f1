{{/* Names, labels, and what several templates read. */}}

{{- define "bayplan.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains .Chart.Name .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name }}
{{- end -}}
{{- end -}}

{{- define "bayplan.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "bayplan.labels" -}}
{{ include "bayplan.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "bayplan.account" -}}
{{ .Values.serviceAccount.name | default (include "bayplan.fullname" .) }}
{{- end -}}

{{/* The account in whose name policies write, as NAMESPACE/NAME. */}}
{{- define "bayplan.policyAccount" -}}
{{ .Values.policies.account.existing | default (printf "%s/%s-policies" .Release.Namespace (include "bayplan.fullname" .)) }}
{{- end -}}

{{/* The namespaces that policies are read from, as JSON. */}}
{{- define "bayplan.policyNamespaces" -}}
{{- if eq .Values.policies.from "files" -}}
[]
{{- else -}}
{{ concat (list .Values.policies.namespace) .Values.policies.moreNamespaces | uniq | toJson }}
{{- end -}}
{{- end -}}

{{/* The scheduler's configuration: the chart's, with `configuration` over it. */}}
{{- define "bayplan.configuration" -}}
{{- $profiles := list (dict "schedulerName" .Values.schedulerName) -}}
{{- $lease := dict "leaderElect" true "resourceName" .Values.schedulerName "resourceNamespace" .Release.Namespace -}}
{{- if eq .Values.way "instead" -}}
{{- $profiles = prepend $profiles (dict "schedulerName" "default-scheduler") -}}
{{- $lease = dict "leaderElect" true "resourceName" "kube-scheduler" "resourceNamespace" "kube-system" -}}
{{- end -}}
{{- $ours := dict "apiVersion" "kubescheduler.config.k8s.io/v1" "kind" "KubeSchedulerConfiguration" -}}
{{- $_ := set $ours "leaderElection" $lease -}}
{{- $_ := set $ours "profiles" $profiles -}}
{{ mergeOverwrite $ours (deepCopy (.Values.configuration | default dict)) | toYaml }}
{{- end -}}

{{/* The names that pods choose, as JSON. */}}
{{- define "bayplan.schedulerNames" -}}
{{- $names := list -}}
{{- if eq .Values.way "extender" -}}
{{- $names = list "default-scheduler" -}}
{{- else -}}
{{- range (include "bayplan.configuration" . | fromYaml).profiles -}}
{{- $names = append $names (.schedulerName | default "default-scheduler") -}}
{{- end -}}
{{- end -}}
{{ $names | toJson }}
{{- end -}}

{{- define "bayplan.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The Secret with the certificate of the extender. */}}
{{- define "bayplan.webhookSecret" -}}
{{- if .Values.webhook.certificate.secret -}}
{{ .Values.webhook.certificate.secret }}
{{- else -}}
{{ include "bayplan.fullname" . }}-webhook
{{- end -}}
{{- end -}}

{{- define "bayplan.extenderSecret" -}}
{{- if eq .Values.extender.certificate.from "secret" -}}
{{ .Values.extender.certificate.secret }}
{{- else -}}
{{ include "bayplan.fullname" . }}-extender
{{- end -}}
{{- end -}}

{{- define "bayplan.policyFiles" -}}
{{ .Values.policies.existingConfigMap | default (printf "%s-policy-files" (include "bayplan.fullname" .)) }}
{{- end -}}

{{/* The users that bind pods, as a list in CEL. */}}
{{- define "bayplan.binders" -}}
{{- $users := list -}}
{{- if or (ne .Values.way "extender") .Values.extender.bind -}}
{{- $users = append $users (printf "system:serviceaccount:%s:%s" .Release.Namespace (include "bayplan.account" .)) -}}
{{- end -}}
{{- if eq .Values.way "extender" -}}
{{- $users = append $users .Values.admission.kubeSchedulerUser -}}
{{- end -}}
['{{ join "', '" $users }}']
{{- end -}}
