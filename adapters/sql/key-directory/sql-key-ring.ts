import { sql } from 'kysely';
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
import type { Tables } from '../entities.ts';
import type { SqlBuilder, SqlTables } from '../sql-database.ts';

/** A row of the ring, with the time of the database. Of an empty ring, nothing but the time. */
export type KeyRingRecord = { readonly [Column in keyof Tables['key_ring']]: Tables['key_ring'][Column] | null } & {
  readonly time: number | string;
};

/** What a change returns: the rows that it changed. */
const CHANGED = ['kid', 'verifies_until'] as const;

/** Statements on the table `key_ring`. All times are by the clock of the database. */
export function keyRingStatements({ db, dialect: { now, exactNow } }: SqlBuilder) {
  const later = (seconds: number) => sql<number>`${now} + ${sql.lit(seconds)}`;
  const revoked = { revoked_at: sql<number>`${now}`, sealed: null };
  return {
    /** Every row, in one round trip. An empty ring tells the time too. */
    read: () =>
      db
        .selectFrom(db.selectNoFrom(exactNow.as('time')).as('clock'))
        .leftJoin(
          db
            .selectFrom('key_ring')
            .selectAll()
            .limit(KEY_ROWS_MAX + 1)
            .as('ring'),
          (join) => join.onTrue(),
        )
        .selectAll('ring')
        .select('clock.time')
        .$castTo<KeyRingRecord>(),

    deleteEnded: () =>
      db
        .deleteFrom('key_ring')
        .where('verifies_until', '<', later(-KEPT_SECONDS))
        .where(({ or, eb, selectFrom }) =>
          or([
            eb('step', 'is', null),
            eb(
              'step',
              '<=',
              selectFrom('key_ring as last')
                .select(sql<number>`last.step - ${sql.lit(KEPT_STEPS)}`.as('step'))
                .whereRef('last.algorithm', '=', 'key_ring.algorithm')
                .where('last.step', 'is not', null)
                .orderBy('last.step', 'desc')
                .limit(1),
            ),
          ]),
        ),

    add: ({ kid, algorithm, step, sealed, publicationSeconds, signsFrom, verifiesUntil, addedBefore }: SealedKey) =>
      db
        .insertInto('key_ring')
        .columns(['kid', 'algorithm', 'step', 'sealed', 'created_at', 'known_at', 'signs_from', 'verifies_until'])
        .expression(({ cast, val }) =>
          db
            .selectNoFrom([
              cast<string>(val(kid), 'text').as('kid'),
              cast<string>(val(algorithm), 'text').as('algorithm'),
              cast<number>(val(step), 'bigint').as('step'),
              cast<string>(val(sealed), 'text').as('sealed'),
              sql<number>`${now}`.as('created_at'),
              later(publicationSeconds).as('known_at'),
              cast<number>(val(signsFrom), 'bigint').as('signs_from'),
              cast<number>(val(verifiesUntil), 'bigint').as('verifies_until'),
            ])
            .where(sql`${now}`, '<', cast<number>(val(addedBefore), 'bigint')),
        )
        .onConflict((taken) => taken.doNothing()),

    restore: ({ kid, algorithm, step, sealed, createdAt, knownAt, signsFrom, verifiesUntil, endedAt }: KeyRow) =>
      db
        .insertInto('key_ring')
        .values({
          kid,
          algorithm: algorithm ?? null,
          step: step ?? null,
          sealed: sealed ?? null,
          created_at: createdAt,
          known_at: knownAt,
          signs_from: signsFrom,
          verifies_until: verifiesUntil,
          ended_at: endedAt ?? null,
        })
        .onConflict((taken) => taken.doNothing()),

    /** Returns the row if it was not revoked before, or is new. */
    revoke: (kid: string) =>
      db
        .insertInto('key_ring')
        .values({
          kid,
          created_at: later(0),
          known_at: later(0),
          signs_from: later(0),
          verifies_until: later(UNKNOWN_KEPT_SECONDS),
          revoked_at: later(0),
        })
        .onConflict((known) => known.column('kid').doUpdateSet(revoked).where('key_ring.revoked_at', 'is', null))
        .returning(CHANGED),

    revokeAll: () => db.updateTable('key_ring').set(revoked).where('revoked_at', 'is', null).returning(CHANGED),

    end: (kid: string, endsAt: number) =>
      db
        .updateTable('key_ring')
        .set({ ended_at: endsAt })
        .where('kid', '=', kid)
        .where('revoked_at', 'is', null)
        .where(({ or, eb }) => or([eb('ended_at', 'is', null), eb('ended_at', '>', endsAt)]))
        .returning(CHANGED),
  };
}

/** Throws if there are more rows than any ring has. */
export function keyRowsOf(records: readonly KeyRingRecord[]): KeyRows {
  if (records.length > KEY_ROWS_MAX) throw new Error(`the table key_ring has more than ${KEY_ROWS_MAX} rows`);
  const rows = records.flatMap((record): KeyRow[] => {
    if (record.kid === null) return [];
    return [
      {
        kid: record.kid,
        algorithm: record.algorithm ?? undefined,
        step: record.step ?? undefined,
        sealed: record.sealed ?? undefined,
        createdAt: Number(record.created_at),
        knownAt: Number(record.known_at),
        signsFrom: Number(record.signs_from),
        verifiesUntil: Number(record.verifies_until),
        endedAt: record.ended_at ?? undefined,
        revokedAt: record.revoked_at ?? undefined,
      },
    ];
  });
  return { rows, time: Number(records[0]?.time) };
}

/** The key ring in the table `key_ring`, which the replicas of the service write, and the program that revokes keys. */
export class SqlKeyRing implements KeyRingStore {
  readonly #tables: SqlTables;
  readonly #statements: ReturnType<typeof keyRingStatements>;

  constructor(tables: SqlTables) {
    this.#tables = tables;
    this.#statements = keyRingStatements(tables);
  }

  async read(): Promise<KeyRows> {
    return keyRowsOf(await this.#tables.query(this.#statements.read()));
  }

  /** Each statement is a transaction: no lock outlives it. */
  async add(key: SealedKey): Promise<void> {
    await this.#tables.query(this.#statements.deleteEnded());
    await this.#tables.query(this.#statements.add(key));
  }

  async restore(rows: readonly KeyRow[]): Promise<void> {
    for (const row of rows) await this.#tables.query(this.#statements.restore(row));
  }
}
