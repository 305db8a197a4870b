import type { SharedKey } from '../../../application/ports/key-directory.ts';
import { EXACT_NOW, NOW } from '../database-time.ts';
import type { Statement } from '../runner.ts';
import { keyRowOf, publisherOf, SIGNING_KEYS } from './key-tables.ts';

/**
 * How long a tombstone is kept after the revocation, and after the last attempt to publish the key again, in seconds: 30
 * days. No lease and no token lasts longer than a day.
 */
const TOMBSTONE_SECONDS = 30 * 86_400;

/** How long a row is kept after its end, in seconds: a database whose clock jumps ahead and back loses no key. */
const MARGIN_SECONDS = 3_600;

/** A duration that is rounded down ends too early. */
const NEXT_SECOND = `pg_catalog.ceil(${EXACT_NOW})::bigint`;

const { kid: KID, n: N, e: E, trustedUntil: TRUSTED_UNTIL } = SIGNING_KEYS.columns;
const REVOKED = 'select kid from $schema.signing_key_states where revoked_at is not null';

/** Of a row of `signing_keys`, to compare. Another application may have created that table, with other types and collations. */
const COMPARABLE_KID = `${KID}::text collate "C"`;
const COMPARABLE_END = `${TRUSTED_UNTIL}::bigint`;

/**
 * Several statements in one text: one round trip, and so one transaction. The lock makes publishers and revocations wait
 * for each other, and each statement behind it sees what earlier ones committed, whatever isolation level the database
 * has by default. Such a text takes no parameters.
 */
const BEGIN_ALONE = `set transaction isolation level read committed;
  select pg_catalog.pg_advisory_xact_lock('$schema.signing_keys'::regclass::oid::bigint)`;

/** One row with the answer, in which the keys are JSON: a directory without keys tells its time too. */
function selectAnswer(given: string): string {
  return `select ${EXACT_NOW}::text as "time",
      (select pg_catalog.json_agg(pg_catalog.json_build_object('kid', ${KID}, 'n', ${N}, 'e', ${E},
          'replica', (select replica from $schema.signing_key_states as states where states.kid = keys.${COMPARABLE_KID}),
          'trustedSeconds', ${COMPARABLE_END} - ${NOW}))
        from $schema.signing_keys as keys where ${COMPARABLE_END} > ${NOW} and ${COMPARABLE_KID} not in (${REVOKED}))::text as "keys",
      (select pg_catalog.json_agg(kid) from (${REVOKED}) as revoked where kid in (${given}))::text as "revoked"`;
}

/** Every key that is trusted now, in one round trip. */
export const READ_KEYS: Statement = { name: 'read_keys', text: selectAnswer('null'), values: [] };

/**
 * Writes keys except for revoked ones, deletes those that ended or are revoked, and reads the rest. An attempt to publish a
 * revoked key prolongs its tombstone.
 */
export function publishKeys(keys: readonly SharedKey[], replica: string): Statement {
  const rows = keys.map(({ jwk, trustedSeconds: seconds }) => {
    return { ...keyRowOf(jwk), seconds, replica: publisherOf(replica, jwk.alg) };
  });
  const given = `pg_catalog.json_to_recordset(${literal(JSON.stringify(rows))}::json)
    as given (kid text collate "C", n text, e text, seconds bigint, replica text)`;
  return {
    text: `${BEGIN_ALONE};
      insert into $schema.signing_key_states as states (kid, replica, published_at, kept_until)
        select kid, replica, ${NOW}, ${NOW} + seconds from ${given}
        on conflict (kid) do update set kept_until =
          case when states.revoked_at is null then excluded.kept_until else ${NOW} + ${TOMBSTONE_SECONDS} end;
      insert into $schema.signing_keys (${KID}, ${N}, ${E}, ${TRUSTED_UNTIL})
        select kid, n, e, ${NEXT_SECOND} + seconds from ${given} where kid not in (${REVOKED})
        on conflict (${KID}) do update
          set ${[N, E, TRUSTED_UNTIL].map((column) => `${column} = excluded.${column}`).join(', ')};
      delete from $schema.signing_keys where ${COMPARABLE_END} <= ${NOW} - ${MARGIN_SECONDS} or ${COMPARABLE_KID} in (${REVOKED});
      delete from $schema.signing_key_states where kept_until <= ${NOW} - ${MARGIN_SECONDS};
      ${selectAnswer(`select kid from ${given}`)}`,
  };
}

const RECORD = `kid, replica, published_at::text as "publishedAt", trusted_until::text as "trustedUntil",
  revoked_at::text as "revokedAt"`;

/** Every key that is trusted or revoked. */
export const LIST_KEYS = `select ${RECORD}
  from (select ${COMPARABLE_KID} as kid, ${COMPARABLE_END} as trusted_until from $schema.signing_keys) as keys
    full join $schema.signing_key_states using (kid)
  where trusted_until > ${NOW} or revoked_at is not null order by kid`;

/** Writes the tombstone of a key that is known, deletes the key, and reads its record. */
export function revokeKey(kid: string): string {
  const id = literal(kid);
  return `${BEGIN_ALONE};
    insert into $schema.signing_key_states as states (kid, revoked_at, kept_until)
      select kid, ${NOW}, ${NOW} + ${TOMBSTONE_SECONDS}
        from (select ${COMPARABLE_KID} as kid from $schema.signing_keys union select kid from $schema.signing_key_states) as known where kid = ${id}
      on conflict (kid) do update
        set revoked_at = coalesce(states.revoked_at, excluded.revoked_at), kept_until = excluded.kept_until;
    delete from $schema.signing_keys where ${COMPARABLE_KID} = ${id};
    select ${RECORD.replace('trusted_until', 'null')} from $schema.signing_key_states where kid = ${id}`;
}

/** A text as an SQL expression, in hexadecimal digits, which cannot end the literal that contains them. */
function literal(text: string): string {
  return `pg_catalog.convert_from(pg_catalog.decode('${Buffer.from(text).toString('hex')}', 'hex'), 'UTF8')`;
}
