import type { EntitySchema } from '@mikro-orm/core';
import type { Dependency } from '../../application/ports/health-check.ts';
import { type Connection, type ConnectionOptions, openConnection } from './connection.ts';
import { hasState, SQLSTATE, TableUnusable } from './fault.ts';
import { DatabaseHealth, type DatabaseLog, type TableProbe } from './health.ts';
import { Runner, runStatement, type Statement } from './runner.ts';

/** A table that the service uses. */
export interface TableDefinition<Property extends string = string> {
  readonly name: string;
  /** Describes the columns, and creates the table if it is missing and of the service. */
  readonly schema: EntitySchema;
  /** The columns, by property of the record. An existing table must have them; it may have more. */
  readonly columns: Readonly<Record<Property, string>>;
  /** Reads every column as text under the name of its property: ids beyond 2^53 keep their digits, whatever type a column has. */
  readonly selectList: string;
  /** What the service does with the rows. */
  readonly access: 'read' | 'read and write';
  /** Who creates it where it is missing: the service itself, or `npm run migrate`. */
  readonly origin: 'service' | 'migration';
}

/** Derives everything that statements need from the schema of a table. */
export function defineTable<Properties extends Readonly<Record<string, unknown>>>(
  schema: EntitySchema & { readonly properties: Properties },
  access: TableDefinition['access'],
  origin: TableDefinition['origin'] = 'service',
): TableDefinition<keyof Properties & string> {
  const names = Object.keys(schema.properties) as (keyof Properties & string)[];
  const columns = Object.fromEntries(names.map((name) => [name, schema.properties[name].fieldName ?? name]));
  const selectList = names.map((name) => `${columns[name]}::text as "${name}"`).join(', ');
  const common = { name: schema.tableName, schema, selectList, access, origin };
  return { ...common, columns: columns as Record<keyof Properties, string> };
}

interface Column {
  readonly name: string;
  readonly readable: boolean;
  readonly writable: boolean;
}

/** What the search path finds under the name, and what this role may do with it. Every role may read the catalog. */
const columnsOf = (table: string) => `select attname::text as "name",
    pg_catalog.has_column_privilege(attrelid, attnum, 'SELECT') as "readable",
    pg_catalog.has_table_privilege(attrelid, 'INSERT') and pg_catalog.has_table_privilege(attrelid, 'UPDATE')
      and pg_catalog.has_table_privilege(attrelid, 'DELETE') as "writable"
  from pg_catalog.pg_attribute
  where attrelid = pg_catalog.to_regclass('$schema.${table}')::oid and attnum > 0 and not attisdropped`;

/** A table that is open: statements for requests, and the health of its database. */
export interface OpenTable extends Dependency {
  readonly runner: Runner;
}

/**
 * Connects with a separate pool, and creates the tables that are missing. If the database cannot be reached, it resolves
 * anyway and continues to try; until it succeeds, statements throw DependencyUnavailable. Throws TableUnusable if a
 * table exists but cannot be used, and then leaves nothing open.
 *
 * @param name what the tables are for, in words for an operator.
 * @param read what probes read of the first table: the statement of requests, with values that no row matches.
 * @param more further tables that belong to it.
 */
export async function openTable(
  name: string,
  definition: TableDefinition,
  options: ConnectionOptions,
  log: DatabaseLog,
  read?: Statement,
  ...more: readonly TableDefinition[]
): Promise<OpenTable> {
  const connection = await openConnection(options, definition.schema, ...more.map(({ schema }) => schema));
  const probes = [probeTable(definition, connection, read), ...more.map((table) => probeTable(table, connection))];
  const health = new DatabaseHealth(name, probeAll(probes), log);
  // Notices that the server closed an idle connection before a request uses it.
  connection.pool.on('error', () => health.suspected());
  const close = async () => {
    health.close();
    await connection.close();
  };
  try {
    await health.start();
  } catch (problem) {
    await close();
    throw problem;
  }
  const runner = new Runner(
    connection,
    health,
    options.measure?.(name, () => connection.load()),
  );
  return { name, runner, readiness: () => health.readiness(), close };
}

/** Takes the lock and needs the privileges of every read of the table. */
function readNoRow({ name, selectList }: TableDefinition): Statement {
  return { text: `select ${selectList} from $schema.${name} limit 0` };
}

/**
 * Creates a missing table and never alters an existing one. If two replicas start at once, both find the table. The catalog
 * names what is missing, and the read finds out what only a read can: a lock, or an index or a file that is broken.
 */
export function probeTable(
  table: TableDefinition,
  connection: Connection,
  read: Statement = readNoRow(table),
): TableProbe {
  const readColumns = () => runStatement<Column>(connection, { text: columnsOf(table.name) });
  const check = async () => {
    assertUsable(table, await readColumns());
    await runStatement(connection, read).catch((fault) => {
      // The type of a column does not accept the value. Whether rows can be read, requests find out.
      if (!hasState(fault, SQLSTATE.dataException)) throw fault;
    });
  };
  return {
    check,
    async prepare() {
      const isMissing = (await readColumns()).length === 0;
      if (isMissing && table.origin === 'migration') {
        throw new TableUnusable(`table ${table.name} does not exist: run npm run migrate`);
      }
      if (isMissing && (await create(table, connection))) return 'created';
      await check();
      return 'found';
    },
  };
}

/** One probe for several tables. They count as created if one of them was. */
function probeAll(probes: readonly TableProbe[]): TableProbe {
  return {
    async check() {
      for (const probe of probes) await probe.check();
    },
    async prepare() {
      let outcome: 'created' | 'found' = 'found';
      for (const probe of probes) if ((await probe.prepare()) === 'created') outcome = 'created';
      return outcome;
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
      throw new TableUnusable(`table ${name} does not exist, and the database role may not create it`);
    }
    throw fault;
  }
}

function assertUsable({ name: table, columns, access }: TableDefinition, found: readonly Column[]): void {
  if (found.length === 0) throw new TableUnusable(`table ${table} does not exist`);
  const without = (isGood: (column: Column) => boolean) =>
    Object.values(columns).filter((name) => !found.some((column) => column.name === name && isGood(column)));
  const missing = without(() => true);
  if (missing.length > 0) throw new TableUnusable(`table ${table} lacks the column ${missing.join(', ')}`);
  const unreadable = without(({ readable }) => readable);
  if (unreadable.length > 0) {
    throw new TableUnusable(`the database role may not read the column ${unreadable.join(', ')} of table ${table}`);
  }
  if (access === 'read and write' && found.some(({ writable }) => !writable)) {
    throw new TableUnusable(`the database role may not insert, update and delete rows of table ${table}`);
  }
}
