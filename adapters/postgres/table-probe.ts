import type { Connection } from './connection.ts';
import { hasState, SQLSTATE, TableUnusable } from './fault.ts';
import { FIND_OWN_TABLES, hasClients, lostClients } from './own-tables.ts';
import { runStatement, type Statement } from './runner.ts';
import type { TableProbe } from './table-health.ts';
import { assertUsable, missing, readColumns } from './table-shape.ts';
import { createTableSql, type TableDefinition } from './tables.ts';

/** How long a probe waits for a lock, since it holds a connection meanwhile. */
const PROBE_LOCK_MS = 100;

/** What the service does with the table, without a row: a standby, a missing privilege and a lock refuse it. */
function useNoRow({ name, columns }: TableDefinition): Statement {
  const [first = '', all] = [columns[0], columns.join(', ')];
  const text = `set local lock_timeout = ${PROBE_LOCK_MS}; insert into ${name} (${all}) select ${all} from ${name} limit 0;
    update ${name} set ${first} = ${first} where false; delete from ${name} where false`;
  return { text };
}

/** What a probe has found of the columns that a table may lack. */
export interface OptionalColumns {
  /** Whether the table has, or has had, them: a missing one is lost then. */
  areThere: boolean;
}

/**
 * Creates a missing table, `clients` only where there is none of our tables, and the others after it; never alters an
 * existing one. If two replicas start at once, both find the table. The catalog names what is missing, and the
 * statement finds out what only a statement can: a privilege, a lock, or an index or a file that is broken.
 *
 * @param columns is kept up to date.
 * @param use what checks run.
 */
export function probeTable(
  table: TableDefinition,
  connection: Connection,
  columns: OptionalColumns = { areThere: false },
  use = () => useNoRow(table),
): TableProbe {
  const hasOptional = (found: readonly { readonly name: string }[]) =>
    table.optional.length > 0 && table.optional.every((name) => found.some((column) => column.name === name));
  return {
    async check() {
      const found = await readColumns(table, connection);
      if (found.length === 0) throw missing(table.name, table.ifLost);
      assertUsable(table, found, columns.areThere);
      columns.areThere = hasOptional(found);
      await runStatement(connection, use()).catch((fault) => {
        throw hasState(fault, SQLSTATE.privilegeMissing) ? privilegeMissing(table.name) : fault;
      });
    },
    async prepare() {
      const there = await runStatement<{ readonly name: string }>(connection, { text: FIND_OWN_TABLES });
      // Looked for after the others: they are created after `clients`.
      const found = await readColumns(table, connection);
      // Before the first request, which would take the table for one without them.
      columns.areThere = hasOptional(found);
      if (found.length > 0) return false;
      if (table.access === 'read') {
        const lost = lostClients(there);
        if (lost !== undefined) throw new TableUnusable(lost);
      } else if (!hasClients(there)) throw new Error('table clients is not there yet');
      if (!connection.mayCreate) throw await notCreated(table.name, connection);
      columns.areThere = table.optional.length > 0;
      return create(table, connection);
    },
  };
}

/** False if another process was faster. The text is one round trip, and so one transaction. */
async function create(table: TableDefinition, connection: Connection): Promise<boolean> {
  try {
    await runStatement(connection, { text: await createTableSql(table) });
    return true;
  } catch (fault) {
    if (hasState(fault, SQLSTATE.createdConcurrently)) return false;
    if (hasState(fault, SQLSTATE.creationDenied)) {
      throw missing(table.name, MIGRATE, ', and the database role may not create it');
    }
    throw fault;
  }
}

/** What is said of a missing table where it is not created: whether a start of the service could. */
async function notCreated(table: string, connection: Connection): Promise<TableUnusable> {
  const { schemas } = await connection.searchPath();
  const text = `select pg_catalog.has_schema_privilege($1::text, 'CREATE')
    and pg_catalog.current_setting('transaction_read_only') = 'off' as "may"`;
  const [found] = await runStatement<{ readonly may: boolean }>(connection, { text, values: schemas.slice(0, 1) });
  if (!found?.may) return missing(table, MIGRATE, ', and the database role may not create it');
  const fix = `start the service, which creates it and owns it; for a role with fewer rights, first ${MIGRATE}`;
  return new TableUnusable({ code: 'table_created_at_start', text: `table ${table} does not exist yet`, fix });
}

function privilegeMissing(table: string): TableUnusable {
  const text = `the database role may not use table ${table} as the service does`;
  return new TableUnusable({ code: 'privilege_missing', text, fix: 'npm run migrate -- --grant-to <role>' });
}

const MIGRATE = 'npm run migrate -- --grant-to <role>, with the DATABASE_URL of a role that may create tables';
