import { type SqlBool, sql } from 'kysely';
import { Batches } from '../../../application/batches.ts';
import {
  AHEAD_SECONDS,
  KEPT_SECONDS,
  REVOCATIONS_LIMITS,
  type Revocations,
  type RevokedToken,
} from '../../../application/ports/revocations.ts';
import type { RevocationState } from '../../../domain/token-activity.ts';
import { partsOf } from '../parts-of.ts';
import type { SqlTables } from '../sql-database.ts';

type AskedToken = Pick<RevokedToken, 'clientId' | 'tokenId'>;

/** In place of a token: all that were issued until then. */
const ALL = '';

/** The most look-ups of one statement. */
const FOUND_AT_ONCE = 64;

/** The most clients of one statement. */
const REVOKED_AT_ONCE = 500;

/** All rows are counted after so many revocations of this process. */
const COUNTED_EVERY = 100;

/** How long a row is kept after its end, in seconds: a clock that jumps ahead and back loses none. */
const LONGER_SECONDS = 3_600;

/** Revoked tokens in the table `revocations`. Concurrent look-ups share a statement. */
export class SqlRevocations implements Revocations {
  readonly #tables: SqlTables;
  readonly #limits: typeof REVOCATIONS_LIMITS;
  readonly #batches = new Batches((asked: readonly AskedToken[]) => this.#findAll(asked), { max: FOUND_AT_ONCE });
  #uncounted = COUNTED_EVERY;
  #total = 0;

  constructor(tables: SqlTables, limits = REVOCATIONS_LIMITS) {
    this.#tables = tables;
    this.#limits = limits;
  }

  get load() {
    return { revoked: this.#total, max: this.#limits.total };
  }

  find(token: AskedToken): Promise<RevocationState> {
    return this.#batches.add(token);
  }

  async revoke({ clientId, tokenId, keptUntil }: RevokedToken): Promise<void> {
    const { db, query } = this.#tables;
    await this.#deleteEnded();
    await query(
      db
        .insertInto('revocations')
        .values({ client_id: clientId, token_id: tokenId, kept_until: keptUntil })
        .onConflict((known) => known.columns(['client_id', 'token_id']).doNothing()),
    );
    const { perClient } = this.#limits;
    const ofClient = this.#single().select('token_id').where('client_id', '=', clientId);
    const rows = await query(ofClient.limit(perClient + 1));
    if (rows.length > perClient) await this.revokeAll([clientId]);
    else await this.#boundTotal();
  }

  /** First the revocation of all, then the single ones are not needed any more. */
  async revokeAll(clientIds: readonly string[]): Promise<void> {
    const { db, query } = this.#tables;
    await this.#deleteEnded();
    for (const ids of partsOf(clientIds, REVOKED_AT_ONCE)) {
      const times = { issued_until: this.#in(AHEAD_SECONDS), kept_until: this.#in(KEPT_SECONDS) };
      await query(
        db
          .insertInto('revocations')
          .values(ids.map((client_id) => ({ client_id, token_id: ALL, ...times })))
          .onConflict((known) =>
            known
              .columns(['client_id', 'token_id'])
              .doUpdateSet(({ ref }) => ({
                issued_until: ref('excluded.issued_until'),
                kept_until: ref('excluded.kept_until'),
              }))
              .whereRef('revocations.issued_until', '<', 'excluded.issued_until'),
          ),
      );
      await query(db.deleteFrom('revocations').where('token_id', '<>', ALL).where('client_id', 'in', ids));
    }
  }

  async #deleteEnded(): Promise<void> {
    const { db, query } = this.#tables;
    await query(db.deleteFrom('revocations').where('kept_until', '<', this.#in(-LONGER_SECONDS)));
  }

  async #boundTotal(): Promise<void> {
    this.#uncounted += 1;
    if (this.#uncounted < COUNTED_EVERY) return;
    this.#uncounted = 0;
    const { query, dialect } = this.#tables;
    const [all] = await query(this.#single().select(dialect.count.as('total')));
    this.#total = all?.total ?? 0;
    if (this.#total <= this.#limits.total) return;
    const most = this.#single().select('client_id').groupBy('client_id').orderBy(dialect.count, 'desc');
    const [found] = await query(most.limit(1));
    if (found === undefined) return;
    await this.revokeAll([found.client_id]);
    // Where each client has few, one of them is not enough.
    this.#uncounted = COUNTED_EVERY;
    await this.#boundTotal();
  }

  /** The rows of single tokens. */
  #single() {
    return this.#tables.db.selectFrom('revocations').where('token_id', '<>', ALL);
  }

  #in(seconds: number) {
    return sql<number>`${this.#tables.dialect.now} + ${sql.lit(seconds)}`;
  }

  async #findAll(asked: readonly AskedToken[]): Promise<readonly RevocationState[]> {
    const { db, query } = this.#tables;
    const pairs = asked.flatMap(({ clientId, tokenId }) => [
      sql`(${clientId}, ${ALL})`,
      sql`(${clientId}, ${tokenId})`,
    ]);
    const rows = await query(
      db
        .selectFrom('revocations')
        .select(['client_id', 'token_id', 'issued_until'])
        .where(sql<SqlBool>`(client_id, token_id) in (values ${sql.join(pairs)})`),
    );
    return asked.map(({ clientId, tokenId }) => {
      const ofClient = rows.filter(({ client_id }) => client_id === clientId);
      return {
        isRevoked: ofClient.some(({ token_id }) => token_id === tokenId),
        issuedUntil: ofClient.find(({ token_id }) => token_id === ALL)?.issued_until ?? undefined,
      };
    });
  }
}
