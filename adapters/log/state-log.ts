import type { JsonLog } from './json-log.ts';

/** The level of each change of state that is more than information. */
const LEVELS: Readonly<Record<string, 'error' | 'warn'>> = {
  database_unavailable: 'error',
  table_unusable: 'error',
  key_directory_unavailable: 'error',
  key_set_unavailable: 'error',
  key_set_expired: 'error',
  clock_wrong: 'error',
  audit_unavailable: 'error',
  audit_file_not_reopened: 'error',
  audit_file_deleted: 'error',
  tls_certificate_unusable: 'error',
  clock_off: 'warn',
  registration_broken: 'warn',
  search_path_unsafe: 'warn',
  role_may_write_clients: 'warn',
  connection_failed: 'warn',
};

/** Takes changes of state. Never throws. */
export type StateLog = (change: { readonly event: string }) => void;

/**
 * Writes changes of state, of dependencies and of connections, to the log of the process.
 *
 * @param more what each line has besides.
 */
export function createStateLog(log: JsonLog, more: object = {}): StateLog {
  return (change) => log[LEVELS[change.event] ?? 'info']({ ...more, ...change });
}
