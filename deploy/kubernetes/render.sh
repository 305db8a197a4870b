#!/bin/sh
# Renders the plain manifests from the chart, and copies the alert rules into it. With a folder, writes them there.
set -eu
cd "$(dirname "$0")"
to=${1:-.}
cp ../prometheus-alerts.yml ../helm/ccauth/prometheus-alerts.yml
render() { helm template ccauth ../helm/ccauth --kube-version 1.34.0 --values values.yaml "$@"; }
render --show-only templates/migration.yaml >"$to/migrate.yaml"
render --show-only templates/monitoring.yaml >"$to/monitoring.yaml"
render --no-hooks --set monitoring.serviceMonitor=false,monitoring.prometheusRule=false >"$to/ccauth.yaml"
