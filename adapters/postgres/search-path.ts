import type { ClientBase, QueryResult } from 'pg';
import { TABLE_NAMES } from './own-tables.ts';

const NAMED_TABLE = /('?)\$schema\.(\w+)\1/g;

export interface FoundTable {
  readonly exists: boolean;
}

/** What the search path finds under the name. Every role may read the catalog. */
export const findTable = (table: string) => {
  const found = `pg_catalog.to_regclass('$schema.${table}')`;
  return `select ${found} is not null as "exists"`;
};

/** Whether no policy of row-level security lets the role read a row of the table with this oid. */
export const hidesRows = (oid: string) =>
  `coalesce(pg_catalog.row_security_active(${oid}), false) and not exists (select from pg_catalog.pg_policy
      where polrelid = ${oid} and polpermissive and polcmd in ('*', 'r') and exists (select
        from pg_catalog.unnest(polroles) as r where r = 0::oid or pg_catalog.pg_has_role(r, 'USAGE')))`;

/** The schema in which the connections of one pool find each table: where the first one found it, as long as it is there. */
export type TablePlaces = Map<string, { readonly schema: string; found?: string }>;

/** A new connection found a table in another schema than those before it, and uses that of those before it. */
export interface ShadowedTable {
  readonly table: string;
  /** Both as in a statement. */
  readonly schema: string;
  readonly found: string;
}

export interface SearchPath {
  /** The schemas that exist and that the role may use. */
  readonly schemas: readonly string[];
  /** Every name in the setting. */
  readonly names: readonly string[];
  /** A statement as it is sent: `$schema.` is replaced. */
  readonly qualify: (text: string) => string;
}

/**
 * PostgreSQL prefers a better matching function or operator in any schema of the search path to that of `pg_catalog`, so a
 * role that may create objects in one of them could run its own code in our statements (CVE-2018-1058). Functions and
 * operators are never searched in `pg_temp`. Several statements in one text, and so one transaction also behind a pooler. It
 * begins with the path of the role or the URL, since a pooler may hand over a session that has the fixed one. All operators
 * are qualified: that path may have another schema before `pg_catalog`.
 */
const FIX_SEARCH_PATH = `reset search_path;
  select pg_catalog.array_to_json(pg_catalog.current_schemas(false))::pg_catalog.text as "path",
    pg_catalog.current_setting('search_path') as "setting",
    (select pg_catalog.json_object_agg(relname, places) from (
      select relname, pg_catalog.json_agg(relnamespace::pg_catalog.regnamespace order by place) as places
      from pg_catalog.unnest(pg_catalog.current_schemas(false)) with ordinality as visible (name, place)
        join pg_catalog.pg_namespace on nspname operator(pg_catalog.=) visible.name
        join pg_catalog.pg_class on relnamespace operator(pg_catalog.=) pg_namespace.oid
      where relname operator(pg_catalog.=) any ('{${TABLE_NAMES.join(',')}}'::pg_catalog.name[])
      group by relname) as found)::pg_catalog.text as "tables";
  set search_path = pg_catalog, pg_temp`;

/**
 * Makes a new connection search functions and operators in `pg_catalog` only, and each of our tables where the search path
 * found it. A missing table belongs into the first schema of that path. Returns that path.
 *
 * @param places what earlier connections have found. This one adds to it.
 * @param onShadowed called once for a table and a schema.
 */
export async function fixSearchPath(
  client: ClientBase,
  timeoutMs: number,
  places: TablePlaces,
  onShadowed: (shadowed: ShadowedTable) => void = () => {},
): Promise<SearchPath> {
  const results: unknown = await client.query(Object.assign({ text: FIX_SEARCH_PATH }, { query_timeout: timeoutMs }));
  const [, answer] = results as readonly QueryResult<
    Readonly<Record<'path' | 'setting', string>> & { readonly tables: string | null }
  >[];
  const { path = '[]', setting = '', tables } = answer?.rows[0] ?? {};
  const schemas: readonly string[] = JSON.parse(path);
  const found: Readonly<Record<string, readonly string[]>> = JSON.parse(tables ?? '{}');
  for (const [table, [first = '', ...others]] of Object.entries(found)) {
    const place = places.get(table);
    if (place === undefined || ![first, ...others].includes(place.schema)) places.set(table, { schema: first });
    else if (place.schema !== first && place.found !== first) {
      place.found = first;
      onShadowed({ table, schema: place.schema, found: first });
    }
  }
  // Nobody can create a table in pg_catalog.
  const first = client.escapeIdentifier(schemas[0] ?? 'pg_catalog');
  const qualify = (text: string) =>
    text.replace(NAMED_TABLE, (_, quote: string, table: string) => {
      if (!TABLE_NAMES.includes(table)) throw new Error(`${table} is not a table of the service`);
      const name = `${places.get(table)?.schema ?? first}.${table}`;
      return quote === '' ? name : client.escapeLiteral(name);
    });
  qualifyStatements(client, qualify);
  return { schemas, names: namesIn(setting), qualify };
}

/** The names in the setting. Those without quotes are in lower case, as for the server. */
function namesIn(setting: string): readonly string[] {
  return Array.from(
    setting.matchAll(/"((?:[^"]|"")+)"|([^\s,"]+)/g),
    ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain.toLowerCase(),
  );
}

/** Changes the text of each statement on its way to the server. Those with a name have one text, and are changed once. */
function qualifyStatements(client: ClientBase, qualify: (text: string) => string): void {
  const query: (...args: readonly unknown[]) => unknown = client.query.bind(client);
  const named = new Map<string, string>();
  const textOf = ({ name, text }: { readonly name?: string; readonly text: string }) => {
    if (name === undefined) return qualify(text);
    const qualified = named.get(name) ?? qualify(text);
    named.set(name, qualified);
    return qualified;
  };
  const qualified = (
    statement: string | { readonly name?: string; readonly text: string },
    ...rest: readonly unknown[]
  ) =>
    typeof statement === 'string'
      ? query(qualify(statement), ...rest)
      : query({ ...statement, text: textOf(statement) }, ...rest);
  client.query = qualified as ClientBase['query'];
}
