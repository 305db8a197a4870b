import { CLIENTS } from './client-entity.ts';

/** What uses the tables: the service, and the programs `clients` and `keys`. */
export type TableUser = 'service' | 'clients' | 'keys';

interface Privileges {
  readonly rights: readonly string[];
  /** Only these columns; absent for all of them. */
  readonly columns?: readonly string[];
}

const READ: Privileges = { rights: ['select'] };
const ALL: Privileges = { rights: ['select', 'insert', 'update', 'delete'] };

/** The privileges that each user needs, by table, and no others. */
const PRIVILEGES: Readonly<Record<TableUser, Readonly<Record<string, Privileges>>>> = {
  service: {
    clients: { ...READ, columns: Object.values(CLIENTS.columns) },
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
};

function privilegesOf(user: TableUser, table: string): Privileges {
  const privileges = PRIVILEGES[user][table];
  if (privileges === undefined) throw new Error(`${table} is not a table of ${user}`);
  return privileges;
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

/** A condition in SQL: the role with the name `$1` has these privileges. Null if the table is missing. */
export function holdsGrant(user: TableUser, table: string): string {
  const { rights, columns } = privilegesOf(user, table);
  const found = `pg_catalog.to_regclass('$schema.${table}')::oid`;
  const held = rights.flatMap((right) =>
    columns === undefined
      ? [`pg_catalog.has_table_privilege($1::name, ${found}, '${right}')`]
      : columns.map((column) => `pg_catalog.has_column_privilege($1::name, ${found}, '${column}', '${right}')`),
  );
  return held.join(' and ');
}
