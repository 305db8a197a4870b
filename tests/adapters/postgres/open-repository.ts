import type { ConnectionOptions } from '../../../adapters/postgres/connection.ts';
import type { DatabaseLog } from '../../../adapters/postgres/database-log.ts';
import { openClientRows } from '../../../adapters/postgres/postgres-client-rows.ts';
import { SqlClientRepository } from '../../../adapters/sql/sql-client-repository.ts';
import { SystemClock } from '../../../adapters/system/system.ts';
import type { Readiness } from '../../../application/ports/health-check.ts';
import { pickDecoy } from '../../support/decoys.ts';

/** A repository and the table that it reads. */
export interface OpenRepository extends AsyncDisposable {
  readonly repository: SqlClientRepository;
  readonly findCosts: (milliseconds: number) => Promise<readonly number[] | undefined>;
  readonly readCosts: (onFound: (costs: readonly number[]) => void) => Promise<void>;
  readiness(): Readiness;
  close(): Promise<void>;
}

/** Opens the table `clients` as the service does. */
export async function openRepository(
  options: ConnectionOptions,
  log: DatabaseLog = () => {},
  usesColumns = false,
): Promise<OpenRepository> {
  const { rows, readCosts, dependency: table } = await openClientRows(options, log, usesColumns);
  return {
    repository: new SqlClientRepository({ rows, log, clock: new SystemClock(), pickDecoy }),
    findCosts: rows.findCosts,
    readCosts,
    readiness: () => table.readiness(),
    close: () => table.close(),
    [Symbol.asyncDispose]: () => table.close(),
  };
}
