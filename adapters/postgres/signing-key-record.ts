import type { TrustedKey } from '../../application/ports/key-directory.ts';
import type { Statement } from './statement-runner.ts';

/** A row of `signing_keys` as it is read, all columns as text; a table that somebody else made may hold nulls. */
export interface SigningKeyRecord {
  readonly kid: string | null;
  readonly n: string | null;
  readonly e: string | null;
  readonly trustedUntil: string | null;
}

const TRUSTED_KEYS = `select kid::text as "kid", n::text as "n", e::text as "e", trusted_until::text as "trustedUntil"
  from signing_keys`;

/** Every key that is trusted at `now`, in one round trip. */
export function findTrustedKeys(now: number): Statement {
  return { name: 'find_trusted_keys', text: `${TRUSTED_KEYS} where trusted_until > $1`, values: [String(now)] };
}

/**
 * Writes, forgets and answers, as one text: one round trip, and so one transaction. The lock makes publishers wait for
 * each other, and each statement behind it sees what the one before has committed, whatever level the database has by
 * default. A text takes no parameters, so the keys come in hexadecimal digits, which cannot end the literal they stand in.
 */
export function publishKeys(keys: readonly TrustedKey[], now: number): Statement {
  const rows = keys.map(({ jwk: { kid, n, e }, trustedUntil }) => ({ kid, n, e, trusted_until: trustedUntil }));
  const digits = Buffer.from(JSON.stringify(rows)).toString('hex');
  return {
    text: `set transaction isolation level read committed;
      select pg_advisory_xact_lock('signing_keys'::regclass::oid::bigint);
      insert into signing_keys (kid, n, e, trusted_until)
        select kid, n, e, trusted_until
          from json_to_recordset(convert_from(decode('${digits}', 'hex'), 'UTF8')::json)
            as given (kid text, n text, e text, trusted_until bigint)
        on conflict (kid) do update set n = excluded.n, e = excluded.e, trusted_until = excluded.trusted_until;
      delete from signing_keys where trusted_until <= ${Math.floor(now)};
      ${TRUSTED_KEYS}`,
  };
}

/** The keys of these rows; a row with a null in it is none. Whether a key is one that may be trusted is for the reader to see. */
export function trustedKeysOf(records: readonly SigningKeyRecord[]): readonly TrustedKey[] {
  return records.flatMap(({ kid, n, e, trustedUntil }) =>
    kid === null || n === null || e === null || trustedUntil === null
      ? []
      : [{ jwk: { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e }, trustedUntil: Number(trustedUntil) }],
  );
}
