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

/** What the service needs of a database that has the table `revocations`. */
export interface RevocationTable {
  readonly time: { readonly now: string };
  /** The name of the function that counts rows. */
  readonly count: string;
  /** The rows of one statement with the parameters `$1`, `$2`, … It may be repeated. Throws DependencyUnavailable. */
  query<Row>(text: string, values?: readonly (string | null)[]): Promise<readonly Row[]>;
}

interface RevocationRow {
  readonly clientId: string;
  readonly tokenId: string;
  readonly issuedUntil: string | number | null;
}

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
  readonly #table: RevocationTable;
  readonly #limits: typeof REVOCATIONS_LIMITS;
  readonly #batches = new Batches((asked: readonly AskedToken[]) => this.#findAll(asked), { max: FOUND_AT_ONCE });
  #uncounted = COUNTED_EVERY;
  #total = 0;

  constructor(table: RevocationTable, limits = REVOCATIONS_LIMITS) {
    this.#table = table;
    this.#limits = limits;
  }

  get load() {
    return { revoked: this.#total, max: this.#limits.total };
  }

  find(token: AskedToken): Promise<RevocationState> {
    return this.#batches.add(token);
  }

  async revoke({ clientId, tokenId, keptUntil }: RevokedToken): Promise<void> {
    await this.#deleteEnded();
    await this.#table.query(
      `insert into revocations (client_id, token_id, kept_until) values ($1, $2, cast($3 as bigint))
        on conflict (client_id, token_id) do nothing`,
      [clientId, tokenId, String(keptUntil)],
    );
    const { perClient } = this.#limits;
    const rows = await this.#table.query(
      `select token_id from revocations where client_id = $1 and token_id <> '${ALL}' limit ${perClient + 1}`,
      [clientId],
    );
    if (rows.length > perClient) await this.revokeAll([clientId]);
    else await this.#boundTotal();
  }

  /** First the revocation of all, then the single ones are not needed any more. */
  async revokeAll(clientIds: readonly string[]): Promise<void> {
    const { now } = this.#table.time;
    await this.#deleteEnded();
    for (const ids of partsOf(clientIds, REVOKED_AT_ONCE)) {
      const places = ids.map((_, index) => `$${index + 1}`);
      const rows = places.map((id) => `(${id}, '${ALL}', ${now} + ${AHEAD_SECONDS}, ${now} + ${KEPT_SECONDS})`);
      await this.#table.query(
        `insert into revocations (client_id, token_id, issued_until, kept_until) values ${rows.join(', ')}
          on conflict (client_id, token_id) do update set issued_until = excluded.issued_until, kept_until = excluded.kept_until
            where revocations.issued_until < excluded.issued_until`,
        ids,
      );
      const single = `token_id <> '${ALL}' and client_id in (${places.join(', ')})`;
      await this.#table.query(`delete from revocations where ${single}`, ids);
    }
  }

  async #deleteEnded(): Promise<void> {
    const { now } = this.#table.time;
    await this.#table.query(`delete from revocations where kept_until < ${now} - ${LONGER_SECONDS}`);
  }

  async #boundTotal(): Promise<void> {
    this.#uncounted += 1;
    if (this.#uncounted < COUNTED_EVERY) return;
    this.#uncounted = 0;
    const { count } = this.#table;
    const [all] = await this.#table.query<{ readonly total: string | number }>(
      `select ${count}(*) as "total" from revocations where token_id <> '${ALL}'`,
    );
    this.#total = Number(all?.total);
    if (this.#total <= this.#limits.total) return;
    const [most] = await this.#table.query<{ readonly clientId: string }>(
      `select client_id as "clientId" from revocations where token_id <> '${ALL}' group by client_id
        order by ${count}(*) desc limit 1`,
    );
    if (most === undefined) return;
    await this.revokeAll([most.clientId]);
    // Where each client has few, one of them is not enough.
    this.#uncounted = COUNTED_EVERY;
    await this.#boundTotal();
  }

  async #findAll(asked: readonly AskedToken[]): Promise<readonly RevocationState[]> {
    const pairs = asked.flatMap(({ clientId, tokenId }) => [clientId, ALL, clientId, tokenId]);
    const places = asked.map((_, index) => {
      const first = 4 * index + 1;
      return `($${first}, $${first + 1}), ($${first + 2}, $${first + 3})`;
    });
    const rows = await this.#table.query<RevocationRow>(
      `select client_id as "clientId", token_id as "tokenId", issued_until as "issuedUntil" from revocations
        where (client_id, token_id) in (values ${places.join(', ')})`,
      pairs,
    );
    return asked.map(({ clientId, tokenId }) => {
      const ofClient = rows.filter((row) => row.clientId === clientId);
      const all = ofClient.find((row) => row.tokenId === ALL)?.issuedUntil;
      return {
        isRevoked: ofClient.some((row) => row.tokenId === tokenId),
        issuedUntil: all == null ? undefined : Number(all),
      };
    });
  }
}
