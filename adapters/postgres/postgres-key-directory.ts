import { defineEntity, p } from '@mikro-orm/core';
import type { KeyDirectory, TrustedKey } from '../../application/ports/key-directory.ts';
import type { Runner, Statement } from './runner.ts';
import { defineTable } from './table.ts';

/**
 * The table `signing_keys`, as the service creates it if it is missing: public RSA keys by their ids, which are compared
 * byte by byte (collation `C`), with modulus and exponent in base64url, and the time until which each is trusted, in
 * seconds since the epoch.
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

/** A row as it is read, all columns as text. A table that another application created may contain nulls. */
type SigningKeyRecord = { readonly [Property in keyof typeof SIGNING_KEYS.columns]: string | null };

const { kid: KID, n: N, e: E, trustedUntil: TRUSTED_UNTIL } = SIGNING_KEYS.columns;
const COLUMNS = [KID, N, E, TRUSTED_UNTIL].join(', ');
const SELECT_KEYS = `select ${SIGNING_KEYS.selectList} from signing_keys`;

/** Public keys in the table `signing_keys`, which only the replicas of the service write. */
export class PostgresKeyDirectory implements KeyDirectory {
  readonly #runner: Runner;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  publish(keys: readonly TrustedKey[], now: number): Promise<readonly TrustedKey[]> {
    return this.#run(publishKeys(keys, now));
  }

  trusted(now: number): Promise<readonly TrustedKey[]> {
    return this.#run(findTrustedKeys(now));
  }

  async #run(statement: Statement): Promise<readonly TrustedKey[]> {
    return trustedKeysOf(await this.#runner.run<SigningKeyRecord>(statement));
  }
}

/** Every key that is trusted at `now`, in one round trip. */
function findTrustedKeys(now: number): Statement {
  return { name: 'find_trusted_keys', text: `${SELECT_KEYS} where ${TRUSTED_UNTIL} > $1`, values: [String(now)] };
}

/**
 * Writes keys, deletes expired ones and reads the rest, as one text: one round trip, and so one transaction. The lock
 * makes publishers wait for each other, and each statement behind it sees what earlier publishers committed, whatever
 * isolation level the database has by default. A text takes no parameters, so the keys are sent in hexadecimal digits,
 * which cannot end the literal that contains them.
 */
function publishKeys(keys: readonly TrustedKey[], now: number): Statement {
  const rows = keys.map(({ jwk: { kid, n, e }, trustedUntil }) => ({
    [KID]: kid,
    [N]: n,
    [E]: e,
    [TRUSTED_UNTIL]: trustedUntil,
  }));
  const digits = Buffer.from(JSON.stringify(rows)).toString('hex');
  return {
    text: `set transaction isolation level read committed;
      select pg_advisory_xact_lock('signing_keys'::regclass::oid::bigint);
      insert into signing_keys (${COLUMNS})
        select ${COLUMNS}
          from json_to_recordset(convert_from(decode('${digits}', 'hex'), 'UTF8')::json)
            as given (${KID} text, ${N} text, ${E} text, ${TRUSTED_UNTIL} bigint)
        on conflict (${KID}) do update
          set ${[N, E, TRUSTED_UNTIL].map((column) => `${column} = excluded.${column}`).join(', ')};
      delete from signing_keys where ${TRUSTED_UNTIL} <= ${Math.floor(now)};
      ${SELECT_KEYS}`,
  };
}

/** The keys of these rows, without rows that contain a null. The reader checks whether a key can be trusted. */
function trustedKeysOf(records: readonly SigningKeyRecord[]): readonly TrustedKey[] {
  return records.flatMap(({ kid, n, e, trustedUntil }) =>
    kid === null || n === null || e === null || trustedUntil === null
      ? []
      : [{ jwk: { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e }, trustedUntil: Number(trustedUntil) }],
  );
}
