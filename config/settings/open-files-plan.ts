import { type OpenFilesPlan, openFilesLimit } from '../../adapters/system/open-files.ts';
import type { Settings } from './settings.ts';

/** Connections to the management port. Only probes and Prometheus connect to it. */
export const MANAGEMENT_CONNECTIONS_MAX = 100;

/** What the files are for that each process of the service may open. */
export function openFilesPlan({ DATABASE_POOL_SIZE, WORKERS }: Settings): OpenFilesPlan {
  return { limit: openFilesLimit(), reserved: MANAGEMENT_CONNECTIONS_MAX + DATABASE_POOL_SIZE + WORKERS };
}
