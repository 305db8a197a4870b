import { CLIENTS } from './client-entity.ts';

const READ = ['select'];
const ALL = ['select', 'insert', 'update', 'delete'];

/** What uses the tables, and the privileges that it needs on each, and no others. Of `clients`, the service reads only some columns. */
const PRIVILEGES = {
  service: {
    clients: READ,
    client_secrets: READ,
    client_keys: READ,
    client_subjects: READ,
    client_resources: READ,
    signing_keys: ALL,
    signing_key_states: ALL,
    used_assertions: ALL,
    service_replicas: ALL,
  },
  clients: {
    clients: ALL,
    client_secrets: ALL,
    client_keys: ALL,
    client_subjects: ALL,
    client_resources: ALL,
  },
  keys: { signing_keys: ALL, signing_key_states: ALL },
} as const satisfies Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

export type TableUser = keyof typeof PRIVILEGES;

function privilegesOf(user: TableUser, table: string): { rights: readonly string[]; columns?: readonly string[] } {
  const ofUser: Readonly<Record<string, readonly string[]>> = PRIVILEGES[user];
  const rights = ofUser[table];
  if (rights === undefined) throw new Error(`${table} is not a table of ${user}`);
  return user === 'service' && table === CLIENTS.name
    ? { rights, columns: Object.values(CLIENTS.columns) }
    : { rights };
}

/** The tables that this user needs. */
export function tablesOf(user: TableUser): readonly string[] {
  return Object.keys(PRIVILEGES[user]);
}

/** The `grant` statement. @param role, place quoted as in a statement. */
export function grantOf(user: TableUser, table: string, role: string, place = table): string {
  const { rights, columns } = privilegesOf(user, table);
  return `grant ${rights.join(', ')}${columns === undefined ? '' : ` (${columns.join(', ')})`} on ${place} to ${role}`;
}

/**
 * A condition in SQL: the role has these privileges. Null if the table is missing.
 *
 * @param role an expression for its name.
 * @param option ` with grant option`, or nothing.
 */
export function holdsGrant(user: TableUser, table: string, role: string, option: string): string {
  const { rights, columns } = privilegesOf(user, table);
  const found = `pg_catalog.to_regclass('$schema.${table}')::oid`;
  const held = rights.flatMap((right) =>
    columns === undefined
      ? [`pg_catalog.has_table_privilege(${role}, ${found}, '${right}${option}')`]
      : columns.map((column) => `pg_catalog.has_column_privilege(${role}, ${found}, '${column}', '${right}${option}')`),
  );
  return held.join(' and ');
}
