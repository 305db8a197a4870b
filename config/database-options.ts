import type { Logger } from 'pino';
import type { ConnectionOptions } from '../adapters/postgres/connection.ts';
import type { ProcessMetrics } from '../adapters/prom-client/process-metrics.ts';
import { readTextFileNow } from '../adapters/system/read-text-file.ts';
import { followDatabaseUrl } from './settings/database-url.ts';
import type { Settings } from './settings/settings.ts';

/** How this service connects to the database, whatever for. */
export type DatabaseOptions = Omit<ConnectionOptions, 'poolSize'>;

/** Without an URL if the settings name no database, which is then not opened. */
export function databaseOptions(settings: Settings, log: Logger, metrics: ProcessMetrics): DatabaseOptions {
  const { DATABASE_URL, DATABASE_URL_FILE: path, DATABASE_DEADLINE_MS: deadlineMs } = settings;
  const url = DATABASE_URL?.reveal() ?? '';
  const onProblem = (problem: string) => log.warn({ event: 'database_url_file_unusable', problem });
  return {
    url: path === undefined ? url : followDatabaseUrl(path, url, readTextFileNow, onProblem),
    deadlineMs,
    measure: (use, pool) => metrics.measureDatabase(use, pool),
  };
}
