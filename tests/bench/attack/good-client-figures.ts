import { percentile } from '../figures/percentile.ts';
import type { GoodClientResult } from './good-client-job.ts';

/** The good clients' result in the figures that are shown and judged. */
export interface GoodClientFigures {
  readonly requests: number;
  /** Percent of the requests that were answered with a token. */
  readonly success: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly highestMs: number;
  /** By how much the driver itself was late, at the 99th percentile. */
  readonly lateP99Ms: number;
  /** Of the clients that were not seen before; Infinity where one got no token, NaN where there was none. */
  readonly unseenMedianMs: number;
  readonly unseenHighestMs: number;
}

export function goodClientFigures(result: GoodClientResult): GoodClientFigures {
  const failures = Object.values(result.failures).reduce((sum, count) => sum + count, 0);
  const requests = result.latenciesMs.length + failures;
  const unseen = result.unseenMs.map((ms) => ms ?? Number.POSITIVE_INFINITY);
  return {
    requests,
    success: (100 * result.latenciesMs.length) / requests,
    p50Ms: percentile(result.latenciesMs, 50),
    p99Ms: percentile(result.latenciesMs, 99),
    highestMs: percentile(result.latenciesMs, 100),
    lateP99Ms: percentile(result.latenessMs, 99),
    unseenMedianMs: percentile(unseen, 50),
    unseenHighestMs: percentile(unseen, 100),
  };
}
