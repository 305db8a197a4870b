import { inWords, type Problem } from '../../domain/problem.ts';
import type { Connection } from './connection.ts';
import type { DatabaseLine, SharedSchema } from './database-log.ts';
import { hasState, SQLSTATE } from './fault.ts';
import { TABLE_NAMES } from './own-tables.ts';
import { runStatement } from './runner.ts';

/** What lets another role put a table, a function or an operator in the place of ours. */
interface SchemaRisk extends Problem {
  readonly line: DatabaseLine;
  /** The table that another role owns, if it is that. */
  readonly table?: string | null;
}

/**
 * Trusted are the owner of the database and who may act as that role, superusers among them; this role; the roles that these
 * two belong to; and the owner of `clients` who owns its schema too, unless another role owns a further `clients` of the path,
 * or the path finds the schema by the name of this role. A membership counts if nobody has granted it who may not act as the
 * owner of the database: up to PostgreSQL 14 a role can make others its members, and later one that creates roles those.
 * Superusers are said to be members of every role, which counts for nothing. Parameter: the names in the search path, as JSON.
 */
const FIND_SHARED = `with named as (
    select distinct case value when '$user' then current_user::text else value end as name
      from pg_catalog.json_array_elements_text($1::json) where pg_catalog.left(value, 3) <> 'pg_'),
  database as (select datdba, datacl from pg_catalog.pg_database where datname = pg_catalog.current_database()),
  schemas as (select pg_namespace.* from pg_catalog.pg_namespace join named on nspname::text = name),
  found as (select relname, relowner, pg_namespace.* from pg_catalog.pg_class join pg_catalog.pg_namespace on relnamespace = pg_namespace.oid
    where pg_class.oid in (${TABLE_NAMES.map((table) => `pg_catalog.to_regclass('${table}')::oid`).join(', ')})),
  trusted as (select oid from pg_catalog.pg_roles as other, database where rolname = 'pg_database_owner'
    or pg_catalog.pg_has_role(oid, datdba, 'MEMBER') or rolname = current_user
    or not exists (select from pg_catalog.pg_auth_members where roleid = other.oid
        and not pg_catalog.pg_has_role(grantor, datdba, 'MEMBER'))
      and exists (select from pg_catalog.pg_roles as self where (rolname = current_user or oid = datdba)
        and not rolsuper and pg_catalog.pg_has_role(oid, other.oid, 'MEMBER'))
    or exists (select from found where relname = 'clients' and relowner = other.oid and nspowner = relowner and nspname <> current_user)
      and not exists (select from pg_catalog.pg_class join schemas on relnamespace = schemas.oid
        where relname = 'clients' and relowner <> other.oid)),
  shared as (
    select nspname::text as name, 'create' as "by", grantee as role, 2 as place, null::text as "table"
      from schemas, pg_catalog.aclexplode(nspacl) where privilege_type = 'CREATE' and grantee <> nspowner
    union all select nspname::text, 'ownership', nspowner, 1, null from schemas
    union all select name, 'create on the database', grantee, 0, null from named, database, pg_catalog.aclexplode(datacl)
      where privilege_type = 'CREATE' and not exists (select from schemas where nspname::text = name)
    union all select nspname::text, 'ownership of ' || relname::text, relowner, 3, relname::text from found)
  select pg_catalog.quote_ident(name) as "schema", "by", "table",
    pg_catalog.string_agg(case when role = 0::oid then 'public' else role::regrole::text end, ', ' order by role) as "roles"
  from shared where role not in (select oid from trusted) group by name, "by", place, "table" order by place, name, "by"`;

type FoundRisk = SharedSchema & { readonly table: string | null };

/** Every role may ask this. None where the roles may not be read: it needs no more than its tables. */
export async function findSchemaRisks(connection: Connection): Promise<readonly SchemaRisk[]> {
  const { names } = await connection.searchPath();
  const statement = { text: FIND_SHARED, values: [JSON.stringify(names)] };
  const shared = await runStatement<FoundRisk>(connection, statement).catch((fault) => {
    if (hasState(fault, SQLSTATE.creationDenied)) return [];
    throw fault;
  });
  const risks: SchemaRisk[] = shared.map(({ table, ...row }) => {
    return { code: 'schema_shared', line: { event: 'schema_shared', ...row }, table, ...describe({ table, ...row }) };
  });
  if (names.indexOf('pg_catalog') <= 0) return risks;
  const path = names.join(', ');
  risks.push({
    code: 'search_path_unsafe',
    line: { event: 'search_path_unsafe', search_path: path },
    text: `the search path ${path} names other schemas before pg_catalog: a pooler may run statements with their functions and operators`,
    fix: 'leave pg_catalog out of the search_path of the role, the database or DATABASE_URL',
  });
  return risks;
}

/** Takes sentences for the person who runs a program. */
export type Warn = (message: string) => void;

/** The same for a program, which says it before it reads a table of ours or writes to one. */
export async function warnOfSchemas(connection: Connection, warn: Warn = () => {}): Promise<void> {
  for (const risk of await findSchemaRisks(connection)) warn(`Warning: ${inWords(risk)}`);
}

function describe({ schema, roles, by, table }: FoundRisk): Omit<Problem, 'code'> {
  const place = `the schema ${schema}, where the service finds its tables`;
  const otherPath = 'or name other schemas: alter role … set search_path = …;';
  if (by === 'create') {
    const fix = `revoke create on schema ${schema} from ${roles};`;
    return { text: `other roles may create objects in ${place}: ${roles}`, fix };
  }
  if (by === 'ownership') {
    return { text: `another role owns ${place}: ${roles}`, fix: `alter schema ${schema} owner to …; ${otherPath}` };
  }
  if (by === 'create on the database') {
    const text = `other roles may create the schema ${schema}, where the service looks for its tables: ${roles}`;
    return { text, fix: `revoke create on database … from ${roles}; ${otherPath}` };
  }
  const text = `another role owns the table ${schema}.${table}, and so what its triggers do: ${roles}`;
  const fix = `if it belongs there: alter table ${schema}.${table} owner to …; otherwise drop it`;
  return { text, fix };
}
