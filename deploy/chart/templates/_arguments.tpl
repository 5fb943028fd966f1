{{/* The arguments of the scheduler or the extender, as YAML. A flag that has its default is left out. */}}
{{- define "bayplan.arguments" -}}
{{- $v := .Values -}}
{{- $port := $v.securePort -}}
{{- $account := include "bayplan.policyAccount" . -}}
{{- if eq $v.way "extender" -}}
- extender
- --listen=0.0.0.0:{{ $v.extender.port }}
- --tls-cert-file=/etc/bayplan-extender/tls.crt
- --tls-private-key-file=/etc/bayplan-extender/tls.key
- --client-ca-file=/etc/bayplan-extender/ca.crt
{{- if $v.extender.bind }}
- --bind
{{- end }}
- --secure-port={{ $port.port }}
{{- else -}}
- run
- --config=/etc/bayplan/config.yaml
{{- with $v.nodes }}
- {{ printf "--nodes=%s" . | quote }}
{{- end }}
{{- with $v.kubernetes }}
- --kubernetes={{ . }}
{{- end }}
{{- if ne (int $port.port) 10259 }}
- --secure-port={{ $port.port }}
{{- end }}
{{- if $port.certificateSecret }}
- --tls-cert-file=/etc/bayplan-port/tls.crt
- --tls-private-key-file=/etc/bayplan-port/tls.key
{{- end }}
{{- if $port.clientCASecret }}
- --client-ca-file=/etc/bayplan-client-ca/ca.crt
{{- end }}
{{- if ne $port.minVersion "VersionTLS12" }}
- --tls-min-version={{ $port.minVersion }}
{{- end }}
{{- with $port.cipherSuites }}
- --tls-cipher-suites={{ join "," . }}
{{- end }}
{{- if ne $account (printf "%s/bayplan-policies" .Release.Namespace) }}
- --policy-service-account={{ $account }}
{{- end }}
{{- with $v.policies.writes }}
- --policy-writes={{ join "," . }}
{{- end }}
{{- with $v.writeStatus }}
- --write-status={{ join "," . }}
{{- end }}
{{- if ($v.webhook).enabled }}
- --admission-listen=0.0.0.0:{{ $v.webhook.port }}
- --admission-cert-file=/etc/bayplan-webhook/tls.crt
- --admission-key-file=/etc/bayplan-webhook/tls.key
{{- if ne $v.webhook.maxNewlyWaiting "10%,20" }}
- --max-newly-waiting={{ $v.webhook.maxNewlyWaiting }}
{{- end }}
{{- end }}
{{- if $v.featureGates }}
{{- $gates := list }}
{{- range $name, $on := $v.featureGates }}
{{- $gates = append $gates (printf "%s=%t" $name $on) }}
{{- end }}
- --feature-gates={{ join "," $gates }}
{{- end }}
{{- end }}
{{- if eq $v.policies.from "files" }}
- --policies=/etc/bayplan-policies
{{- else }}
- --policy-namespaces={{ include "bayplan.policyNamespaces" . | fromJsonArray | join "," }}
{{- end }}
{{- if ne (join "," $v.policies.onInvalid) "wait" }}
- --policy-on-invalid={{ join "," $v.policies.onInvalid }}
{{- end }}
{{- with $v.policies.exemptNamespaces }}
- --exempt-namespaces={{ join "," . }}
{{- end }}
{{- with $v.policies.size }}
- --size={{ . }}
{{- end }}
{{- if not (kindIs "invalid" $v.api.qps) }}
- --kube-api-qps={{ $v.api.qps }}
{{- end }}
{{- if not (kindIs "invalid" $v.api.burst) }}
- --kube-api-burst={{ int $v.api.burst }}
{{- end }}
{{- if ne $v.api.watchMaxAge "3m" }}
- --watch-max-age={{ $v.api.watchMaxAge }}
{{- end }}
{{- if ne $v.api.maxUnauthorized "1m" }}
- --max-unauthorized={{ $v.api.maxUnauthorized }}
{{- end }}
- -v={{ $v.logs.level }}
{{- if $v.logs.modules }}
{{- $modules := list }}
{{- range $name, $level := $v.logs.modules }}
{{- $modules = append $modules (printf "%s=%d" $name (int $level)) }}
{{- end }}
- --vmodule={{ join "," $modules }}
{{- end }}
{{- if ne $v.logs.format "text" }}
- --logging-format={{ $v.logs.format }}
{{- end }}
{{- range $v.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* The files that the arguments name. A read-only volume takes no mount inside, so each has a folder of its own. */}}
{{- define "bayplan.mounts" -}}
{{- $v := .Values -}}
{{- if eq $v.way "extender" -}}
- {name: extender, mountPath: /etc/bayplan-extender, readOnly: true}
{{- else -}}
- {name: config, mountPath: /etc/bayplan, readOnly: true}
{{- if ($v.webhook).enabled }}
- {name: webhook, mountPath: /etc/bayplan-webhook, readOnly: true}
{{- end }}
{{- if $v.securePort.certificateSecret }}
- {name: port, mountPath: /etc/bayplan-port, readOnly: true}
{{- end }}
{{- if $v.securePort.clientCASecret }}
- {name: client-ca, mountPath: /etc/bayplan-client-ca, readOnly: true}
{{- end }}
{{- end }}
{{- if eq $v.policies.from "files" }}
- {name: policies, mountPath: /etc/bayplan-policies, readOnly: true}
{{- end }}
{{- end -}}

{{- define "bayplan.volumes" -}}
{{- $v := .Values -}}
{{- if eq $v.way "extender" -}}
- name: extender
  secret: {secretName: {{ include "bayplan.extenderSecret" . }}}
{{- else -}}
- name: config
  configMap: {name: {{ include "bayplan.fullname" . }}-config}
{{- if ($v.webhook).enabled }}
- name: webhook
  secret: {secretName: {{ include "bayplan.webhookSecret" . }}}
{{- end }}
{{- with $v.securePort.certificateSecret }}
- name: port
  secret: {secretName: {{ . }}}
{{- end }}
{{- with $v.securePort.clientCASecret }}
- name: client-ca
  secret: {secretName: {{ . }}}
{{- end }}
{{- end }}
{{- if eq $v.policies.from "files" }}
- name: policies
  configMap: {name: {{ include "bayplan.policyFiles" . }}}
{{- end }}
{{- end -}}
