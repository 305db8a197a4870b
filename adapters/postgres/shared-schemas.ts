import type { Connection } from './connection.ts';
import type { SharedSchema } from './health.ts';
import { runStatement } from './runner.ts';

/** Those who can change our tables anyway are left out: superusers, the owners of the schema and of `clients`, and this role. */
const FIND_SHARED = `select pg_catalog.quote_ident(nspname) as "schema",
    pg_catalog.string_agg(case when grantee = 0::oid then 'public' else grantee::regrole::text end, ', ') as "roles"
  from pg_catalog.pg_namespace, pg_catalog.aclexplode(nspacl)
  where nspname::text in (select value from pg_catalog.json_array_elements_text($1::json))
    and privilege_type = 'CREATE' and grantee <> nspowner
    and not exists (select from pg_catalog.pg_roles where oid = grantee and (rolsuper or rolname = current_user))
    and not exists (select from pg_catalog.pg_class
      where oid = pg_catalog.to_regclass('$schema.clients')::oid and relowner = grantee)
  group by nspname`;

/** Every role may ask this. */
export async function findSharedSchemas(connection: Connection): Promise<readonly SharedSchema[]> {
  const values = [JSON.stringify(await connection.searchPath())];
  return runStatement<SharedSchema>(connection, { text: FIND_SHARED, values });
}
