import { Gauge, Histogram, type Registry } from '@prometheus-io/client';

/** From a tenth of a millisecond, which a look-up on the same machine takes, to five seconds, above the usual deadline. */
const BUCKETS_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** The connections of one pool at one moment. */
export interface MeasuredPool {
  readonly open: number;
  readonly max: number;
  /** Open ones that no statement uses. */
  readonly idle: number;
  /** Statements that wait for a connection. */
  readonly waiting: number;
}

/**
 * Takes the duration of a statement of a request, in seconds. The functions are the library's own, take half a microsecond,
 * and throw nothing: no file of ours runs between a statement and its count.
 */
export type StatementTimes = Readonly<Record<'answered' | 'failed', (seconds: number) => void>>;

/** What one process uses databases for, by the names that `/readyz` has: a pool of connections, and statements of requests. */
export class DatabaseMetrics {
  readonly #duration: Histogram<'dependency' | 'outcome'>;
  readonly #pools = new Map<string, () => MeasuredPool>();

  constructor(registry: Registry, process: string) {
    const registers = [registry];
    // Without a label of the process: totals, which outlive their worker.
    this.#duration = new Histogram({
      name: 'auth_database_statement_duration_seconds',
      help: 'Seconds that a statement of a request took, with the wait for a connection, and whether the database answered it.',
      labelNames: ['dependency', 'outcome'],
      buckets: BUCKETS_SECONDS,
      registers,
    });
    const pools = this.#pools;
    const gauge = (name: string, help: string, member: keyof MeasuredPool) =>
      new Gauge({
        name: `auth_database_${name}`,
        help,
        labelNames: ['process', 'dependency'],
        registers,
        collect() {
          for (const [dependency, read] of pools) this.set({ process, dependency }, read()[member]);
        },
      });
    gauge('connections', 'Open connections to the database.', 'open');
    gauge('connections_max', 'The bound of auth_database_connections.', 'max');
    gauge('connections_idle', 'Open connections to the database that no statement uses.', 'idle');
    gauge('statements_waiting', 'Statements that wait for a connection.', 'waiting');
  }

  /** Adds a use, once. */
  add(dependency: string, pool: () => MeasuredPool): StatementTimes {
    this.#pools.set(dependency, pool);
    const seriesOf = (outcome: keyof StatementTimes) => {
      this.#duration.zero({ dependency, outcome });
      return this.#duration.labels(dependency, outcome).observe;
    };
    return { answered: seriesOf('answered'), failed: seriesOf('failed') };
  }
}
