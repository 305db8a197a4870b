import { CLIENTS } from '../adapters/postgres/client-entity.ts';
import type { ConnectionOptions } from '../adapters/postgres/connection.ts';
import type { DatabaseLog } from '../adapters/postgres/health.ts';
import { PostgresClientRepository } from '../adapters/postgres/postgres-client-repository.ts';
import { PostgresKeyDirectory } from '../adapters/postgres/postgres-key-directory.ts';
import { SIGNING_KEYS } from '../adapters/postgres/signing-key-entity.ts';
import { openTable } from '../adapters/postgres/table.ts';
import type { ClientRepository } from '../application/ports/client-repository.ts';
import type { Dependency, Readiness } from '../application/ports/health-check.ts';
import type { KeyDirectory } from '../application/ports/key-directory.ts';
import type { Settings } from './settings/settings.ts';

/** One connection to publish, and one to look for an unknown key, so that neither waits behind the look-ups of clients. */
const KEYS_POOL_SIZE = 2;

/** An adapter, and the table that it uses. */
export interface OnTable<Adapter> {
  readonly adapter: Adapter;
  readonly dependency: Dependency;
}

/** Throws where the table cannot be used; resolves, and continues to try, where the database cannot be reached. */
export async function openPostgresClients(settings: Settings, log: DatabaseLog): Promise<OnTable<ClientRepository>> {
  const options = connectionOptions(settings, settings.DATABASE_POOL_SIZE);
  const table = await openTable('client repository', CLIENTS, options, log);
  return { adapter: new PostgresClientRepository(table.runner, log), dependency: table };
}

/**
 * As above. The directory is always ready: the service works without it while its key may sign, and the check of that key
 * reports when it may not.
 */
export async function openPostgresKeys(settings: Settings, log: DatabaseLog): Promise<OnTable<KeyDirectory>> {
  const options = connectionOptions(settings, KEYS_POOL_SIZE);
  const table = await openTable('key directory', SIGNING_KEYS, options, log);
  const readiness = (): Readiness => {
    const state = table.readiness();
    return state.ready ? state : { ready: true, note: state.reason };
  };
  return { adapter: new PostgresKeyDirectory(table.runner), dependency: { ...table, readiness } };
}

function connectionOptions({ DATABASE_URL, DATABASE_DEADLINE_MS }: Settings, poolSize: number): ConnectionOptions {
  if (DATABASE_URL === undefined) throw new Error('DATABASE_URL: is required');
  return { url: DATABASE_URL.reveal(), poolSize, deadlineMs: DATABASE_DEADLINE_MS };
}
