import type { DurationCounts, ProcessFigures } from '../../../application/ports/telemetry.ts';
import type { LastMinute, StatusLatency, StatusSample } from './status-data.ts';

/** Seconds between two samples, and the most samples that are kept: one hour. */
export const SAMPLE_SECONDS = 5;
export const SAMPLES_MAX = 720;

/** Samples that cover a minute. */
const SAMPLES_OF_A_MINUTE = 60 / SAMPLE_SECONDS;

/** What was measured at one moment. */
export interface Reading {
  /** In seconds of a clock that nobody sets. */
  readonly seconds: number;
  readonly figures: ProcessFigures;
}

/** Samples of the last hour, and what the service measured in the last minute. */
export class StatusHistory {
  readonly #samples: StatusSample[] = [];
  /** Of the last minute, oldest first. */
  readonly #readings: Reading[] = [];

  /** At most 720. */
  get size(): number {
    return this.#samples.length;
  }

  /** @param waiting verifications in all queues. */
  add(now: Reading, { at, ready, waiting }: Pick<StatusSample, 'at' | 'ready' | 'waiting'>): void {
    const { status, issued } = now.figures.totals;
    const { tokens, refusals, cache_hits, cache_misses } = status;
    const before = this.#readings.at(-1)?.figures.totals.issued;
    this.#samples.push({
      at,
      ready,
      tokens,
      refusals: Object.values(refusals).reduce((sum, count) => sum + count, 0),
      p50: quantileBetween(before, issued, 0.5),
      p99: quantileBetween(before, issued, 0.99),
      waiting,
      cache_hits,
      cache_misses,
    });
    this.#readings.push(now);
    if (this.#samples.length > SAMPLES_MAX) this.#samples.shift();
    if (this.#readings.length > SAMPLES_OF_A_MINUTE) this.#readings.shift();
  }

  /** The samples after that time, oldest first. */
  since(at: number): readonly StatusSample[] {
    return this.#samples.filter((sample) => sample.at > at);
  }

  /** From a minute ago, or from the first sample, until now. So are the other figures. */
  lastMinute({ figures }: Reading): LastMinute {
    const { status } = figures.totals;
    const before = this.#readings[0]?.figures.totals.status;
    const refusals = Object.entries(status.refusals).map(([reason, count]) => {
      return [reason, count - (before?.refusals[reason] ?? 0)] as const;
    });
    return {
      requests: status.requests - (before?.requests ?? 0),
      tokens: status.tokens - (before?.tokens ?? 0),
      refusals: Object.fromEntries(refusals.filter(([, count]) => count > 0)),
    };
  }

  latency({ figures: { totals } }: Reading): {
    readonly token_issued: StatusLatency;
    readonly token_refused: StatusLatency;
  } {
    const latencyOf = (kind: 'issued' | 'refused') => {
      const quantile = (share: number) => quantileBetween(this.#readings[0]?.figures.totals[kind], totals[kind], share);
      return { p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99) };
    };
    return { token_issued: latencyOf('issued'), token_refused: latencyOf('refused') };
  }

  /** The mean duration of a look-up. */
  lookUpSeconds({ figures: { totals } }: Reading): number | null {
    const before = this.#readings[0]?.figures.totals;
    const count = totals.lookUps - (before?.lookUps ?? 0);
    return count > 0 ? (totals.lookUpSeconds - (before?.lookUpSeconds ?? 0)) / count : null;
  }

  /** The cores that the process has used. */
  cores(now: Reading): number | null {
    const [before] = this.#readings;
    if (before === undefined || now.seconds <= before.seconds) return null;
    return (now.figures.cpuSeconds - before.figures.cpuSeconds) / (now.seconds - before.seconds);
  }
}

/**
 * A quantile of the durations between two readings, as `histogram_quantile` of Prometheus estimates it: the durations of a
 * bucket are taken for evenly distributed, and those above the last bound for equal to it. `null` without any.
 */
export function quantileBetween(before: DurationCounts = {}, after: DurationCounts, quantile: number): number | null {
  const counts = Object.entries(after)
    .map(([bound, count]) => ({
      bound: bound === '+Inf' ? Infinity : Number(bound),
      count: count - (before[bound] ?? 0),
    }))
    .sort((one, other) => one.bound - other.bound);
  const all = counts.at(-1)?.count ?? 0;
  if (all <= 0) return null;
  const rank = quantile * all;
  let [from, below] = [0, 0];
  for (const { bound, count } of counts) {
    if (count >= rank) return bound === Infinity ? from : from + (bound - from) * ((rank - below) / (count - below));
    [from, below] = [bound, count];
  }
  return null;
}
