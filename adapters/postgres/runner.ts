import type { Pool, PoolClient, QueryResult } from 'pg';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { acquireTimeoutMs, type Connection, type StatementTimes } from './connection.ts';
import { hasState, isSessionLost, loggableFault, SQLSTATE } from './fault.ts';
import type { DatabaseHealth } from './health.ts';

/** A statement that is safe to repeat; or several in one text without a name and values, which run in one transaction. */
export interface Statement {
  /** With a name, the server prepares the statement once for each connection. */
  readonly name?: string;
  readonly text: string;
  readonly values?: string[];
}

const NOT_MEASURED: StatementTimes = { answered: () => {}, failed: () => {} };

/** Runs statements for requests, and keeps the health of the database up to date with what they find. */
export class Runner {
  readonly #connection: Connection;
  readonly #health: DatabaseHealth;
  readonly #times: StatementTimes;

  constructor(connection: Connection, health: DatabaseHealth, times = NOT_MEASURED) {
    this.#connection = connection;
    this.#health = health;
    this.#times = times;
  }

  /**
   * The rows. Throws DependencyUnavailable, at the deadline at the latest.
   *
   * @param empty SQLSTATEs which mean that no row can match, rather than that the database failed.
   */
  async run<Row>(statement: Statement, empty?: RegExp): Promise<readonly Row[]> {
    const health = this.#health;
    if (!health.prepared) throw new DependencyUnavailable(health.name, health.fault);
    const begin = performance.now();
    let outcome: keyof StatementTimes = 'answered';
    try {
      return await runStatement<Row>(this.#connection, statement);
    } catch (fault) {
      if (empty !== undefined && hasState(fault, empty)) return [];
      // A data exception is about the value that was sent, which a caller chose; it says nothing about the database.
      if (!hasState(fault, SQLSTATE.dataException)) {
        outcome = 'failed';
        health.failed(fault);
      }
      throw new DependencyUnavailable(health.name, loggableFault(fault));
    } finally {
      this.#times[outcome]((performance.now() - begin) / 1_000);
    }
  }

  /** From now on, the probes of the database's health read this table too. */
  alsoProbe(table: string): void {
    const statement = { text: `select from $schema.${table} limit 0` };
    this.#health.include(async () => void (await runStatement(this.#connection, statement)));
  }

  /** As `run`, for a statement that may take longer than the deadline allows: undefined then, which says nothing about the database. */
  async tryRun<Row>(statement: Statement): Promise<readonly Row[] | undefined> {
    if (!this.#health.prepared) return undefined;
    return runStatement<Row>(this.#connection, statement).catch(() => undefined);
  }
}

/**
 * The rows; of several statements, those of the last one. Throws the driver's errors, at the deadline at the latest. The
 * deadline covers the wait for a connection (at most half of it), the answer, and a second attempt if the first one used a
 * broken connection. The statement goes directly to the driver, not through the ORM.
 */
export async function runStatement<Row>(
  { pool, deadlineMs }: Connection,
  statement: Statement,
): Promise<readonly Row[]> {
  const end = performance.now() + deadlineMs;
  const client = await pool.connect();
  try {
    return await runOn<Row>(client, statement, end);
  } catch (fault) {
    if (!isSessionLost(fault)) throw fault;
    dropIdle(pool);
    if (end - performance.now() < acquireTimeoutMs(deadlineMs)) throw fault;
  }
  return runOn<Row>(await pool.connect(), statement, end);
}

async function runOn<Row>(client: PoolClient, statement: Statement, end: number): Promise<readonly Row[]> {
  // pg accepts a time limit for one statement here, although its types do not declare it.
  const limited = { ...statement, query_timeout: Math.max(1, Math.ceil(end - performance.now())) };
  try {
    const answer: QueryResult | readonly QueryResult[] = await client.query(limited);
    client.release();
    return [answer].flat().at(-1)?.rows ?? [];
  } catch (fault) {
    // The connection is known to be ready for the next statement only after an answer from the server.
    client.release(isSessionLost(fault));
    throw fault;
  }
}

/** When one connection breaks, the idle ones are probably broken too. Each would cost a deadline to find out. */
function dropIdle(pool: Pool): void {
  for (let count = pool.idleCount; count > 0; count -= 1) {
    pool.connect().then(
      (client) => client.release(true),
      () => {},
    );
  }
}
