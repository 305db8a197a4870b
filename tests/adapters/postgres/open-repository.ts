import type { ConnectionOptions } from '../../../adapters/postgres/connection.ts';
import type { DatabaseLog } from '../../../adapters/postgres/health.ts';
import {
  openClientRepository,
  type PostgresClientRepository,
} from '../../../adapters/postgres/postgres-client-repository.ts';
import type { Readiness } from '../../../application/ports/health-check.ts';

/** A repository and the table that it reads. */
export interface OpenRepository extends AsyncDisposable {
  readonly repository: PostgresClientRepository;
  readiness(): Readiness;
  close(): Promise<void>;
}

/** Opens the table `clients` as the service does. */
export async function openRepository(options: ConnectionOptions, log: DatabaseLog = () => {}): Promise<OpenRepository> {
  const { adapter, dependency: table } = await openClientRepository(options, log);
  return {
    repository: adapter,
    readiness: () => table.readiness(),
    close: () => table.close(),
    [Symbol.asyncDispose]: () => table.close(),
  };
}
