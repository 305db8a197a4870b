import type { ProcessTotals } from '../../../application/ports/telemetry.ts';
import { quantileBetween } from './quantile.ts';
import type { StatusLatency, StatusSample } from './status-data.ts';

/** Seconds between two samples, and the most samples that are kept: one hour. */
export const SAMPLE_SECONDS = 5;
export const SAMPLES_MAX = 720;

/** Samples that cover a minute. */
const SAMPLES_OF_A_MINUTE = 60 / SAMPLE_SECONDS;

/** Samples of the last hour, and what the service measured in the last minute. */
export class StatusHistory {
  readonly #samples: StatusSample[] = [];
  /** Of the last minute, oldest first. */
  readonly #totals: ProcessTotals[] = [];

  /** At most 720. */
  get size(): number {
    return this.#samples.length;
  }

  /** @param waiting verifications in all queues. */
  add(at: number, now: ProcessTotals, waiting: number): void {
    const before = this.#totals.at(-1)?.issued;
    this.#samples.push({
      at,
      tokens: now.tokens,
      refusals: Object.values(now.refusals).reduce((sum, count) => sum + count, 0),
      p50: quantileBetween(before, now.issued, 0.5),
      p99: quantileBetween(before, now.issued, 0.99),
      waiting,
      cache_hits: now.cacheHits,
      cache_misses: now.cacheLookUps - now.cacheHits,
    });
    this.#totals.push(now);
    if (this.#samples.length > SAMPLES_MAX) this.#samples.shift();
    if (this.#totals.length > SAMPLES_OF_A_MINUTE) this.#totals.shift();
  }

  /** The samples after that time, oldest first. */
  since(at: number): readonly StatusSample[] {
    return this.#samples.filter((sample) => sample.at > at);
  }

  /** From a minute ago, or from the first sample, until now. */
  latency(now: ProcessTotals): { readonly token_issued: StatusLatency; readonly token_refused: StatusLatency } {
    const latencyOf = (kind: 'issued' | 'refused') => {
      const quantile = (share: number) => quantileBetween(this.#totals[0]?.[kind], now[kind], share);
      return { p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99) };
    };
    return { token_issued: latencyOf('issued'), token_refused: latencyOf('refused') };
  }

  /** The mean duration of a look-up in that time. */
  lookUpSeconds(now: ProcessTotals): number | null {
    const before = this.#totals[0];
    const count = now.lookUps - (before?.lookUps ?? 0);
    return count > 0 ? (now.lookUpSeconds - (before?.lookUpSeconds ?? 0)) / count : null;
  }
}
