import type { Connection } from './connection.ts';
import type { DatabaseLine } from './database-log.ts';
import { runStatement } from './runner.ts';
import type { TableDefinition } from './tables.ts';

/** Nobody who takes over the service should be able to register clients. */
const MAY_WRITE = `select current_user::text as "role", pg_catalog.has_table_privilege('clients', 'INSERT, UPDATE, DELETE, TRUNCATE') as "may"`;

/** What lets the service's role do too much, or others replace a function or an operator of PostgreSQL. */
export async function findRisks(connection: Connection, { access }: TableDefinition): Promise<readonly DatabaseLine[]> {
  const { names } = await connection.searchPath();
  const risks: DatabaseLine[] = [];
  if (names.indexOf('pg_catalog') > 0) {
    // A pooler may run statements with functions and operators of the schemas before it.
    const fix = 'leave pg_catalog out of the search_path of the role, the database or DATABASE_URL';
    risks.push({ event: 'search_path_unsafe', search_path: names.join(', '), fix });
  }
  if (access === 'read and write') return risks;
  const [found] = await runStatement<{ readonly role: string; readonly may: boolean }>(connection, { text: MAY_WRITE });
  if (!found?.may) return risks;
  const fix =
    'give DATABASE_URL a role of its own: npm run migrate -- --grant-to <role>, which keeps this one for migrations';
  return [...risks, { event: 'role_may_write_clients', role: found.role, fix }];
}
