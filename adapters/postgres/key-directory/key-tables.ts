import { defineEntity, p } from '@mikro-orm/core';
import { defineTable } from '../table.ts';

/**
 * The table `signing_keys`, as the service creates it if it is missing: public keys by their ids, which are compared
 * byte by byte (collation `C`), as `keyRowOf` writes them, and the time until which each is trusted. All times
 * are in seconds since the epoch, by the clock of the database.
 */
export const SIGNING_KEYS = defineTable(
  defineEntity({
    name: 'SigningKey',
    tableName: 'signing_keys',
    properties: {
      kid: p.text().collation('C').primary(),
      n: p.text(),
      e: p.text(),
      trustedUntil: p.bigint('string').fieldName('trusted_until'),
    },
  }),
  'read and write',
);

/**
 * The table `signing_key_states`: what is known about a key beside the key itself. A row with `revoked_at` is the tombstone
 * of a revoked key. A table of its own, since replicas of older versions write `signing_keys`, and delete what has expired.
 */
export const SIGNING_KEY_STATES = defineTable(
  defineEntity({
    name: 'SigningKeyState',
    tableName: 'signing_key_states',
    properties: {
      kid: p.text().collation('C').primary(),
      replica: p.text().nullable(),
      publishedAt: p.bigint('string').fieldName('published_at').nullable(),
      revokedAt: p.bigint('string').fieldName('revoked_at').nullable(),
      keptUntil: p.bigint('string').fieldName('kept_until'),
    },
  }),
  'read and write',
);
