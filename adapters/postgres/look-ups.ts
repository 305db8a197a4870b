import { Batches } from '../../application/batches.ts';
import type { Runner, Statement } from './runner.ts';

/** The most look-ups of one statement. */
const LOOK_UPS_MAX = 64;

interface LookUp {
  readonly clientId: string;
  /** A further value for the statement. The same id has the same. */
  readonly more: string | undefined;
  /** In milliseconds of `performance`. */
  readonly begin: number;
}

/**
 * Look-ups by client id. Concurrent ones share a statement, which none joins that began after it was sent;
 * docs/decisions/0125 has the figures.
 */
export class LookUps<Row extends { readonly clientId: string }> {
  readonly #runner: Runner;
  readonly #statement: () => Statement;
  readonly #idOf: (row: Row) => string;
  readonly #batches = new Batches((lookUps: readonly LookUp[]) => this.#findAll(lookUps), { max: LOOK_UPS_MAX });

  /**
   * @param statement takes an array of ids, and where `find` is given a further value, an array of these.
   * @param idOf the id that a row is for, compared exactly: a collation may ignore case.
   */
  constructor(runner: Runner, statement: () => Statement, idOf: (row: Row) => string) {
    this.#runner = runner;
    this.#statement = statement;
    this.#idOf = idOf;
  }

  /** The row of this client id. Throws DependencyUnavailable. */
  async find(clientId: string, more?: string): Promise<Row | undefined> {
    return this.#batches.add({ clientId, more, begin: performance.now() });
  }

  /** All in one statement. */
  async #findAll(lookUps: readonly LookUp[]): Promise<readonly (Row | undefined)[]> {
    const asked = new Map(lookUps.map(({ clientId, more }) => [clientId, more]));
    const more = [...asked.values()].flatMap((value) => value ?? []);
    const values = [[...asked.keys()], ...(more.length > 0 ? [more] : [])];
    const found = await this.#runner.run<Row>({ ...this.#statement(), values }, lookUps[0]?.begin);
    const rows = new Map<string, Row>();
    for (const row of found) {
      const id = this.#idOf(row);
      // Several rows of another application's table may have one number.
      if (row.clientId === id || !rows.has(id)) rows.set(id, row);
    }
    return lookUps.map(({ clientId }) => rows.get(clientId));
  }
}
