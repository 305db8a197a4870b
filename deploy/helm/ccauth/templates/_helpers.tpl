{{- define "ccauth.name" -}}
{{ .Release.Name | trunc 45 | trimSuffix "-" }}
{{- end }}

{{- define "ccauth.selector" -}}
app.kubernetes.io/name: ccauth
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ccauth.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag }}
{{- end }}
{{- end }}

{{- /* Numbers of a values file are floats, and large ones would be written with an exponent. */}}
{{- define "ccauth.value" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{- /* What the service cannot know about the cluster. Everything else the service checks itself when it starts. */}}
{{- define "ccauth.check" -}}
{{- $values := .Values }}
{{- $settings := .Values.settings }}
{{- $replicas := .Values.autoscaling.enabled | ternary .Values.autoscaling.maxReplicas .Values.replicas }}
{{- if not .Values.image.repository }}{{ fail "image.repository: is required. No image is published: build it with docker build, push it to a registry of yours, and name it here" }}{{ end }}
{{- if not (or .Values.image.tag .Values.image.digest) }}{{ fail "image.tag: is required, or image.digest" }}{{ end }}
{{- if not .Values.baseUrl }}{{ fail "baseUrl: is required: the URL under which clients reach the service, such as https://auth.example.com" }}{{ end }}
{{- range $name, $fix := dict
  "BASE_URL" "set baseUrl instead"
  "HOST" "the chart sets it"
  "PORT" "it is 8080 in the pod; service.port is that of the Service"
  "MANAGEMENT_HOST" "the chart sets it"
  "MANAGEMENT_PORT" "it is 8081; probes need it"
  "DATABASE_URL" "it has a password: set files.DATABASE_URL_FILE to a Secret"
  "MANAGEMENT_TOKEN" "it is a secret: set files.MANAGEMENT_TOKEN_FILE to a Secret"
  "AUDIT_FILE" "the file system is read-only. Leave it out: audit events then go to standard output, which the cluster collects" }}
{{- if hasKey $settings $name }}{{ fail (printf "settings.%s: cannot be set: %s" $name $fix) }}{{ end }}
{{- end }}
{{- range $name, $_ := .Values.files }}
{{- if hasKey $settings $name }}{{ fail (printf "settings.%s: is set in files too. Remove one of them" $name) }}{{ end }}
{{- end }}
{{- if and (eq (toString $settings.CLIENT_REPOSITORY) "postgres") (not .Values.files.DATABASE_URL_FILE) }}
{{- fail "files.DATABASE_URL_FILE: is required with PostgreSQL, as {secret: NAME, key: url}. Create the Secret with kubectl create secret generic NAME --from-file=url=FILE, where FILE has the URL of the role of the service in one line" }}
{{- end }}
{{- if and (eq (toString $settings.CLIENT_REPOSITORY) "memory") (not .Values.files.CLIENTS_FILE) }}
{{- fail "files.CLIENTS_FILE: is required if settings.CLIENT_REPOSITORY is memory, as {secret: NAME, key: clients.json}" }}
{{- end }}
{{- if and (eq (toString $settings.KEY_DIRECTORY) "database") (not .Values.files.KEY_SECRET_FILE) }}
{{- fail "files.KEY_SECRET_FILE: is required if settings.KEY_DIRECTORY is database, as {secret: NAME, key: secret}. Create the Secret with openssl rand -base64 32 >FILE, and kubectl create secret generic NAME --from-file=secret=FILE" }}
{{- end }}
{{- if and (gt (int $replicas) 1) (ne (toString $settings.KEY_DIRECTORY) "database") (not .Values.files.KEY_FILE) }}
{{- fail "settings.KEY_DIRECTORY: must be database with more than one replica, since each would accept only its own tokens. Or set replicas to 1, or files.KEY_FILE" }}
{{- end }}
{{- if and .Values.migration.enabled .Values.files.DATABASE_URL_FILE }}
{{- if not (and (.Values.migration.databaseUrl).secret (.Values.migration.databaseUrl).key) }}{{ fail "migration.databaseUrl: is required, as {secret: NAME, key: url}, with a role that may create tables. Or set migration.enabled to false, and run ccauth migrate yourself" }}{{ end }}
{{- if not .Values.migration.role }}{{ fail "migration.role: is required: the role in the URL of files.DATABASE_URL_FILE, which gets the grants that the service needs" }}{{ end }}
{{- end }}
{{- if .Values.clients.configMap }}
{{- if ne (toString $settings.CLIENT_REPOSITORY) "postgres" }}{{ fail "clients.configMap: needs settings.CLIENT_REPOSITORY=postgres. With clients in memory, set files.CLIENTS_FILE" }}{{ end }}
{{- if not .Values.clients.owner }}{{ fail "clients.owner: is required: a name for the clients of this ConfigMap, such as the team" }}{{ end }}
{{- if not (and (.Values.clients.databaseUrl | default .Values.migration.databaseUrl).secret (.Values.clients.databaseUrl | default .Values.migration.databaseUrl).key) }}{{ fail "clients.databaseUrl: is required, as {secret: NAME, key: url}, with a role that may write the clients" }}{{ end }}
{{- end }}
{{- if and (eq (toString $settings.SERVICE_PROFILE) "standard") (not $settings.TOKEN_AUDIENCE) }}
{{- fail "settings.TOKEN_AUDIENCE: is required: the URL of the API that clients call with their tokens, such as https://api.example.com. Or set settings.SERVICE_PROFILE to specification" }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}{{ fail "ingress.host: is required: the host of baseUrl" }}{{ end }}
{{- end }}

{{- define "ccauth.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- /* The group of the files is that of the image, so that mode 0440 is enough. */}}
{{- define "ccauth.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.pod }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The next three take the map of `files`. */}}
{{- define "ccauth.files.env" -}}
{{- range $name, $file := . }}
- name: {{ $name }}
  value: /etc/ccauth/{{ $name | lower | replace "_" "-" }}/{{ $file.key }}
{{- end }}
{{- end }}

{{- define "ccauth.files.mounts" -}}
{{- range $name, $file := . }}
{{- $volume := $name | lower | replace "_" "-" }}
- { name: {{ $volume }}, mountPath: /etc/ccauth/{{ $volume }}, readOnly: true }
{{- end }}
{{- end }}

{{- define "ccauth.files.volumes" -}}
{{- range $name, $file := . }}
- name: {{ $name | lower | replace "_" "-" }}
  {{- if $file.secret }}
  secret:
    secretName: {{ $file.secret }}
  {{- else }}
  configMap:
    name: {{ $file.configMap }}
  {{- end }}
    defaultMode: 0440
    items: [{ key: {{ $file.key }}, path: {{ $file.key }} }]
{{- end }}
{{- end }}
