import { Batches } from '../../application/batches.ts';
import type { Runner, Statement } from './runner.ts';

/** The most look-ups of one statement. */
const LOOK_UPS_MAX = 64;

interface LookUp {
  readonly clientId: string;
  /** In milliseconds of `performance`. */
  readonly begin: number;
}

/**
 * Look-ups by client id. Concurrent ones share a statement, which none joins that began after it was sent;
 * docs/decisions/0102 has the figures.
 */
export class LookUps<Row> {
  readonly #runner: Runner;
  readonly #statement: Statement;
  readonly #idOf: (row: Row) => string;
  readonly #batches = new Batches((lookUps: readonly LookUp[]) => this.#findAll(lookUps), { max: LOOK_UPS_MAX });

  /** @param statement takes an array of ids. @param idOf the id that a row is for, compared exactly: a collation may ignore case. */
  constructor(runner: Runner, statement: Statement, idOf: (row: Row) => string) {
    this.#runner = runner;
    this.#statement = statement;
    this.#idOf = idOf;
  }

  /** The row of this client id. Throws DependencyUnavailable. */
  async find(clientId: string): Promise<Row | undefined> {
    return this.#batches.add({ clientId, begin: performance.now() });
  }

  /** All in one statement. */
  async #findAll(lookUps: readonly LookUp[]): Promise<readonly (Row | undefined)[]> {
    const ids = [...new Set(lookUps.map(({ clientId }) => clientId))];
    const found = await this.#runner.run<Row>({ ...this.#statement, values: [ids] }, lookUps[0]?.begin);
    const rows = new Map(found.map((row) => [this.#idOf(row), row]));
    return lookUps.map(({ clientId }) => rows.get(clientId));
  }
}
