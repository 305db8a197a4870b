import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { problemIn } from '../../../domain/problem.ts';
import type { ConnectionOptions } from '../connection.ts';
import type { DatabaseLog } from '../database-log.ts';
import { DATABASE_TIME } from '../database-time.ts';
import { loggableFault, SQLSTATE, TableUnusable } from '../fault.ts';
import { openProgramDatabase } from '../program-database.ts';
import { REVOCATIONS } from '../revocation-table.ts';
import { alwaysReady, openTable } from '../table.ts';

/** Look-ups share statements; few tokens are revoked. */
const REVOCATIONS_POOL_SIZE = 4;

/**
 * The table of revoked tokens. It is always ready: without it, tokens are issued. Throws TableUnusable on a standby, which would receive
 * a revocation only later.
 */
export async function openRevocations(options: Omit<ConnectionOptions, 'poolSize'>, log: DatabaseLog) {
  const table = await openTable('revocations', REVOCATIONS, { ...options, poolSize: REVOCATIONS_POOL_SIZE }, log);
  const state = table.readiness();
  if (!state.ready && SQLSTATE.readOnly.test(state.reason.code)) {
    await table.close();
    const fix = 'set DATABASE_URL to the primary, or TOKEN_REVOCATION=false';
    throw new TableUnusable({ code: 'read_only', text: 'TOKEN_REVOCATION needs a database that can be written', fix });
  }
  const query = <Row>(text: string, values: readonly (string | null)[] = []) =>
    table.runner.run<Row>({ text, values: [...values] });
  return { time: DATABASE_TIME, count: 'pg_catalog.count', query, dependency: alwaysReady(table, () => {}) };
}

/** The same table for a program. */
export async function openRevocationsDatabase(url: string | (() => string)) {
  const { connect, close } = await openProgramDatabase(url, REVOCATIONS, { poolSize: 1 });
  return {
    time: DATABASE_TIME,
    count: 'pg_catalog.count',
    async connect() {
      const connection = await connect();
      return { ...connection, begin: () => connection.begin('begin') };
    },
    isMissing: (fault: unknown) => problemIn(Object(fault).cause)?.code === 'table_missing',
    faultOf: (fault: unknown) =>
      fault instanceof DependencyUnavailable ? fault : new DependencyUnavailable('revocations', loggableFault(fault)),
    close,
  };
}
