#!/bin/sh
# Renders the plain manifests from the chart, and copies the alert rules into it. With a folder, writes them there.
set -eu
cd "$(dirname "$0")"
to=${1:-.}
cp ../prometheus-alerts.yml ../helm/ccauth/prometheus-alerts.yml
render() { helm template ccauth ../helm/ccauth --kube-version 1.34.0 --values values.yaml "$@"; }
render --show-only templates/migration.yaml >"$to/migrate.yaml"
clients=clients.configMap=ccauth-clients,clients.owner=platform,clients.prune=true,clients.secret=ccauth-client-secrets
render --show-only templates/clients.yaml --set "$clients" >"$to/clients.yaml"
operator=monitoring.serviceMonitor=true,monitoring.prometheusRule=true
render --show-only templates/monitoring.yaml --set "$operator" >"$to/monitoring.yaml"
render --no-hooks >"$to/ccauth.yaml"
