import type { Problem } from '../../domain/problem.ts';

/** What uses tables: the service, and the programs `clients` and `keys`. */
export type TableUser = 'service' | 'clients' | 'keys';

const READ = ['select'];
const ALL = ['select', 'insert', 'update', 'delete'];

/** The tables of the service, with the privileges that each user needs and no others. */
export const OWN_TABLES: Readonly<Record<string, Partial<Record<TableUser, readonly string[]>>>> = {
  clients: { service: READ, clients: ALL },
  key_ring: { service: ALL, keys: ALL },
  used_assertions: { service: ALL },
};

export const TABLE_NAMES = Object.keys(OWN_TABLES);

/** An empty table in the place of a lost one would have every client refused. */
export const BRING_BACK = 'bring it back, from a backup or from where it was moved to';

/** Why `clients` is missing although others of these tables are there; undefined if it is not, or in a new database. */
export function lostClients(rows: readonly { readonly name: string }[]): Problem | undefined {
  const there = rows.map(({ name }) => name);
  if (there.includes('clients') || there.length === 0) return undefined;
  const text = `table clients does not exist, and ${there.join(', ')} does`;
  return { code: 'table_lost', text, fix: `${BRING_BACK}; an empty one would have every client refused` };
}

/** A column of each table that another application's table of the same name is unlikely to have. */
const OWN_COLUMNS = { clients: 'client_id', key_ring: 'sealed', used_assertions: 'kept_until' };

/** Which of them are there. A table `clients` of any shape is: it is checked elsewhere. */
export const FIND_OWN_TABLES = `select name from (values ${Object.entries(OWN_COLUMNS)
  .map(([name, column]) => `('${name}', '${column}')`)
  .join(', ')}) as tables (name, own) where exists (select from pg_catalog.pg_attribute
    where attrelid = pg_catalog.to_regclass(name)::oid and not attisdropped and (attname::text = own or name = 'clients'))`;
