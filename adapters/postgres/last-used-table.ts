import { defineEntity, p } from '@mikro-orm/core';
import { defineTable } from './table-definition.ts';

/** On which day each client got its last token, in days since 1970; with an empty `client_id`, since when that is recorded. */
export const LAST_USED = defineTable(
  defineEntity({
    name: 'LastUsed',
    tableName: 'last_used',
    properties: {
      clientId: p.text().fieldName('client_id').collation('C').primary(),
      lastDay: p.integer().fieldName('last_day'),
    },
  }),
  'read and write',
  { ifLost: 'npm run migrate creates it' },
);
