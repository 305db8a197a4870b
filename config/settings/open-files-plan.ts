import { type OpenFilesPlan, openFilesLimit } from '../../adapters/system/open-files.ts';
import type { Settings } from './settings.ts';

/** Connections to the management port. Only probes and Prometheus connect to it. */
export const MANAGEMENT_CONNECTIONS_MAX = 100;

/** Fewer connections are not enough for a worker to answer other requests while a table that some need is locked. */
const WORKER_CONNECTIONS_MIN = 3;

/** Connections to the database for look-ups, of each process that answers requests. */
export function lookUpConnections({ DATABASE_POOL_SIZE, WORKERS }: Settings): number {
  return WORKERS === 1
    ? DATABASE_POOL_SIZE
    : Math.max(WORKER_CONNECTIONS_MIN, Math.floor(DATABASE_POOL_SIZE / WORKERS));
}

/** What the files are for that each process of the service may open. */
export function openFilesPlan({ DATABASE_POOL_SIZE, WORKERS }: Settings): OpenFilesPlan {
  return { limit: openFilesLimit(), reserved: MANAGEMENT_CONNECTIONS_MAX + DATABASE_POOL_SIZE + WORKERS };
}
