import { defineEntity, p } from '@mikro-orm/core';
import { UNKNOWN_KEPT_SECONDS } from '../../../application/ports/key-ring-records.ts';
import {
  KEPT_SECONDS,
  KEY_ROWS_MAX,
  type KeyRow,
  type KeyRows,
  type SealedKey,
} from '../../../application/ports/key-ring-store.ts';
import { EXACT_NOW, NOW } from '../database-time.ts';
import type { Statement } from '../runner.ts';
import { defineTable } from '../table.ts';

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
);

/** A row as it is read, all columns as text; of an empty ring, nothing but the time. */
export type KeyRingRecord = Readonly<Record<keyof KeyRow | 'time', string | null>>;

/** Every row, in one round trip. An empty ring tells the time too. */
export const READ_RING: Statement = {
  name: 'read_key_ring',
  text: `select clock.time::text as "time", ring.* from (select ${EXACT_NOW} as time) as clock
    left join (select ${KEY_RING.selectList} from key_ring limit ${KEY_ROWS_MAX + 1}) as ring on true`,
  values: [],
};

/** One statement, and so one transaction: no lock outlives it. */
export function addKey({ kid, algorithm, step, sealed, ...times }: SealedKey): Statement {
  const { publicationSeconds, signsFrom, verifiesUntil, addedBefore } = times;
  const numbers = [step, publicationSeconds, signsFrom, verifiesUntil, addedBefore].map(String);
  return {
    text: `with ended as (delete from key_ring where verifies_until < ${NOW} - ${KEPT_SECONDS})
      insert into key_ring (kid, algorithm, step, sealed, created_at, known_at, signs_from, verifies_until)
        select $1::text, $2::text, $4::bigint, $3::text, ${NOW}, ${NOW} + $5::bigint, $6::bigint, $7::bigint
          where ${NOW} < $8::bigint
        on conflict do nothing`,
    values: [kid, algorithm, sealed, ...numbers],
  };
}

const REVOKED = `revoked_at = ${NOW}, sealed = null`;
const CHANGED = 'returning ring.kid, ring.verifies_until::text as "verifiesUntil"';

/** Returns the rows that were not revoked before, and those that are new. */
export const REVOKE_KEY = `insert into key_ring as ring (kid, created_at, known_at, signs_from, verifies_until, revoked_at)
    values ($1, ${NOW}, ${NOW}, ${NOW}, ${NOW} + ${UNKNOWN_KEPT_SECONDS}, ${NOW})
    on conflict (kid) do update set ${REVOKED} where ring.revoked_at is null ${CHANGED}`;

export const REVOKE_ALL = `update key_ring as ring set ${REVOKED} where revoked_at is null ${CHANGED}`;

export const END_KEY = `update key_ring as ring set ended_at = $2::bigint
    where kid = $1 and revoked_at is null and (ended_at is null or ended_at > $2::bigint) ${CHANGED}`;

/** Throws if there are more rows than any ring has. */
export function keyRowsOf(records: readonly KeyRingRecord[]): KeyRows {
  if (records.length > KEY_ROWS_MAX) throw new Error(`the table key_ring has more than ${KEY_ROWS_MAX} rows`);
  const time = Number(records[0]?.time);
  const rows = records.flatMap(({ kid, algorithm, step, sealed, ...times }) => {
    if (kid === null) return [];
    const seconds = (text: string | null) => (text === null ? undefined : Number(text));
    return {
      kid,
      algorithm: algorithm ?? undefined,
      step: seconds(step),
      sealed: sealed ?? undefined,
      createdAt: Number(times.createdAt),
      knownAt: Number(times.knownAt),
      signsFrom: Number(times.signsFrom),
      verifiesUntil: Number(times.verifiesUntil),
      endedAt: seconds(times.endedAt),
      revokedAt: seconds(times.revokedAt),
    } satisfies KeyRow;
  });
  return { rows, time };
}
