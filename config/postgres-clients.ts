import type { DatabaseLog } from '../adapters/postgres/database-log.ts';
import { PostgresClientRepository } from '../adapters/postgres/postgres-client-repository.ts';
import type { Settings } from './settings/settings.ts';

/** Throws where the table cannot be used; resolves, and goes on trying, where the database cannot be reached. */
export function openPostgresClients(settings: Settings, log: DatabaseLog): Promise<PostgresClientRepository> {
  if (settings.DATABASE_URL === undefined) throw new Error('DATABASE_URL: is required');
  return PostgresClientRepository.open(
    {
      url: settings.DATABASE_URL.reveal(),
      poolSize: settings.DATABASE_POOL_SIZE,
      deadlineMs: settings.DATABASE_DEADLINE_MS,
    },
    log,
  );
}
