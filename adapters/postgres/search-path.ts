import type { ClientBase, QueryResult } from 'pg';

/** The tables of the service. A statement names one as `$schema.<name>`, also as a literal: `'$schema.<name>'::regclass`. */
const TABLES = [
  'clients',
  'client_secrets',
  'client_keys',
  'client_subjects',
  'client_resources',
  'signing_keys',
  'signing_key_states',
  'used_assertions',
  'service_replicas',
  'client_credentials_migrations',
];

const TABLE_NAME = /('?)\$schema\.(\w+)\1/g;

export interface FoundTable {
  readonly exists: boolean;
  readonly readable: boolean;
  /** No policy of row-level security lets the role read a row. */
  readonly hidden: boolean;
}

/** What the search path finds under the name. Every role may read the catalog. */
export const findTable = (table: string) => {
  const found = `pg_catalog.to_regclass('$schema.${table}')`;
  return `select ${found} is not null as "exists",
    coalesce(pg_catalog.has_table_privilege(${found}, 'SELECT'), false) as "readable",
    coalesce(pg_catalog.row_security_active(${found}::oid), false) and not exists (select from pg_catalog.pg_policy
      where polrelid = ${found}::oid and polpermissive and polcmd in ('*', 'r') and exists (select
        from pg_catalog.unnest(polroles) as r where r = 0::oid or pg_catalog.pg_has_role(r, 'USAGE'))) as "hidden"`;
};

/**
 * PostgreSQL prefers a better matching function or operator in any schema of the search path to that of `pg_catalog`, so a
 * role that may create objects in one of them could run its own code in our statements (CVE-2018-1058). Functions and
 * operators are never searched in `pg_temp`. Several statements in one text, and so one transaction also behind a pooler. It
 * begins with the path of the role or the URL, since a pooler may hand over a session that has the fixed one.
 */
const FIX_SEARCH_PATH = `reset search_path;
  select pg_catalog.array_to_json(pg_catalog.current_schemas(false))::pg_catalog.text as "path",
    (select pg_catalog.json_object_agg(relname, relnamespace::pg_catalog.regnamespace) from pg_catalog.pg_class
      where relname operator(pg_catalog.=) any ('{${TABLES.join(',')}}'::pg_catalog.name[])
        and pg_catalog.pg_table_is_visible(oid))::pg_catalog.text as "schemas";
  set search_path = pg_catalog, pg_temp`;

/**
 * Makes a new connection search functions and operators in `pg_catalog` only, and each of our tables where the search path
 * found it. A missing table belongs into the first schema of that path. Returns the path: schemas that exist and that the
 * role may use.
 */
export async function fixSearchPath(client: ClientBase, timeoutMs: number): Promise<readonly string[]> {
  const results: unknown = await client.query(Object.assign({ text: FIX_SEARCH_PATH }, { query_timeout: timeoutMs }));
  const [, answer] = results as readonly QueryResult<{ readonly path: string; readonly schemas: string | null }>[];
  const path: readonly string[] = JSON.parse(answer?.rows[0]?.path ?? '[]');
  const found: Readonly<Record<string, string>> = JSON.parse(answer?.rows[0]?.schemas ?? '{}');
  // Nobody can create a table in pg_catalog.
  const first = client.escapeIdentifier(path[0] ?? 'pg_catalog');
  const qualify = (text: string) =>
    text.replace(TABLE_NAME, (_, quote: string, table: string) => {
      if (!TABLES.includes(table)) throw new Error(`${table} is not a table of the service`);
      const name = `${found[table] ?? first}.${table}`;
      return quote === '' ? name : client.escapeLiteral(name);
    });
  qualifyStatements(client, qualify);
  return path;
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
