import type { EntitySchema } from '@mikro-orm/core';
import { BRING_BACK, NO_CLIENT } from '../../application/client-lookup.ts';
import type { Dependency } from '../../application/ports/health-check.ts';
import type { DatabaseName } from '../../application/ports/telemetry.ts';
import { type Connection, type ConnectionOptions, openConnection } from './connection.ts';
import type { DatabaseLog } from './database-log.ts';
import { hasState, SQLSTATE, TableUnusable } from './fault.ts';
import { FIND_OWN_TABLES, grantOf, hasClients, lostClients } from './own-tables.ts';
import { Runner, runStatement, type Statement } from './runner.ts';
import { hidesRows } from './search-path.ts';
import { findSchemaRisks } from './shared-schemas.ts';
import { TableHealth, type TableProbe } from './table-health.ts';

/** A table that the service uses, and creates if it is missing. */
export interface TableDefinition {
  readonly name: string;
  readonly schema: EntitySchema;
  /** An existing table must have them; it may have more. */
  readonly columns: readonly string[];
  /** Columns that an existing table may lack. */
  readonly optional: readonly string[];
  /** What the service does with the rows. Others write what it only reads: such a table comes first, and has a shape that is checked. */
  readonly access: 'read' | 'read and write';
}

/** A table with everything that statements need from its schema. */
export function defineTable(
  schema: EntitySchema,
  access: TableDefinition['access'],
  optional: readonly string[] = [],
): TableDefinition {
  const properties = Object.entries(schema.properties);
  const columns = properties.map(([name, { fieldName = name }]) => fieldName);
  return { name: schema.tableName, schema, columns, optional, access };
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  /** Whether an index makes it unique by itself. */
  readonly isUnique: boolean;
  readonly readable: boolean;
  readonly writable: boolean;
  /** Whether no policy of row-level security lets the role read a row. */
  readonly hidden: boolean;
  /** As in a statement: quoted where necessary. */
  readonly role: string;
}

/** What the search path finds under the name, and what this role may do with it. Every role may read the catalog. */
const columnsOf = (
  table: string,
) => `select attname::text as "name", pg_catalog.format_type(atttypid, null::int) as "type",
    attnotnull as "isRequired", exists (select from pg_catalog.pg_index where indrelid = attrelid and indisunique and indisvalid
      and indpred is null and indnkeyatts = 1::smallint and indkey[0] = attnum) as "isUnique",
    pg_catalog.has_column_privilege(attrelid, attnum, 'SELECT') as "readable",
    pg_catalog.has_table_privilege(attrelid, 'INSERT') and pg_catalog.has_table_privilege(attrelid, 'UPDATE')
      and pg_catalog.has_table_privilege(attrelid, 'DELETE') as "writable",
    pg_catalog.quote_ident(current_user) as "role", ${hidesRows('attrelid')} as "hidden"
  from pg_catalog.pg_attribute
  where attrelid = pg_catalog.to_regclass('${table}')::oid and attnum > 0 and not attisdropped`;

/** A table that is open: statements for requests, and its health. */
export interface OpenTable extends Dependency {
  readonly runner: Runner;
}

/**
 * Connects with a separate pool, and creates the table if it is missing. If the database cannot be reached, it resolves
 * anyway and continues to try; until it succeeds, statements throw DependencyUnavailable. Throws TableUnusable if the
 * table exists but cannot be used, and then leaves nothing open.
 *
 * @param name what the table is for, in words for an operator.
 * @param read what probes read: the statement of requests, with values that no row matches.
 */
export async function openTable(
  name: DatabaseName,
  table: TableDefinition,
  options: ConnectionOptions,
  log: DatabaseLog,
  read?: Statement,
): Promise<OpenTable> {
  const connection = await openConnection(options, table.schema);
  const note = async () => {
    const rows = await runStatement(connection, { text: `select from ${table.name} limit 1` });
    return rows.length === 0 ? NO_CLIENT : undefined;
  };
  const probe =
    read === undefined
      ? probeTable(table, connection, (isSuspected) => useNoRow(table, isSuspected))
      : { ...probeTable(table, connection, () => read), note };
  const health = new TableHealth(probe, log);
  // Notices that the server closed an idle connection before a request uses it.
  connection.pool.on('error', () => health.suspected());
  const close = async () => {
    health.close();
    await connection.close();
  };
  try {
    await health.start();
    // Only a warning: a role that may not read the catalog of roles needs no more than its tables.
    const risks = health.fault === undefined ? await findSchemaRisks(connection).catch(() => []) : [];
    for (const { line } of risks) log(line);
  } catch (problem) {
    await close();
    throw problem;
  }
  const times = options.measure?.(name, () => connection.load());
  return { name, runner: new Runner({ connection, health, name, times }), readiness: () => health.readiness(), close };
}

/** Takes the lock and needs the privileges of every read of the table. */
function readNoRow({ name, columns, optional }: TableDefinition): Statement {
  const always = columns.filter((column) => !optional.includes(column));
  return { text: `select ${always.join(', ')} from ${name} limit 0` };
}

/** How long a probe waits for a lock, since it holds a connection meanwhile. */
const PROBE_LOCK_MS = 100;

/** As long as the longest values of a row. A column of numbers takes it too, as 0. */
const ANY_VALUE = `'${'0'.repeat(300)}'`;

/**
 * What the service does with the table, without a row: a standby, a role that is read-only by default and a lock refuse it.
 * A full disk refuses only a row, so a table that is suspected gets one, which nobody sees and which is rolled back.
 */
function useNoRow(table: TableDefinition, isSuspected: boolean): Statement {
  const { name, access, columns } = table;
  const patience = `set local lock_timeout = ${PROBE_LOCK_MS}`;
  if (access !== 'read and write') return { text: `${patience}; ${readNoRow(table).text}` };
  const insert = `${patience}; insert into ${name} (${columns.join(', ')})`;
  if (!isSuspected) return { text: `${insert} select ${columns.join(', ')} from ${name} limit 0` };
  return {
    text: `begin; ${insert} values (${columns.map(() => ANY_VALUE).join(', ')}); rollback`,
    leavesTransaction: true,
  };
}

/**
 * Creates a missing table, `clients` only where there is none of our tables, and the others after it; never alters an existing one. If
 * two replicas start at once, both find the table. The catalog names what is missing, and the statement finds out what only a statement can: a lock, or an index or a file that is broken.
 *
 * @param use returns what checks run.
 */
export function probeTable(
  table: TableDefinition,
  connection: Connection,
  use: (isSuspected: boolean) => Statement = () => readNoRow(table),
): TableProbe {
  const readColumns = () => runStatement<Column>(connection, { text: columnsOf(table.name) });
  return {
    async check(isSuspected = false) {
      assertUsable(table, await readColumns());
      await runStatement(connection, use(isSuspected)).catch((fault) => {
        // A constraint does not accept the value. Whether rows can be used, requests find out.
        if (!hasState(fault, SQLSTATE.valueRefused)) throw fault;
      });
    },
    async prepare() {
      const there = await runStatement<{ readonly name: string }>(connection, { text: FIND_OWN_TABLES });
      // Looked for after the others: they are created after `clients`.
      if ((await readColumns()).length > 0) return false;
      if (table.access === 'read') {
        const lost = lostClients(there);
        if (lost !== undefined) throw new TableUnusable(lost);
      } else if (!hasClients(there)) throw new Error('table clients is not there yet');
      if (!connection.mayCreate) throw await notCreated(table.name, connection);
      return create(table, connection);
    },
  };
}

/** False if another process was faster. The text is one round trip, and so one transaction. */
async function create({ name }: TableDefinition, connection: Connection): Promise<boolean> {
  try {
    await runStatement(connection, { text: await connection.createTableSql(name) });
    return true;
  } catch (fault) {
    if (hasState(fault, SQLSTATE.createdConcurrently)) return false;
    if (hasState(fault, SQLSTATE.creationDenied)) {
      throw missing(name, MIGRATE, ', and the database role may not create it');
    }
    throw fault;
  }
}

function missing(table: string, fix: string, more = ''): TableUnusable {
  return new TableUnusable({ code: 'table_missing', text: `table ${table} does not exist${more}`, fix });
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

const MIGRATE = 'npm run migrate -- --grant-to <role>, with the DATABASE_URL of a role that may create tables';
const ADD_COLUMN =
  'add it: no program of the service changes a table that exists. If the table is that of another application, give the service its own schema or database: ?options=-c%20search_path%3D<schema> in DATABASE_URL';

function assertUsable(definition: TableDefinition, found: readonly Column[]): void {
  const { name: table, columns, optional, access } = definition;
  if (found.length === 0) throw missing(table, access === 'read' ? BRING_BACK : 'npm run migrate creates it');
  const without = (isGood: (column: Column) => boolean) =>
    columns.filter((name) => !found.some((column) => column.name === name && isGood(column)));
  const absent = without(() => true);
  const lacking = absent.filter((name) => !optional.includes(name));
  if (lacking.length > 0) {
    const text = `table ${table} lacks the column ${lacking.join(', ')}`;
    const fix = lacking.includes('details') ? 'run npm run migrate' : ADD_COLUMN;
    throw new TableUnusable({ code: 'column_missing', text, fix });
  }
  const unreadable = without(({ readable }) => readable).filter((name) => !absent.includes(name));
  if (unreadable.length > 0) {
    const text = `the database role may not read the column ${unreadable.join(', ')} of table ${table}`;
    throw grantMissing(definition, found, text);
  }
  if (access === 'read and write' && found.some(({ writable }) => !writable)) {
    const text = `the database role may not insert, update and delete rows of table ${table}`;
    throw grantMissing(definition, found, text);
  }
  if (found.some(({ hidden }) => hidden)) {
    const text = `row-level security of table ${table} hides all rows from the database role`;
    const fix = `create policy authorization_service on ${table} to ${roleOf(found)} using (true);`;
    throw new TableUnusable({ code: 'rows_hidden', text, fix });
  }
  const changes = access === 'read' ? found.flatMap(changesOf) : [];
  if (changes.length > 0) {
    const text = `table ${table} has another shape than the service needs`;
    throw new TableUnusable({ code: 'table_shape', text, fix: `alter table ${table} ${changes.join(', ')};` });
  }
}

function grantMissing(definition: TableDefinition, found: readonly Column[], text: string): TableUnusable {
  const present = definition.columns.filter((name) => found.some((column) => column.name === name));
  const fix = `${grantOf('service', definition, roleOf(found), present)};`;
  return new TableUnusable({ code: 'grant_missing', text, fix });
}

function roleOf([column]: readonly Column[]): string {
  return column?.role ?? '<role>';
}

const TEXTS = ['client_id', 'client_secret', 'client_name', 'scope'];

/** What `alter table` has to do about a column of `clients`, which another application may have created. */
function changesOf({ name, type, isRequired, isUnique }: Column): readonly string[] {
  if (!TEXTS.includes(name) && name !== 'details') return [];
  const isGood = name === 'details' ? type === 'jsonb' : type === 'text';
  return [
    ...(isGood ? [] : [`alter column ${name} type ${name === 'details' ? 'jsonb' : 'text'}`]),
    ...(isRequired ? [] : [`alter column ${name} set not null`]),
    ...(name !== 'client_id' || isUnique ? [] : ['add unique (client_id)']),
  ];
}

/**
 * A table without which the service can do most of its work: a fault is a note.
 *
 * @param stop ends what uses it, before it is closed.
 */
export function alwaysReady({ name, readiness, close }: Dependency, stop: () => void): Dependency {
  return {
    name,
    readiness() {
      const state = readiness();
      return state.ready ? state : { ready: true, note: state.reason };
    },
    async close() {
      stop();
      await close();
    },
  };
}
