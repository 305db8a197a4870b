import { readFileSync } from 'node:fs';

/** What a service in memory does not have. */
export const METRICS_OF_POSTGRES: readonly string[] = [
  // A directory in memory has no clock.
  'auth_clock_offset_seconds',
  'auth_database_connections',
  'auth_database_connections_idle',
  'auth_database_connections_max',
  'auth_database_statement_duration_seconds',
  'auth_database_statements_waiting',
  // It needs a database.
  'auth_admin_api_callers',
  'auth_admin_api_callers_max',
  'auth_last_used_clients',
  'auth_last_used_clients_max',
];

/** What only a service with TLS or health on the public port has: their tests ask for it. */
export const METRICS_OF_CONNECTIONS: readonly string[] = [
  'auth_tls_certificate_expires_at_seconds',
  'auth_tls_handshakes_failed_total',
];

/** The names in the table of metrics of docs/metrics.md. A row may have several. */
export function documentedMetrics(): readonly string[] {
  const rows = readFileSync('docs/metrics.md', 'utf8').matchAll(/^\| (`auth_\w+`(?:, `auth_\w+`)*) \|/gm);
  return [...rows].flatMap(([, names = '']) => names.replaceAll('`', '').split(', '));
}
