import { CLIENT_SCHEMA } from './client-schema.ts';
import type { TableDefinition } from './table-definition.ts';

/** Where the registrations stand. */
export const CLIENTS_TABLE: TableDefinition = {
  name: 'clients',
  schema: CLIENT_SCHEMA,
  columns: ['id', 'client_id', 'client_secret', 'client_name', 'scope'],
  access: 'read',
};
