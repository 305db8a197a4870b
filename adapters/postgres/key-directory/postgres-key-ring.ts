import { defineEntity, p } from '@mikro-orm/core';
import { BRING_BACK } from '../../../application/client-lookup.ts';
import type { ConnectionOptions } from '../connection.ts';
import type { DatabaseLog } from '../database-log.ts';
import { DATABASE_TIME } from '../database-time.ts';
import { alwaysReady, openTable } from '../table.ts';
import { defineTable } from '../table-definition.ts';

/**
 * The table `key_ring`, as the service creates it if it is missing: the keys of all replicas, sealed. Ids and algorithms are
 * compared byte by byte (collation `C`). All times are in seconds since the epoch, by the clock of the database.
 */
export const KEY_RING = defineTable(
  defineEntity({
    name: 'KeyRingRow',
    tableName: 'key_ring',
    uniques: [{ properties: ['algorithm', 'step'] }],
    properties: {
      kid: p.text().collation('C').primary(),
      algorithm: p.text().collation('C').nullable(),
      step: p.bigint('string').nullable(),
      sealed: p.text().nullable(),
      createdAt: p.bigint('string').fieldName('created_at'),
      knownAt: p.bigint('string').fieldName('known_at'),
      signsFrom: p.bigint('string').fieldName('signs_from'),
      verifiesUntil: p.bigint('string').fieldName('verifies_until'),
      endedAt: p.bigint('string').fieldName('ended_at').nullable(),
      revokedAt: p.bigint('string').fieldName('revoked_at').nullable(),
    },
  }),
  'read and write',
  {
    ifLost: `${BRING_BACK}; or, before any replica ends, npm run migrate creates an empty one, and the replicas write their keys back`,
  },
);

/** One connection to write, and one to look up an unknown key. They are not shared with client look-ups, so neither waits for those. */
const KEYS_POOL_SIZE = 2;

/** Of a statement: a key that was revoked while the database does not answer is dropped in time once it does. */
const DEADLINE_MS_MAX = 3_000;

/** The ring is always ready: without it the service works as long as a key that it knows may sign, which the key ring reports. */
export async function openKeyRing(options: Omit<ConnectionOptions, 'poolSize'>, log: DatabaseLog) {
  const deadlineMs = Math.min(options.deadlineMs, DEADLINE_MS_MAX);
  const table = await openTable('key directory', KEY_RING, { ...options, deadlineMs, poolSize: KEYS_POOL_SIZE }, log);
  const query = <Row>(text: string, values: readonly (string | null)[] = []) =>
    table.runner.run<Row>({ text, values: [...values] });
  return { time: DATABASE_TIME, query, dependency: alwaysReady(table, () => {}) };
}
