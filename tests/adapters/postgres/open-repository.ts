import { CLIENTS } from '../../../adapters/postgres/client-entity.ts';
import type { ConnectionOptions } from '../../../adapters/postgres/connection.ts';
import type { DatabaseLog } from '../../../adapters/postgres/health.ts';
import { PostgresClientRepository } from '../../../adapters/postgres/postgres-client-repository.ts';
import { openTable } from '../../../adapters/postgres/table.ts';
import type { Readiness } from '../../../application/ports/health-check.ts';

/** A repository and the table that it reads. */
export interface OpenRepository extends AsyncDisposable {
  readonly repository: PostgresClientRepository;
  readiness(): Readiness;
  close(): Promise<void>;
}

/** Opens the table `clients` as the service does. */
export async function openRepository(options: ConnectionOptions, log: DatabaseLog = () => {}): Promise<OpenRepository> {
  const table = await openTable('client repository', CLIENTS, options, log);
  return {
    repository: new PostgresClientRepository(table.runner, log),
    readiness: () => table.readiness(),
    close: () => table.close(),
    [Symbol.asyncDispose]: () => table.close(),
  };
}
