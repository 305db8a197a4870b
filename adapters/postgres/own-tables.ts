import { BRING_BACK } from '../../application/client-lookup.ts';
import type { Problem } from '../../domain/problem.ts';

/** What uses tables: the service, also with `ADMIN_API`, and the programs `clients` and `keys`. */
export type TableUser = 'service' | 'admin-api' | 'clients' | 'keys';

/** The tables of the service, with what uses each. */
const USERS: Readonly<Record<string, readonly TableUser[]>> = {
  clients: ['service', 'admin-api', 'clients'],
  key_ring: ['service', 'admin-api', 'keys'],
  used_assertions: ['service', 'admin-api'],
  revocations: ['service', 'admin-api', 'clients'],
  last_used: ['service', 'admin-api', 'clients'],
};

/** The tables that this user needs. */
export function tablesOf(user: TableUser): readonly string[] {
  return Object.keys(USERS).filter((table) => USERS[table]?.includes(user));
}

/** What a grant has to know of a table. */
interface GrantedTable {
  readonly name: string;
  readonly access: 'read' | 'read and write';
  readonly columns: readonly string[];
}

const ALL = ['select', 'insert', 'update', 'delete'];

/** The `grant` of what this user needs of a table, and no more. @param role quoted as in a statement. */
export function grantOf(user: TableUser, { name, access, columns }: GrantedTable, role: string): string {
  const rights = isRead(user, access) ? `select (${columns.join(', ')})` : ALL.join(', ');
  return `grant ${rights} on ${name} to ${role}`;
}

/** The service reads only some columns of a table that others write. */
function isRead(user: TableUser, access: GrantedTable['access']): boolean {
  return user === 'service' && access === 'read';
}

/**
 * A condition in SQL: the role has these privileges. Null if the table is missing. A column that is missing is left out: who may read
 * the others gets it with them.
 *
 * @param role an expression for its name.
 */
export function holdsGrant(user: TableUser, { name, access, columns }: GrantedTable, role: string): string {
  const found = `pg_catalog.to_regclass('${name}')::oid`;
  if (isRead(user, access)) {
    return `(select pg_catalog.bool_and(pg_catalog.has_column_privilege(${role}, attrelid, attnum, 'select'))
      from pg_catalog.pg_attribute where attrelid = ${found} and attname = any ('{${columns}}'::name[]))`;
  }
  return ALL.map((right) => `pg_catalog.has_table_privilege(${role}, ${found}, '${right}')`).join(' and ');
}

type FoundTables = readonly { readonly name: string }[];

export function hasClients(there: FoundTables): boolean {
  return there.some(({ name }) => name === 'clients');
}

/** Why `clients` is missing although others of these tables are there; undefined if it is not, or in a new database. */
export function lostClients(there: FoundTables): Problem | undefined {
  if (hasClients(there) || there.length === 0) return undefined;
  const text = `table clients does not exist, and ${there.map(({ name }) => name).join(', ')} ${there.length > 1 ? 'do' : 'does'}`;
  return { code: 'table_lost', text, fix: `${BRING_BACK}; an empty one would have every client refused` };
}

/** A column of each table that another application's table of the same name is unlikely to have. */
const OWN_COLUMNS = {
  clients: 'client_id',
  key_ring: 'sealed',
  used_assertions: 'kept_until',
  revocations: 'issued_until',
  last_used: 'last_day',
};

/** Which of them are there. A table `clients` of any shape is: it is checked elsewhere. */
export const FIND_OWN_TABLES = `select name from (values ${Object.entries(OWN_COLUMNS)
  .map(([name, column]) => `('${name}', '${column}')`)
  .join(', ')}) as tables (name, own) where exists (select from pg_catalog.pg_attribute
    where attrelid = pg_catalog.to_regclass(name)::oid and not attisdropped and (attname::text = own or name = 'clients'))`;
