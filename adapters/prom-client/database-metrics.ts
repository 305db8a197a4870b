import { Histogram, type Registry } from '@prometheus-io/client';
import type { DatabaseName, PoolLoad, StatementTimes } from '../../application/ports/telemetry.ts';
import type { MetricName } from './metric-help.ts';
import type { MetricValues } from './metric-values.ts';

/** From 0.1 ms, which a look-up on the same machine takes, to 5 s, above the usual deadline. */
const BUCKETS_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** What databases are used for, by the names of `/readyz`: a pool of connections, and statements of requests. */
export class DatabaseMetrics {
  readonly #duration: Histogram<'dependency' | 'outcome'>;
  readonly #pools = new Map<string, () => PoolLoad>();

  constructor(registry: Registry) {
    this.#duration = new Histogram({
      name: 'auth_database_statement_duration_seconds',
      help: 'Seconds that a statement of a request took, with the wait for a connection, and whether the database answered it.',
      labelNames: ['dependency', 'outcome'],
      buckets: BUCKETS_SECONDS,
      registers: [registry],
    });
  }

  /** Adds the connections of all uses. */
  measure(values: MetricValues): void {
    const pools = [...this.#pools].map(([dependency, read]) => [dependency, read()] as const);
    const gauges = (name: MetricName, field: keyof PoolLoad) => {
      const loads = pools.map(([dependency, load]) => [dependency, load[field]]);
      values.gauges('dependency', name, Object.fromEntries(loads));
    };
    gauges('auth_database_connections', 'open');
    gauges('auth_database_connections_max', 'max');
    gauges('auth_database_connections_idle', 'idle');
    gauges('auth_database_statements_waiting', 'waiting');
  }

  /**
   * Adds a use, once. The functions that take its durations are the library's own, take half a microsecond, and throw
   * nothing: no file of ours runs between a statement and its count.
   */
  add(dependency: DatabaseName, pool: () => PoolLoad): StatementTimes {
    this.#pools.set(dependency, pool);
    const seriesOf = (outcome: keyof StatementTimes) => {
      this.#duration.zero({ dependency, outcome });
      return this.#duration.labels(dependency, outcome).observe;
    };
    return { answered: seriesOf('answered'), failed: seriesOf('failed') };
  }
}
