import type { ClientBase } from 'pg';

export interface SearchPath {
  /** The schemas that exist and that the role may use. */
  readonly schemas: readonly string[];
  /** Every name in the setting of the role, the database or the URL. */
  readonly names: readonly string[];
  /** The setting that replaces it. */
  readonly safe: string;
}

/** A statement of the service retries nothing, as stricter levels would need. */
const READ_COMMITTED = `pg_catalog.set_config('default_transaction_isolation', 'read committed', false)`;

/**
 * The schemas of the path that the role, the database or the URL gives, without those of the system. `pg_catalog` is
 * searched first if it is not named, and `pg_temp` last only if it is named: so no table, function or operator of
 * another schema is taken for one of PostgreSQL (CVE-2018-1058). The path is read before it is replaced. A session of a
 * pooler may have the safe one already.
 */
const FIX_SEARCH_PATH = `select pg_catalog.current_setting('search_path') as "setting", pg_catalog.to_json(schemas)::pg_catalog.text as "schemas",
    pg_catalog.set_config('search_path', pg_catalog.array_to_string(pg_catalog.array_append(quoted, 'pg_temp'::pg_catalog.text), ', '), false) as "safe",
    ${READ_COMMITTED}
  from (select pg_catalog.array_agg(name::pg_catalog.text order by place) as schemas,
      pg_catalog.array_agg(pg_catalog.quote_ident(name::pg_catalog.text) order by place) as quoted
    from pg_catalog.unnest(pg_catalog.current_schemas(false)) with ordinality as found (name, place)
    where pg_catalog.left(name::pg_catalog.text, 3) operator(pg_catalog.<>) 'pg_'::pg_catalog.text) as path`;

const SET_SEARCH_PATH = `select pg_catalog.set_config('search_path', $1::pg_catalog.text, false), ${READ_COMMITTED}`;

/**
 * Makes a new connection search its schemas safely, whatever isolation level the role has by default. Returns the path
 * that the first one had.
 *
 * @param known what an earlier connection of the pool has found: a schema that appears later takes no place in its
 * path.
 */
export async function fixSearchPath(client: ClientBase, timeoutMs: number, known?: SearchPath): Promise<SearchPath> {
  const query = (text: string, values: readonly string[] = []) =>
    client.query<{ readonly setting: string; readonly schemas: string | null; readonly safe: string }>(
      Object.assign({ text, values: [...values] }, { query_timeout: timeoutMs }),
    );
  if (known !== undefined && known.schemas.length > 0) {
    await query(SET_SEARCH_PATH, [known.safe]);
    return known;
  }
  const { setting = '', schemas, safe = '' } = (await query(FIX_SEARCH_PATH)).rows[0] ?? {};
  const names = namesIn(setting).filter((name) => name !== 'pg_temp');
  return { schemas: JSON.parse(schemas ?? '[]'), names, safe };
}

/** The names in the setting. Those without quotes are in lower case, as for the server. */
function namesIn(setting: string): readonly string[] {
  return Array.from(
    setting.matchAll(/"((?:[^"]|"")+)"|([^\s,"]+)/g),
    ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain.toLowerCase(),
  );
}
