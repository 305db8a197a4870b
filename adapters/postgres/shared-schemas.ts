import type { Connection } from './connection.ts';
import type { DatabaseLine, SharedSchema } from './database-log.ts';
import { runStatement } from './runner.ts';

/**
 * The roles that somebody has given the right to create in a schema of the search path. Trusted are its owner, the owner of the
 * database and who may act as that role, superusers among them, this role, and the roles that it belongs to. Superusers are said
 * to be members of every role, which counts for nothing. Parameter: the names in the search path, as JSON.
 */
const FIND_SHARED = `select pg_catalog.quote_ident(nspname::text) as "schema",
    pg_catalog.string_agg(case when grantee = 0::oid then 'public' else grantee::regrole::text end, ', ' order by grantee) as "roles"
  from pg_catalog.pg_namespace, pg_catalog.aclexplode(nspacl), pg_catalog.pg_database, pg_catalog.pg_roles as self
  where datname = pg_catalog.current_database() and rolname = current_user and privilege_type = 'CREATE' and grantee <> nspowner
    and nspname::text in (select case value when '$user' then current_user::text else value end
      from pg_catalog.json_array_elements_text($1::json) where pg_catalog.left(value, 3) <> 'pg_')
    and (grantee = 0::oid or not pg_catalog.pg_has_role(grantee, datdba, 'MEMBER')
      and not (grantee = self.oid or not rolsuper and pg_catalog.pg_has_role(grantee, 'MEMBER')))
  group by nspname order by nspname`;

/** Nobody who takes over the service should be able to register clients. */
const MAY_WRITE = `select current_user::text as "role", pg_catalog.has_table_privilege('clients', 'INSERT, UPDATE, DELETE, TRUNCATE') as "may"`;

/** What lets the role of the service do more than it needs to. */
export async function findRoleRisks(connection: Connection): Promise<readonly DatabaseLine[]> {
  const [found] = await runStatement<{ readonly role: string; readonly may: boolean }>(connection, { text: MAY_WRITE });
  if (!found?.may) return [];
  const fix =
    'give DATABASE_URL a role of its own: npm run migrate -- --grant-to <role>, which keeps this one for migrations';
  return [{ event: 'role_may_write_clients', role: found.role, fix }];
}

/** What lets another role put a table, a function or an operator in the place of ours. Every role may ask this. */
export async function findSchemaRisks(connection: Connection): Promise<readonly DatabaseLine[]> {
  const { names } = await connection.searchPath();
  const shared = await runStatement<SharedSchema>(connection, { text: FIND_SHARED, values: [JSON.stringify(names)] });
  const risks: DatabaseLine[] = shared.map(({ schema, roles }) => {
    return { event: 'schema_shared', schema, roles, fix: `revoke create on schema ${schema} from ${roles};` };
  });
  if (names.indexOf('pg_catalog') <= 0) return risks;
  // A pooler may run statements with functions and operators of the schemas before it.
  const fix = 'leave pg_catalog out of the search_path of the role, the database or DATABASE_URL';
  return [...risks, { event: 'search_path_unsafe', search_path: names.join(', '), fix }];
}
