import type { Pool, PoolClient, QueryResult } from 'pg';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { acquireTimeoutMs } from './connection.ts';
import { isSessionLost, loggableFault } from './fault.ts';
import type { DatabaseHealth } from './health.ts';

/** A statement; or several in one text without a name and values, which run in one transaction. */
export interface Statement {
  /** With a name, the server prepares the statement once for each connection. */
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly string[];
}

/**
 * Runs statements that are safe to repeat on the driver itself, each within one deadline. The deadline covers the wait
 * for a connection (at most half of it), the answer, and a second attempt where the first met a broken connection.
 */
export class StatementRunner {
  readonly #pool: Pool;
  readonly #deadlineMs: number;
  readonly #acquireMs: number;

  constructor(pool: Pool, deadlineMs: number) {
    this.#pool = pool;
    this.#deadlineMs = deadlineMs;
    this.#acquireMs = acquireTimeoutMs(deadlineMs);
  }

  /** The rows, of the last statement where there are several. Throws the driver's errors, at the deadline at the latest. */
  async run<Row>(statement: Statement): Promise<readonly Row[]> {
    const end = performance.now() + this.#deadlineMs;
    const connection = await this.#pool.connect();
    try {
      return await this.#runOn<Row>(connection, statement, end);
    } catch (fault) {
      if (!isSessionLost(fault)) throw fault;
      this.#dropIdle();
      if (end - performance.now() < this.#acquireMs) throw fault;
    }
    return this.#runOn<Row>(await this.#pool.connect(), statement, end);
  }

  async #runOn<Row>(connection: PoolClient, { name, text, values }: Statement, end: number): Promise<readonly Row[]> {
    // pg accepts a time limit for one statement here, although its types do not declare it.
    const limited = {
      text,
      query_timeout: Math.max(1, Math.ceil(end - performance.now())),
      ...(name !== undefined && { name }),
      ...(values !== undefined && { values: [...values] }),
    };
    try {
      const answer: QueryResult | readonly QueryResult[] = await connection.query(limited);
      connection.release();
      return [answer].flat().at(-1)?.rows ?? [];
    } catch (fault) {
      // Only after an answer from the server is the connection known to be ready for the next statement.
      connection.release(isSessionLost(fault));
      throw fault;
    }
  }

  /** When one connection breaks, the idle ones are probably broken too. Each would cost a deadline to find out. */
  #dropIdle(): void {
    for (let count = this.#pool.idleCount; count > 0; count -= 1) {
      this.#pool.connect().then(
        (connection) => connection.release(true),
        () => {},
      );
    }
  }
}

/** Runs statements for requests, and keeps the health of the database up to date with what they find. */
export class WatchedRunner {
  readonly #dependency: string;
  readonly #runner: StatementRunner;
  readonly #health: DatabaseHealth;

  /** @param dependency what the table is for, in words for an operator. */
  constructor(dependency: string, runner: StatementRunner, health: DatabaseHealth) {
    this.#dependency = dependency;
    this.#runner = runner;
    this.#health = health;
  }

  /**
   * The rows. Throws DependencyUnavailable, at the deadline at the latest.
   *
   * @param isNothing whether a fault means that no row can match, rather than that the database failed.
   */
  async run<Row>(statement: Statement, isNothing: (fault: unknown) => boolean = () => false): Promise<readonly Row[]> {
    if (!this.#health.prepared) throw new DependencyUnavailable(this.#dependency, this.#health.fault);
    try {
      const rows = await this.#runner.run<Row>(statement);
      if (this.#health.fault !== undefined) this.#health.recovered();
      return rows;
    } catch (fault) {
      if (isNothing(fault)) return [];
      this.#health.failed(fault);
      throw new DependencyUnavailable(this.#dependency, loggableFault(fault));
    }
  }
}
