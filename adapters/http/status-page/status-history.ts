import type { DurationCounts, StatusFigures, StatusTotals } from '../../../application/ports/telemetry.ts';
import type { StatusSample } from './status-data.ts';

/** Seconds between two samples, and the most samples that are kept: one hour. */
export const SAMPLE_SECONDS = 15;
export const SAMPLES_MAX = 240;

/** With the one before, they cover a minute. */
const READINGS_MAX = 60 / SAMPLE_SECONDS + 1;

/** What was counted until one moment, in seconds of a clock that nobody sets. */
export interface Reading extends StatusFigures {
  readonly seconds: number;
}

/** Samples of the last hour, and what the service counted in the last minute. */
export class StatusHistory {
  #samples: readonly StatusSample[] = [];
  /** Those of the last minute, oldest first. */
  #readings: readonly Reading[] = [];

  /** At most 240, oldest first. */
  get samples(): readonly StatusSample[] {
    return this.#samples;
  }

  /** Adds a sample of what has happened since the reading before, if there was one. */
  add(now: Reading, { at, ready }: Pick<StatusSample, 'at' | 'ready'>): void {
    const before = this.#readings.at(-1);
    this.#readings = [...this.#readings, now].slice(-READINGS_MAX);
    if (before === undefined) return;
    const { tokens, refusals } = growthBetween(before.totals, now.totals);
    const each = (count: number) => round(count / Math.max(1, now.seconds - before.seconds));
    const quantile = (share: number) => quantileBetween(before.issued, now.issued, share);
    const sample = { at, ready, tokens: each(tokens), refusals: each(sumOf(refusals)) };
    // The clock may have been set back, and the machine may have slept.
    const kept = this.#samples.filter((old) => old.at <= at && old.at > at - 3_600);
    this.#samples = [...kept, { ...sample, p50: quantile(0.5), p99: quantile(0.99) }].slice(-SAMPLES_MAX);
  }

  /** What was counted from a minute ago, or from startup, until now. */
  lastMinute({ totals }: Reading): StatusTotals {
    return growthBetween(this.#readings[0]?.totals, totals);
  }
}

export function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

const NOTHING: StatusTotals = { requests: 0, tokens: 0, refusals: {}, unknown_paths: {} };

function growthBetween(before = NOTHING, now: StatusTotals): StatusTotals {
  return {
    requests: now.requests - before.requests,
    tokens: now.tokens - before.tokens,
    refusals: minus(now.refusals, before.refusals),
    unknown_paths: minus(now.unknown_paths, before.unknown_paths),
  };
}

/** Only what has grown. */
export function minus(
  counts: StatusTotals['refusals'],
  others: StatusTotals['refusals'],
): Readonly<Record<string, number>> {
  const differences = Object.entries(counts).map(([name, count]) => [name, count - (others[name] ?? 0)] as const);
  return Object.fromEntries(differences.filter(([, count]) => count > 0));
}

/**
 * A quantile of the durations between two readings, as `histogram_quantile` of Prometheus estimates it: the durations of a
 * bucket are taken for evenly distributed, and those above the last bound for equal to it. `null` without any.
 */
function quantileBetween(before: DurationCounts, after: DurationCounts, quantile: number): number | null {
  const counts = Object.entries(after)
    .map(([bound, count]) => ({
      bound: bound === '+Inf' ? Infinity : Number(bound),
      count: count - (before[bound] ?? 0),
    }))
    .sort((one, other) => one.bound - other.bound);
  const rank = quantile * (counts.at(-1)?.count ?? 0);
  let [from, below] = [0, 0];
  for (const { bound, count } of counts) {
    if (rank > 0 && count >= rank) {
      return bound === Infinity ? from : round(from + (bound - from) * ((rank - below) / (count - below)));
    }
    [from, below] = [bound, count];
  }
  return null;
}

/** To a millionth: more digits only fill the response. */
const round = (value: number) => Math.round(value * 1e6) / 1e6;
