import type { Pool, PoolClient, QueryResult } from 'pg';
import { acquireTimeoutMs } from './database.ts';
import { isSessionSpoilt } from './database-fault.ts';

/** A statement; or several in one text without a name and values, which are one transaction. */
export interface Statement {
  /** With a name, the server prepares it once a connection. */
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly string[];
}

/**
 * Runs statements that may be repeated, on the driver itself, each within one deadline: the wait for a connection (at
 * most half of it), the answer, and a second try where the first met a connection that had broken unnoticed.
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
      if (!isSessionSpoilt(fault)) throw fault;
      this.#dropIdle();
      if (end - performance.now() < this.#acquireMs) throw fault;
    }
    return this.#runOn<Row>(await this.#pool.connect(), statement, end);
  }

  async #runOn<Row>(connection: PoolClient, { name, text, values }: Statement, end: number): Promise<readonly Row[]> {
    // pg takes a time limit for one statement here, though its types do not say so.
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
      // Only after an answer of the server's is it known to be waiting for the next statement.
      connection.release(isSessionSpoilt(fault));
      throw fault;
    }
  }

  /** Where one connection fell silent or broke, those that idle are likely as dead, and would cost a deadline each to find out. */
  #dropIdle(): void {
    for (let count = this.#pool.idleCount; count > 0; count -= 1) {
      this.#pool.connect().then(
        (connection) => connection.release(true),
        () => {},
      );
    }
  }
}
