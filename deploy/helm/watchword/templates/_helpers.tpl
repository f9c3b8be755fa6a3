{{- define "watchword.labels" -}}
app.kubernetes.io/name: watchword
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "watchword.selector" -}}
app.kubernetes.io/name: watchword
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "watchword.podAnnotations" -}}
{{- /* Empty where Helm reads no cluster. A digest tells nothing of what is in the secret. */}}
{{- $secret := lookup "v1" "Secret" .Release.Namespace .Values.existingSecret }}
checksum/existing-secret: {{ dig "data" dict $secret | toJson | sha256sum }}
{{- with .Values.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "watchword.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* What a component's pods run as, and on which nodes. What a component does not say is the chart's. */}}
{{- define "watchword.pod" -}}
{{- $here := index .root.Values .component }}
{{- $values := .root.Values }}
automountServiceAccountToken: false
{{- with $here.serviceAccountName | default $values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with $here.priorityClassName | default $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $here.nodeSelector | default $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $here.tolerations | default $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $here.affinity | default $values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with $values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - {name: metrics, emptyDir: {}}
  - {name: tmp, emptyDir: {}}
{{- end }}

{{- define "watchword.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "watchword.selector" . | nindent 8 }}
{{- end }}

{{- define "watchword.container" -}}
image: {{ include "watchword.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
envFrom:
  - secretRef: {name: {{ .Values.existingSecret }}}
env:
  - {name: BASE_URL, value: {{ printf "https://%s" .Values.host | quote }}}
  - {name: ALLOWED_HOSTS, value: {{ .Values.host | quote }}}
  {{- range $name, $value := omit .Values.settings "BASE_URL" "ALLOWED_HOSTS" }}
  - {name: {{ $name }}, value: {{ $value | quote }}}
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
volumeMounts:
  - {name: metrics, mountPath: /metrics}
  - {name: tmp, mountPath: /tmp}
{{- end }}
