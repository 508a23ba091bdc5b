{{- define "reading-list.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* All of the metadata except for the name. */}}
{{- define "reading-list.metadata" -}}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "reading-list.labels" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* The pod, the same for both kinds of journals except for its settings and its volume. */}}
{{- define "reading-list.pod" -}}
{{- $isCluster := eq .Values.journal "postgres" -}}
metadata:
  labels: {{- include "reading-list.labels" . | nindent 4 }}
spec:
  automountServiceAccountToken: false
  # Otherwise a Service named reactor would set REACTOR_PORT.
  enableServiceLinks: false
  # After drain-delay and grace, the server waits for its disk or its database for up to 30 s.
  terminationGracePeriodSeconds: {{ add .Values.drainDelay .Values.grace 30 }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- if $isCluster }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "reading-list.labels" . | nindent 10 }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: server
      image: {{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      ports:
        - {name: http, containerPort: 8080}
        - {name: ops, containerPort: 9090}
        {{- if $isCluster }}
        - {name: link, containerPort: 7080}
        {{- end }}
      env:
        - {name: REACTOR_HOST, value: 0.0.0.0}
        - {name: REACTOR_PORT, value: "8080"}
        - {name: REACTOR_OPS_LISTEN, value: "0.0.0.0:9090"}
        - {name: REACTOR_DRAIN_DELAY, value: {{ .Values.drainDelay }}s}
        - {name: REACTOR_GRACE, value: {{ .Values.grace }}s}
        - {name: REACTOR_AUTH, value: {{ .Values.auth }}}
        {{- if eq .Values.auth "jwt" }}
        - name: REACTOR_{{ .Values.tokens.setting | upper | replace "-" "_" }}
          value: /run/secrets/tokens/{{ .Values.tokens.secret.key }}
        {{- else }}
        - {name: REACTOR_ALLOW_PUBLIC, value: "on"}
        {{- if not (hasKey .Values.settings "allow-host") }}
        - {name: REACTOR_ALLOW_HOST, value: "{{ .Release.Name }},{{ .Release.Name }}.{{ .Release.Namespace }}.svc"}
        {{- end }}
        {{- end }}
        {{- if $isCluster }}
        - name: REACTOR_JOURNAL
          valueFrom: {secretKeyRef: {{ .Values.postgres.secret | toJson }}}
        # Before the settings that name it.
        - name: POD_IP
          valueFrom: {fieldRef: {fieldPath: status.podIP}}
        - {name: REACTOR_LINK, value: "$(POD_IP):7080"}
        - {name: REACTOR_CLUSTER_SECRET_FILE, value: "/run/secrets/cluster/{{ .Values.cluster.secret.key }}"}
        {{- else }}
        - {name: REACTOR_JOURNAL, value: "file:/data/reactor.sqlite"}
        {{- end }}
        {{- range $name, $value := .Values.settings }}
        - {name: REACTOR_{{ $name | upper | replace "-" "_" }}, value: {{ $value | toString | quote }}}
        {{- end }}
      # Ready once the journal is open. A database may be there later than the pod.
      startupProbe:
        httpGet: {path: /readyz, port: ops}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 300
      readinessProbe:
        httpGet: {path: /readyz, port: ops}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 1
      # Alive while the process works, whatever its disk or its database does.
      livenessProbe:
        httpGet: {path: /livez, port: ops}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      {{- with .Values.resources }}
      resources: {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - {name: data, mountPath: /data}
        {{- if eq .Values.auth "jwt" }}
        - {name: tokens, mountPath: /run/secrets/tokens, readOnly: true}
        {{- end }}
        {{- if $isCluster }}
        - {name: cluster, mountPath: /run/secrets/cluster, readOnly: true}
        - {name: postgres, mountPath: /run/secrets/postgres, readOnly: true}
        {{- end }}
  {{- if or $isCluster (eq .Values.auth "jwt") }}
  volumes:
    {{- if $isCluster }}
    - {name: data, emptyDir: {}}
    - {name: cluster, secret: {secretName: {{ .Values.cluster.secret.name }}, defaultMode: 0440}}
    - {name: postgres, secret: {secretName: {{ .Values.postgres.secret.name }}, defaultMode: 0440}}
    {{- end }}
    {{- if eq .Values.auth "jwt" }}
    - {name: tokens, secret: {secretName: {{ .Values.tokens.secret.name }}, defaultMode: 0440}}
    {{- end }}
  {{- end }}
{{- end }}
