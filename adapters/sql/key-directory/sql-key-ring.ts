import { UNKNOWN_KEPT_SECONDS } from '../../../application/ports/key-ring-records.ts';
import {
  KEPT_SECONDS,
  KEPT_STEPS,
  KEY_ROWS_MAX,
  type KeyRingStore,
  type KeyRow,
  type KeyRows,
  type SealedKey,
} from '../../../application/ports/key-ring-store.ts';

/** The time of a database in seconds since the epoch, as SQL expressions. It goes on while a transaction waits for a lock. */
export interface DatabaseTime {
  /** In whole seconds. */
  readonly now: string;
  /** With fractions. */
  readonly exactNow: string;
}

/** What the service needs of a database that has the table `key_ring`. */
interface KeyRingTable {
  readonly time: DatabaseTime;
  /** The rows of one statement with the parameters `$1`, `$2`, … It may be repeated. Throws DependencyUnavailable. */
  query<Row>(text: string, values?: readonly (string | null)[]): Promise<readonly Row[]>;
}

const COLUMNS = `kid, algorithm, step, sealed, created_at as "createdAt", known_at as "knownAt", signs_from as "signsFrom",
  verifies_until as "verifiesUntil", ended_at as "endedAt", revoked_at as "revokedAt"`;

/** A row as a driver returns it: a large number may be a text. Of an empty ring, nothing but the time. */
export type KeyRingRecord = Readonly<Record<keyof KeyRow | 'time', string | number | null>>;

/** What a change returns: the rows that it changed. */
const CHANGED = 'returning kid, verifies_until as "verifiesUntil"';

/** Statements on the table `key_ring`. All times are by the clock of the database. */
export function keyRingStatements({ now, exactNow }: DatabaseTime) {
  const revoked = `revoked_at = ${now}, sealed = null`;
  return {
    /** Every row, in one round trip. An empty ring tells the time too. */
    read: `select clock.time as "time", ring.* from (select ${exactNow} as time) as clock
      left join (select ${COLUMNS} from key_ring limit ${KEY_ROWS_MAX + 1}) as ring on true`,
    deleteEnded: `delete from key_ring where verifies_until < ${now} - ${KEPT_SECONDS} and (step is null or step <=
      (select last.step from key_ring last where last.algorithm = key_ring.algorithm and last.step is not null
        order by last.step desc limit 1) - ${KEPT_STEPS})`,
    add: `insert into key_ring (kid, algorithm, step, sealed, created_at, known_at, signs_from, verifies_until)
      select cast($1 as text), cast($2 as text), cast($3 as bigint), cast($4 as text), ${now}, ${now} + cast($5 as bigint),
          cast($6 as bigint), cast($7 as bigint)
        where ${now} < cast($8 as bigint)
      on conflict do nothing`,
    restore: `insert into key_ring (kid, algorithm, step, sealed, created_at, known_at, signs_from, verifies_until, ended_at)
      values ($1, $2, cast($3 as bigint), $4, cast($5 as bigint), cast($6 as bigint), cast($7 as bigint), cast($8 as bigint),
        cast($9 as bigint))
      on conflict do nothing`,
    /** Returns the row if it was not revoked before, or is new. */
    revoke: `insert into key_ring (kid, created_at, known_at, signs_from, verifies_until, revoked_at)
      values ($1, ${now}, ${now}, ${now}, ${now} + ${UNKNOWN_KEPT_SECONDS}, ${now})
      on conflict (kid) do update set ${revoked} where key_ring.revoked_at is null ${CHANGED}`,
    revokeAll: `update key_ring set ${revoked} where revoked_at is null ${CHANGED}`,
    end: `update key_ring set ended_at = cast($2 as bigint)
      where kid = $1 and revoked_at is null and (ended_at is null or ended_at > cast($2 as bigint)) ${CHANGED}`,
  };
}

/** Throws if there are more rows than any ring has. */
export function keyRowsOf(records: readonly KeyRingRecord[]): KeyRows {
  if (records.length > KEY_ROWS_MAX) throw new Error(`the table key_ring has more than ${KEY_ROWS_MAX} rows`);
  const rows = records.flatMap(({ kid, algorithm, sealed, ...numbers }): KeyRow[] => {
    if (kid === null) return [];
    const numberOf = (value: string | number | null) => (value === null ? undefined : Number(value));
    return [
      {
        kid: String(kid),
        algorithm: algorithm === null ? undefined : String(algorithm),
        step: numberOf(numbers.step),
        sealed: sealed === null ? undefined : String(sealed),
        createdAt: Number(numbers.createdAt),
        knownAt: Number(numbers.knownAt),
        signsFrom: Number(numbers.signsFrom),
        verifiesUntil: Number(numbers.verifiesUntil),
        endedAt: numberOf(numbers.endedAt),
        revokedAt: numberOf(numbers.revokedAt),
      },
    ];
  });
  return { rows, time: Number(records[0]?.time) };
}

/** The key ring in the table `key_ring`, which the replicas of the service write, and the program that revokes keys. */
export class SqlKeyRing implements KeyRingStore {
  readonly #table: KeyRingTable;
  readonly #statements: ReturnType<typeof keyRingStatements>;

  constructor(table: KeyRingTable) {
    this.#table = table;
    this.#statements = keyRingStatements(table.time);
  }

  async read(): Promise<KeyRows> {
    return keyRowsOf(await this.#table.query<KeyRingRecord>(this.#statements.read));
  }

  /** Each statement is a transaction: no lock outlives it. */
  async add({ kid, algorithm, step, sealed, ...times }: SealedKey): Promise<void> {
    const { publicationSeconds, signsFrom, verifiesUntil, addedBefore } = times;
    const values = [kid, algorithm, step, sealed, publicationSeconds, signsFrom, verifiesUntil, addedBefore];
    await this.#table.query(this.#statements.deleteEnded);
    await this.#table.query(this.#statements.add, values.map(String));
  }

  async restore(rows: readonly KeyRow[]): Promise<void> {
    for (const { kid, algorithm, step, sealed, createdAt, knownAt, signsFrom, verifiesUntil, endedAt } of rows) {
      const values = [kid, algorithm, step, sealed, createdAt, knownAt, signsFrom, verifiesUntil, endedAt];
      const texts = values.map((value) => (value === undefined ? null : String(value)));
      await this.#table.query(this.#statements.restore, texts);
    }
  }
}
