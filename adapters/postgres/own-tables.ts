/** What uses tables: the service, and the programs `clients` and `keys`. */
export type TableUser = 'service' | 'clients' | 'keys';

const READ = ['select'];
const ALL = ['select', 'insert', 'update', 'delete'];

/**
 * The tables of the service, with the privileges that each user needs and no others. A statement names one as `$schema.<name>`, also as
 * a literal: `'$schema.<name>'::regclass`.
 */
export const OWN_TABLES: Readonly<Record<string, Partial<Record<TableUser, readonly string[]>>>> = {
  clients: { service: READ, clients: ALL },
  client_secrets: { service: READ, clients: ALL },
  client_keys: { service: READ, clients: ALL },
  client_subjects: { service: READ, clients: ALL },
  client_resources: { service: READ, clients: ALL },
  key_ring: { service: ALL, keys: ALL },
  used_assertions: { service: ALL },
  client_credentials_migrations: {},
};

export const TABLE_NAMES = Object.keys(OWN_TABLES);
