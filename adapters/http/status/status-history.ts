import { TOKEN_PATH } from '../endpoints/discovery-endpoints.ts';
import { type Buckets, type Choose, Measurements, type MetricsOfService } from './measurements.ts';
import { quantileBetween } from './quantile.ts';
import type { StatusLatency, StatusSample } from './status-data.ts';
import { TOTALS } from './totals.ts';

/** Seconds between two samples, and the most samples that are kept: one hour. */
export const SAMPLE_SECONDS = 5;
export const SAMPLES_MAX = 720;

/** Samples that cover a minute. */
const SAMPLES_OF_A_MINUTE = 60 / SAMPLE_SECONDS;

const DURATION = 'auth_request_duration_seconds';
const STATEMENT = 'auth_database_statement_duration_seconds';

/** What is compared with later readings. */
interface Reading {
  readonly issued: Buckets;
  readonly refused: Buckets;
  /** Of look-ups in the database: their number, and their seconds together. */
  readonly lookUps: number;
  readonly lookUpSeconds: number;
}

const ofTokens =
  (isChosen: (statusClass: string) => boolean): Choose =>
  (labels) =>
    labels['route'] === TOKEN_PATH && isChosen(String(labels['status_class']));

const ofLookUps: Choose = (labels) => labels['dependency'] === 'client repository' && labels['outcome'] === 'answered';

/** Samples of the last hour, and what the service measured in the last minute. */
export class StatusHistory {
  readonly #samples: StatusSample[] = [];
  /** The last ones, oldest first. */
  readonly #readings: Reading[] = [];

  /** At most 720. */
  get size(): number {
    return this.#samples.length;
  }

  add(at: number, metrics: MetricsOfService): void {
    const now = new Measurements(metrics);
    const reading = readingOf(now);
    const before = this.#readings.at(-1);
    this.#samples.push({
      at,
      tokens: TOTALS.tokens(now),
      refusals: TOTALS.refusals(now),
      p50: quantileBetween(before?.issued, reading.issued, 0.5),
      p99: quantileBetween(before?.issued, reading.issued, 0.99),
      waiting: TOTALS.waiting(now),
      cache_hits: TOTALS.cacheHits(now),
      cache_misses: TOTALS.cacheMisses(now),
    });
    this.#readings.push(reading);
    if (this.#samples.length > SAMPLES_MAX) this.#samples.shift();
    if (this.#readings.length > SAMPLES_OF_A_MINUTE) this.#readings.shift();
  }

  /** The samples after that time, oldest first. */
  since(at: number): readonly StatusSample[] {
    return this.#samples.filter((sample) => sample.at > at);
  }

  /** From a minute ago, or from the first sample, until now. */
  latency(now: Measurements): { readonly token_issued: StatusLatency; readonly token_refused: StatusLatency } {
    const [before, after] = [this.#readings[0], readingOf(now)];
    const latencyOf = (kind: 'issued' | 'refused') => ({
      p50: quantileBetween(before?.[kind], after[kind], 0.5),
      p95: quantileBetween(before?.[kind], after[kind], 0.95),
      p99: quantileBetween(before?.[kind], after[kind], 0.99),
    });
    return { token_issued: latencyOf('issued'), token_refused: latencyOf('refused') };
  }

  /** The mean duration of a look-up in that time. */
  lookUpSeconds(now: Measurements): number | null {
    const [before, after] = [this.#readings[0], readingOf(now)];
    const count = after.lookUps - (before?.lookUps ?? 0);
    return count > 0 ? (after.lookUpSeconds - (before?.lookUpSeconds ?? 0)) / count : null;
  }
}

function readingOf(now: Measurements): Reading {
  return {
    issued: now.buckets(
      DURATION,
      ofTokens((status) => status === '2xx'),
    ),
    refused: now.buckets(
      DURATION,
      ofTokens((status) => status !== '2xx'),
    ),
    lookUps: now.total(`${STATEMENT}_count`, ofLookUps) ?? 0,
    lookUpSeconds: now.total(`${STATEMENT}_sum`, ofLookUps) ?? 0,
  };
}
