import { SIGNING_KEY_SCHEMA } from './signing-key-schema.ts';
import type { TableDefinition } from './table-definition.ts';

/** Where replicas tell each other their public keys. */
export const SIGNING_KEYS_TABLE: TableDefinition = {
  name: 'signing_keys',
  schema: SIGNING_KEY_SCHEMA,
  columns: ['kid', 'n', 'e', 'trusted_until'],
  access: 'read and write',
};
