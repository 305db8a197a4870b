import { CLIENTS } from '../adapters/postgres/client-entity.ts';
import type { DatabaseLog } from '../adapters/postgres/health.ts';
import { PostgresClientRepository } from '../adapters/postgres/postgres-client-repository.ts';
import { PostgresKeyDirectory } from '../adapters/postgres/postgres-key-directory.ts';
import { SIGNING_KEYS } from '../adapters/postgres/signing-key-entity.ts';
import { Table, type TableDefinition } from '../adapters/postgres/table.ts';
import type { Dependency, Readiness } from '../application/ports/health-check.ts';
import type { Settings } from './settings/settings.ts';

/** One connection to publish, and one to look for an unknown key, so that neither waits behind the look-ups of clients. */
const KEYS_POOL_SIZE = 2;

/** An adapter on a table, and the table to check and to close. */
export interface OnTable<Adapter> {
  readonly adapter: Adapter;
  readonly dependency: Dependency;
}

/** Throws where the table cannot be used; resolves, and continues to try, where the database cannot be reached. */
export async function openPostgresClients(
  settings: Settings,
  log: DatabaseLog,
): Promise<OnTable<PostgresClientRepository>> {
  const table = await openTable('client repository', CLIENTS, settings.DATABASE_POOL_SIZE, settings, log);
  return { adapter: new PostgresClientRepository(table.runner, log), dependency: table };
}

/** Throws where the table cannot be used; resolves, and continues to try, where the database cannot be reached. */
export async function openPostgresKeys(settings: Settings, log: DatabaseLog): Promise<OnTable<PostgresKeyDirectory>> {
  const table = await openTable('key directory', SIGNING_KEYS, KEYS_POOL_SIZE, settings, log);
  const dependency = { name: table.name, readiness: () => asNote(table.readiness()), close: () => table.close() };
  return { adapter: new PostgresKeyDirectory(table.runner), dependency };
}

function openTable(
  name: string,
  definition: TableDefinition,
  poolSize: number,
  { DATABASE_URL, DATABASE_DEADLINE_MS }: Settings,
  log: DatabaseLog,
): Promise<Table> {
  if (DATABASE_URL === undefined) throw new Error('DATABASE_URL: is required');
  const options = { url: DATABASE_URL.reveal(), poolSize, deadlineMs: DATABASE_DEADLINE_MS };
  return Table.open(name, definition, options, log);
}

/** Always ready: the service works without the directory while its key may sign, and the check of that key reports when it may not. */
function asNote(state: Readiness): Readiness {
  return state.ready ? state : { ready: true, note: state.reason };
}
