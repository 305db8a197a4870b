import type { ConnectionOptions } from '../connection.ts';
import type { DatabaseLog } from '../database-log.ts';
import { SQLSTATE, TableUnusable } from '../fault.ts';
import { openProgramDatabase } from '../program-database.ts';
import { alwaysReady, openTable } from '../table.ts';
import { REVOCATIONS } from '../tables.ts';

/** Look-ups share statements; few tokens are revoked. */
const REVOCATIONS_POOL_SIZE = 4;

/**
 * The table of revoked tokens. It is always ready: without it, tokens are issued. Throws TableUnusable on a standby,
 * which would receive a revocation only later.
 */
export async function openRevocations(options: Omit<ConnectionOptions, 'poolSize'>, log: DatabaseLog) {
  const table = await openTable('revocations', REVOCATIONS, { ...options, poolSize: REVOCATIONS_POOL_SIZE }, log);
  const state = table.readiness();
  if (!state.ready && SQLSTATE.readOnly.test(state.reason.code)) {
    await table.close();
    const fix = 'set DATABASE_URL to the primary, or TOKEN_REVOCATION=false';
    throw new TableUnusable({ code: 'read_only', text: 'TOKEN_REVOCATION needs a database that can be written', fix });
  }
  return { tables: table.tables, dependency: alwaysReady(table, () => {}) };
}

/** The same table for a program. */
export function openRevocationsDatabase(url: string | (() => string)) {
  return openProgramDatabase(url, REVOCATIONS, { name: 'revocations' });
}
