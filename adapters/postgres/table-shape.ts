import { BRING_BACK } from '../../application/client-lookup.ts';
import type { Problem } from '../../domain/problem.ts';
import type { Connection } from './connection.ts';
import { TableUnusable } from './fault.ts';
import { runStatement } from './runner.ts';
import { RECORD, type TableDefinition } from './tables.ts';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  /** Whether an index makes it unique by itself. */
  readonly isUnique: boolean;
  /** Whether no policy of row-level security lets the role read a row. */
  readonly hidden: boolean;
  /** As in a statement: quoted where necessary. */
  readonly role: string;
  /** Of the database. */
  readonly encoding: string;
  /** Whether the comment of the table says that it has had all columns. */
  readonly isRecorded: boolean;
}

/** Whether no policy of row-level security lets the role read a row of the table with this oid. */
const hidesRows = (oid: string) =>
  `coalesce(pg_catalog.row_security_active(${oid}), false) and not exists (select from pg_catalog.pg_policy
      where polrelid = ${oid} and polpermissive and polcmd in ('*', 'r') and exists (select
        from pg_catalog.unnest(polroles) as r where r = 0::oid or pg_catalog.pg_has_role(r, 'USAGE')))`;

/** What the search path finds under the name. Every role may read the catalog. */
const columnsOf = (
  table: string,
) => `select attname::text as "name", pg_catalog.format_type(atttypid, null::int) as "type",
    attnotnull as "isRequired", exists (select from pg_catalog.pg_index where indrelid = attrelid and indisunique and indisvalid
      and indpred is null and indnkeyatts = 1::smallint and indkey[0] = attnum) as "isUnique",
    pg_catalog.quote_ident(current_user) as "role", pg_catalog.current_setting('server_encoding') as "encoding", ${hidesRows('attrelid')} as "hidden",
    pg_catalog.strpos(coalesce(pg_catalog.obj_description(attrelid, 'pg_class'), ''), '${RECORD}') > 0 as "isRecorded"
  from pg_catalog.pg_attribute
  where attrelid = pg_catalog.to_regclass('${table}')::oid and attnum > 0 and not attisdropped`;

/** What the table has; nothing of one that is missing. */
export function readColumns({ name }: TableDefinition, connection: Connection): Promise<readonly Column[]> {
  return runStatement<Column>(connection, { text: columnsOf(name) });
}

export function missing(table: string, fix: string, more = ''): TableUnusable {
  return new TableUnusable({ code: 'table_missing', text: `table ${table} does not exist${more}`, fix });
}

const UTF8 = 'UTF8';

/** What is wrong with the encoding of a database; undefined if nothing is. */
export function encodingProblem(encoding: string | undefined): Problem | undefined {
  if (encoding === UTF8) return undefined;
  return {
    code: 'encoding',
    text: `the database has the encoding ${encoding}, which lacks characters that a client id may have`,
    fix: `create a database with encoding '${UTF8}' for the tables`,
  };
}

/** An empty column in the place of a lost one would have tokens issued without claims, and secrets and keys refused. */
function assertNotLost({ name: table, optional }: TableDefinition, found: readonly Column[], wereThere: boolean): void {
  const lacking = optional.filter((name) => !found.some((column) => column.name === name));
  if (lacking.length === 0) return;
  const isKnown = wereThere || found.some(({ isRecorded }) => isRecorded);
  const text = `table ${table} lacks the column ${lacking.join(', ')}, which it has had`;
  if (isKnown) throw new TableUnusable({ code: 'column_lost', text, fix: BRING_BACK });
  if (lacking.length === optional.length) return;
  throw new TableUnusable({
    code: 'table_before_1_0_0',
    text: `table ${table} was created by a version before 1.0.0`,
    fix: 'export its clients with that version, and import them into a new database',
  });
}

/**
 * Throws TableUnusable if the table has not the columns that it needs.
 *
 * @param wereThere whether it has had the columns that it may lack.
 */
export function assertShape(definition: TableDefinition, found: readonly Column[], wereThere = false): void {
  const { name: table, columns, optional, access } = definition;
  assertNotLost(definition, found, wereThere);
  const fits = (name: string) => {
    const column = found.find((each) => each.name === name);
    return column === undefined ? optional.includes(name) : access === 'read and write' || hasShape(column);
  };
  const unfit = columns.filter((name) => !fits(name));
  if (unfit.length === 0) return;
  const text = `table ${table} has no column ${unfit.join(', ')} as the service needs it`;
  const own = 'give the service its own schema or database: ?options=-c%20search_path%3D<schema> in DATABASE_URL';
  const fix = `docs/operate.md, Roles and grants, has the columns; if the table is that of another application, ${own}`;
  throw new TableUnusable({ code: 'table_shape', text, fix });
}

const TYPES: Readonly<Record<string, readonly string[]>> = {
  // Each look-up of a stranger reads the row of a client, or of another one, by this number.
  id: ['bigint', 'integer', 'smallint'],
  credentials: ['jsonb'],
  details: ['jsonb'],
};

/** Of `clients`, which another application may have created. */
function hasShape({ name, type, isRequired, isUnique }: Column): boolean {
  return (TYPES[name] ?? ['text']).includes(type) && isRequired && (name !== 'client_id' || isUnique);
}

/** Throws TableUnusable if nobody can use the table, or this role finds no row in it. */
export function assertUsable(definition: TableDefinition, found: readonly Column[], wereThere = false): void {
  const { name: table, access } = definition;
  if (found.length === 0) throw missing(table, access === 'read' ? BRING_BACK : 'npm run migrate creates it');
  const wrong = encodingProblem(found[0]?.encoding);
  if (wrong !== undefined) throw new TableUnusable(wrong);
  assertShape(definition, found, wereThere);
  const [hiding] = found.filter(({ hidden }) => hidden);
  if (hiding !== undefined) {
    const text = `row-level security of table ${table} hides all rows from the database role`;
    const fix = `create policy authorization_service on ${table} to ${hiding.role} using (true);`;
    throw new TableUnusable({ code: 'rows_hidden', text, fix });
  }
}
