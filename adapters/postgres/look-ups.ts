import { Batches } from '../../application/batches.ts';
import { isClientId } from '../../domain/client-registration.ts';
import { CLIENT_ROWS_MAX } from './client-entity.ts';
import { SQLSTATE, unlessOneValue } from './fault.ts';
import type { Runner, Statement } from './runner.ts';

/** The most look-ups of one statement. Each id can have two rows, to notice that it is not unique. */
const LOOK_UPS_MAX = CLIENT_ROWS_MAX / 2 - 1;

interface LookUp {
  readonly clientId: string;
  /** In milliseconds of `performance`. */
  readonly begin: number;
}

/**
 * Look-ups by client id. Concurrent ones share a statement, which none joins that began after it was sent;
 * docs/decisions/0102 has the figures.
 */
export class LookUps<Row extends { readonly clientId: string | null }> {
  readonly #runner: Runner;
  readonly #statement: Statement;
  readonly #batches = new Batches((lookUps: readonly LookUp[]) => this.#findAll(lookUps), { max: LOOK_UPS_MAX });

  /** @param statement takes an array of ids, and returns rows with the id as it is stored. */
  constructor(runner: Runner, statement: Statement) {
    this.#runner = runner;
    this.#statement = statement;
  }

  /** The rows of this client id, and of others if the column ignores case or spaces. Throws DependencyUnavailable. */
  async find(clientId: string): Promise<readonly Row[]> {
    // The driver would send half a surrogate pair as U+FFFD, which another client id may contain.
    if (!isClientId(clientId) || !clientId.isWellFormed()) return [];
    return this.#batches.add({ clientId, begin: performance.now() });
  }

  /** The rows of each id: all in one statement, or each alone if the server refuses one of them or has too many rows. */
  async #findAll(lookUps: readonly LookUp[]): Promise<readonly (readonly Row[] | Promise<readonly Row[]>)[]> {
    const begin = lookUps[0]?.begin;
    const ids = [...new Set(lookUps.map(({ clientId }) => clientId))];
    const find = (some: string[], empty?: RegExp) =>
      this.#runner.run<Row>({ ...this.#statement, values: [some] }, empty, begin);
    if (ids.length > 1) {
      const rows = await find(ids).catch(unlessOneValue);
      if (rows !== undefined && rows.length < CLIENT_ROWS_MAX) {
        const byId = Map.groupBy(rows, (row) => row.clientId);
        return lookUps.map(({ clientId }) => byId.get(clientId) ?? []);
      }
    }
    const alone = new Map(ids.map((id) => [id, find([id], SQLSTATE.unstorableText)]));
    return lookUps.map(({ clientId }) => alone.get(clientId) ?? []);
  }
}
