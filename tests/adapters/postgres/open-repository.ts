import type { ConnectionOptions } from '../../../adapters/postgres/connection.ts';
import type { DatabaseLog } from '../../../adapters/postgres/health.ts';
import {
  openClientRepository,
  type PostgresClientRepository,
} from '../../../adapters/postgres/postgres-client-repository.ts';
import { SystemClock } from '../../../adapters/system/system.ts';
import type { Readiness } from '../../../application/ports/health-check.ts';

/** A repository and the table that it reads. */
export interface OpenRepository extends AsyncDisposable {
  readonly repository: PostgresClientRepository;
  readiness(): Readiness;
  close(): Promise<void>;
}

/** Opens the table `clients` as the service does. */
export async function openRepository(
  options: ConnectionOptions,
  log: DatabaseLog = () => {},
  needsDetails = false,
): Promise<OpenRepository> {
  const opened = await openClientRepository(options, log, new SystemClock(), needsDetails);
  const { clients, dependency: table } = opened;
  return {
    repository: clients,
    readiness: () => table.readiness(),
    close: () => table.close(),
    [Symbol.asyncDispose]: () => table.close(),
  };
}
