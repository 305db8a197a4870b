import type { Compilable } from 'kysely';
import type { Pool, PoolClient, QueryResult } from 'pg';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { StatementTimes } from '../../application/ports/telemetry.ts';
import { acquireTimeoutMs, type Connection } from './connection.ts';
import { hasState, isSessionLost, loggableFault, SQLSTATE } from './fault.ts';
import type { TableHealth } from './table-health.ts';

/** A statement that is safe to repeat, or several in one text without name and values, in one transaction. */
export interface Statement {
  /** With a name, the server prepares the statement once for each connection. */
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
}

export function statementOf<Row>(built: Compilable<Row>): Statement {
  const { sql: text, parameters } = built.compile();
  return { text, values: [...parameters] };
}

const NOT_MEASURED: StatementTimes = { answered: () => {}, failed: () => {} };

interface RunnerParts {
  readonly connection: Connection;
  readonly health: TableHealth;
  /** The name of the dependency if it fails. */
  readonly name: string;
  readonly times?: StatementTimes | undefined;
}

/** Runs statements for requests. */
export class Runner {
  readonly #parts: RunnerParts;
  readonly #times: StatementTimes;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.#times = parts.times ?? NOT_MEASURED;
  }

  /** As `run`, of a statement that Kysely has built. */
  query<Row>(statement: Compilable<Row>): Promise<readonly Row[]> {
    return this.run(statementOf(statement));
  }

  /**
   * The rows. Throws DependencyUnavailable, at the deadline at the latest.
   *
   * @param begin since when the deadline runs.
   */
  async run<Row>(statement: Statement, begin = performance.now()): Promise<readonly Row[]> {
    const { health, name } = this.#parts;
    if (!health.isThere) throw new DependencyUnavailable(name, health.fault);
    let outcome: keyof StatementTimes = 'answered';
    try {
      return await this.#send<Row>(statement, begin);
    } catch (fault) {
      // A data exception is about the value that was sent, which a caller chose; it says nothing about the database.
      if (!hasState(fault, SQLSTATE.dataException)) outcome = 'failed';
      throw new DependencyUnavailable(name, loggableFault(fault));
    } finally {
      this.#times[outcome]((performance.now() - begin) / 1_000);
    }
  }

  /**
   * As `run`, for a statement that may take longer than the deadline allows: undefined then, which says nothing about
   * the database.
   *
   * @param deadlineMs the deadline of this statement, in place of that of requests.
   */
  async tryRun<Row>(statement: Statement, deadlineMs?: number): Promise<readonly Row[] | undefined> {
    if (!this.#parts.health.isThere) return undefined;
    return this.#send<Row>(statement, performance.now(), deadlineMs).catch(() => undefined);
  }

  #send<Row>(statement: Statement, begin: number, ownDeadlineMs?: number): Promise<readonly Row[]> {
    const { pool, deadlineMs } = this.#parts.connection;
    return runStatement<Row>(
      { pool, deadlineMs: (ownDeadlineMs ?? deadlineMs) - (performance.now() - begin) },
      statement,
    );
  }
}

/**
 * The rows; of several statements, those of the last one. Throws the driver's errors, at the deadline at the latest.
 * The deadline covers the wait for a connection (at most half of it), the response, and a second attempt if the first
 * one used a broken connection. The statement goes directly to the driver, not through the ORM.
 */
export async function runStatement<Row>(
  { pool, deadlineMs }: Pick<Connection, 'pool' | 'deadlineMs'>,
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
    const response: QueryResult | readonly QueryResult[] = await client.query(limited);
    client.release();
    return [response].flat().at(-1)?.rows ?? [];
  } catch (fault) {
    // The connection is known to be ready for the next statement only after a response from the server.
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
