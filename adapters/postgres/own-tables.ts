import { BRING_BACK } from '../../application/client-lookup.ts';
import type { Problem } from '../../domain/problem.ts';
import { TABLES, type TableDefinition, type TableUser } from './tables.ts';

const ALL = ['select', 'insert', 'update', 'delete'];

/** The `grant` of what this user needs of a table, and no more. @param role quoted as in a statement. */
export function grantOf(user: TableUser, { name, access, columns }: TableDefinition, role: string): string {
  const rights = isRead(user, access) ? `select (${columns.join(', ')})` : ALL.join(', ');
  return `grant ${rights} on ${name} to ${role}`;
}

/** The service reads only some columns of a table that others write. */
function isRead(user: TableUser, access: TableDefinition['access']): boolean {
  return user === 'service' && access === 'read';
}

/**
 * A condition in SQL: the role has these privileges. Null if the table is missing. A column that is missing is left
 * out: who may read the others gets it with them.
 *
 * @param role an expression for its name.
 */
export function holdsGrant(user: TableUser, { name, access, columns }: TableDefinition, role: string): string {
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

const NAMES = TABLES.map(({ name, ownColumn }) => `('${name}', '${ownColumn}')`).join(', ');

/** Which of them are there. A table `clients` of any shape is: it is checked elsewhere. */
export const FIND_OWN_TABLES = `select name from (values ${NAMES}) as tables (name, own)
  where exists (select from pg_catalog.pg_attribute
    where attrelid = pg_catalog.to_regclass(name)::oid and not attisdropped and (attname::text = own or name = 'clients'))`;
