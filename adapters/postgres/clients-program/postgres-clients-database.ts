import { type SqlBool, sql } from 'kysely';
import { BRING_BACK } from '../../../application/client-lookup.ts';
import { PLAN_WAIT_MS } from '../../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { Problem } from '../../../domain/problem.ts';
import type { ClientsDatabase, SqlConnection } from '../../sql/sql-database.ts';
import type { Connection } from '../connection.ts';
import { storeFault, TableUnusable } from '../fault.ts';
import { FIND_OWN_TABLES, hasClients, lostClients } from '../own-tables.ts';
import { DEADLINE_MS, openProgramDatabase } from '../program-database.ts';
import { runStatement } from '../runner.ts';
import { CLIENTS, HAS_OWN_COLUMNS } from '../tables.ts';

/** The rows are read as they are once they are locked, whatever level the database has by default. */
const BEGIN = 'begin isolation level read committed';

/** Before the lock of a row, so that no plan waits for this transaction that it waits for. */
const BEGIN_ROWS = `${BEGIN}; lock table clients in row exclusive mode`;

/** Only readers, until the transaction ends. */
const BEGIN_TABLE = `${BEGIN}; set local lock_timeout = ${PLAN_WAIT_MS}; set local statement_timeout = ${PLAN_WAIT_MS};
  lock table clients in share row exclusive mode; set local statement_timeout = ${DEADLINE_MS}; set local lock_timeout = ${DEADLINE_MS}`;

const BEGINNINGS = { rows: [BEGIN_ROWS, DEADLINE_MS], table: [BEGIN_TABLE, 2 * PLAN_WAIT_MS] } as const;

/**
 * The database with the table `clients`, for the store that manages them. It connects at the first use, and the table
 * has to exist.
 */
export async function openClientsDatabase(url: string | (() => string), poolSize = 1) {
  const options = { name: 'client store', poolSize, findTable, begin: BEGINNINGS };
  const { load, ...program } = await openProgramDatabase(url, CLIENTS, options);
  let hasColumns = false;
  const database: ClientsDatabase = {
    ...program,
    async hasDetails({ query }: SqlConnection): Promise<boolean> {
      const found = sql<SqlBool>`${sql.raw(HAS_OWN_COLUMNS)}`.as('found');
      hasColumns ||= (await query(program.db.selectNoFrom(found)))[0]?.found === true;
      return hasColumns;
    },
    faultOf: (fault) => (fault instanceof DependencyUnavailable ? fault : storeFault(fault)),
    refusalIn: (fault) => CANNOT_CHANGE[stateIn(fault)],
    /** Of a statement about another table: there is none, or no rights. */
    isMissing: (fault) => /^(42P01|42501)$/.test(stateIn(fault)),
  };
  return { ...database, load };
}

/** The SQLSTATE of the fault of a connection. */
function stateIn(fault: unknown): string {
  return String(Object(Object(fault).cause).code);
}

/** By SQLSTATE. */
const CANNOT_CHANGE: Readonly<Record<string, Problem>> = {
  42501: {
    code: 'ADMIN_API',
    text: 'ADMIN_API: the role of DATABASE_URL may not change clients',
    fix: 'npm run migrate -- --grant-to <role> --role-for admin-api',
  },
  25006: {
    code: 'ADMIN_API',
    text: 'ADMIN_API: the database of DATABASE_URL cannot be written',
    fix: 'set DATABASE_URL to the primary, or ADMIN_API=false',
  },
};

async function findTable(connection: Connection): Promise<void> {
  const there = await runStatement<{ readonly name: string }>(connection, { text: FIND_OWN_TABLES });
  if (!hasClients(there)) throw new TableUnusable(lostClients(there) ?? MISSING);
  if ((await runStatement(connection, { text: HAS_POLICIES })).length === 0) return;
  const rows = await runStatement(connection, { text: 'select from clients limit 1' });
  if (rows.length === 0) throw new TableUnusable(HIDDEN);
}

/** Whether row-level security applies to this role. */
const HAS_POLICIES = `select where pg_catalog.row_security_active(pg_catalog.to_regclass('clients')::oid)`;

const HIDDEN = {
  code: 'rows_hidden',
  text: 'row-level security of table clients shows this role no row, so that an empty table and a hidden one look the same',
  fix: 'use the role that owns the table, or one with bypassrls',
};

/** An empty table in the place of a lost one would have every client refused. */
const MISSING = {
  code: 'table_missing',
  text: 'table clients does not exist',
  fix: `run npm run migrate; if it was there before, ${BRING_BACK}`,
};
