import type { DatabaseLog } from '../adapters/postgres/database-log.ts';
import { PostgresKeyDirectory } from '../adapters/postgres/postgres-key-directory.ts';
import type { Dependency, HealthCheck } from '../application/ports/health-check.ts';
import type { KeyDirectory } from '../application/ports/key-directory.ts';
import type { Settings } from './settings/settings.ts';

/** One connection to publish, one to look for an unknown key; never behind a crowd of clients' look-ups. */
const POOL_SIZE = 2;

export interface SharedDirectory {
  readonly directory: KeyDirectory;
  readonly dependency: Dependency;
}

/** Throws where the table cannot be used; resolves, and goes on trying, where the database cannot be reached. */
export async function openPostgresKeys(settings: Settings, log: DatabaseLog): Promise<SharedDirectory> {
  if (settings.DATABASE_URL === undefined) throw new Error('DATABASE_URL: is required');
  const directory = await PostgresKeyDirectory.open(
    { url: settings.DATABASE_URL.reveal(), poolSize: POOL_SIZE, deadlineMs: settings.DATABASE_DEADLINE_MS },
    log,
  );
  return {
    directory,
    dependency: {
      name: directory.name,
      readiness: () => withoutNeed(directory),
      close: () => directory.close(),
    },
  };
}

/** Always ready: a service does without the directory for as long as its key may sign, and the check of that key says when it may not. */
function withoutNeed(directory: PostgresKeyDirectory): ReturnType<HealthCheck['readiness']> {
  const state = directory.readiness();
  return state.ready ? state : { ready: true, note: state.reason };
}
