import { BRING_BACK } from '../../application/client-lookup.ts';
import type { Problem } from '../../domain/problem.ts';
import type { Connection } from './connection.ts';
import { TableUnusable } from './fault.ts';
import { grantOf } from './own-tables.ts';
import { runStatement } from './runner.ts';
import type { TableDefinition } from './table-definition.ts';

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
  /** Of the database. */
  readonly encoding: string;
}

/** Whether no policy of row-level security lets the role read a row of the table with this oid. */
const hidesRows = (oid: string) =>
  `coalesce(pg_catalog.row_security_active(${oid}), false) and not exists (select from pg_catalog.pg_policy
      where polrelid = ${oid} and polpermissive and polcmd in ('*', 'r') and exists (select
        from pg_catalog.unnest(polroles) as r where r = 0::oid or pg_catalog.pg_has_role(r, 'USAGE')))`;

/** What the search path finds under the name, and what this role may do with it. Every role may read the catalog. */
const columnsOf = (
  table: string,
) => `select attname::text as "name", pg_catalog.format_type(atttypid, null::int) as "type",
    attnotnull as "isRequired", exists (select from pg_catalog.pg_index where indrelid = attrelid and indisunique and indisvalid
      and indpred is null and indnkeyatts = 1::smallint and indkey[0] = attnum) as "isUnique",
    pg_catalog.has_column_privilege(attrelid, attnum, 'SELECT') as "readable",
    pg_catalog.has_table_privilege(attrelid, 'INSERT') and pg_catalog.has_table_privilege(attrelid, 'UPDATE')
      and pg_catalog.has_table_privilege(attrelid, 'DELETE') as "writable",
    pg_catalog.quote_ident(current_user) as "role", pg_catalog.current_setting('server_encoding') as "encoding", ${hidesRows('attrelid')} as "hidden"
  from pg_catalog.pg_attribute
  where attrelid = pg_catalog.to_regclass('${table}')::oid and attnum > 0 and not attisdropped`;

/** What the table has; nothing of one that is missing. */
export function readColumns({ name }: TableDefinition, connection: Connection): Promise<readonly Column[]> {
  return runStatement<Column>(connection, { text: columnsOf(name) });
}

export function missing(table: string, fix: string, more = ''): TableUnusable {
  return new TableUnusable({ code: 'table_missing', text: `table ${table} does not exist${more}`, fix });
}

const ADD_COLUMN =
  'add it: no program of the service changes a table that exists. If the table is that of another application, give the service its own schema or database: ?options=-c%20search_path%3D<schema> in DATABASE_URL';

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

/** Throws TableUnusable, with the statement that makes the table usable for this role. */
export function assertUsable(definition: TableDefinition, found: readonly Column[]): void {
  const { name: table, columns, optional, access } = definition;
  if (found.length === 0) throw missing(table, access === 'read' ? BRING_BACK : 'npm run migrate creates it');
  const wrong = encodingProblem(found[0]?.encoding);
  if (wrong !== undefined) throw new TableUnusable(wrong);
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
    const what = unreadable.length === 1 ? 'column' : 'columns';
    const text = `the database role may not read the ${what} ${unreadable.join(', ')} of table ${table}`;
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
