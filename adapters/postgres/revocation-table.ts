import { defineEntity, p } from '@mikro-orm/core';
import { defineTable } from './table-definition.ts';

/**
 * Revoked tokens: one of a client by its `jti` until its end, or, with an empty `token_id`, all of the client that were issued until
 * `issued_until`. Ids are compared byte by byte. Times are in seconds since the epoch, by the clock of the database.
 */
export const REVOCATIONS = defineTable(
  defineEntity({
    name: 'Revocation',
    tableName: 'revocations',
    properties: {
      clientId: p.text().fieldName('client_id').collation('C').primary(),
      tokenId: p.text().fieldName('token_id').collation('C').primary(),
      issuedUntil: p.bigint('string').fieldName('issued_until').nullable(),
      keptUntil: p.bigint('string').fieldName('kept_until').index('revocations_kept_until'),
    },
  }),
  'read and write',
  {
    ifLost:
      'bring it back, from a backup or from where it was moved to: tokens that were revoked would be active again',
  },
);
