import { CLIENTS } from './client-entity.ts';
import { OWN_TABLES, TABLE_NAMES, type TableUser } from './own-tables.ts';

/** Of `clients`, the service reads only some columns. */
function privilegesOf(user: TableUser, table: string): { rights: readonly string[]; columns?: readonly string[] } {
  const rights = OWN_TABLES[table]?.[user];
  if (rights === undefined) throw new Error(`${table} is not a table of ${user}`);
  return user === 'service' && table === CLIENTS.name
    ? { rights, columns: Object.values(CLIENTS.columns) }
    : { rights };
}

/** The tables that this user needs. */
export function tablesOf(user: TableUser): readonly string[] {
  return TABLE_NAMES.filter((table) => OWN_TABLES[table]?.[user] !== undefined);
}

/** The `grant` statement. @param role quoted as in a statement. */
export function grantOf(user: TableUser, table: string, role: string): string {
  const { rights, columns } = privilegesOf(user, table);
  return `grant ${rights.join(', ')}${columns === undefined ? '' : ` (${columns.join(', ')})`} on ${table} to ${role}`;
}

/**
 * A condition in SQL: the role has these privileges. Null if the table is missing. A column that is missing is left out: who may read
 * the others gets it with them.
 *
 * @param role an expression for its name.
 * @param option ` with grant option`, or nothing.
 */
export function holdsGrant(user: TableUser, table: string, role: string, option: string): string {
  const { rights, columns } = privilegesOf(user, table);
  const found = `pg_catalog.to_regclass('${table}')::oid`;
  const held = rights.flatMap((right) =>
    columns === undefined
      ? [`pg_catalog.has_table_privilege(${role}, ${found}, '${right}${option}')`]
      : [
          `(select pg_catalog.bool_and(pg_catalog.has_column_privilege(${role}, attrelid, attnum, '${right}${option}'))
            from pg_catalog.pg_attribute where attrelid = ${found} and attname = any ('{${columns}}'::name[]))`,
        ],
  );
  return held.join(' and ');
}
