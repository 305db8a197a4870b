import type { LoadResult } from './load-generator.ts';

interface AutocannonResult {
  /** Seconds. */
  readonly duration: number;
  readonly '2xx': number;
  readonly non2xx: number;
  /** Connections that broke, and those that waited in vain. */
  readonly errors: number;
  /** Milliseconds, of answers of status 2xx. */
  readonly latency: { readonly p50: number; readonly p99: number };
}

/** Reads the result of autocannon as JSON. */
export function parseAutocannonOutput(output: string): LoadResult {
  const result = JSON.parse(output) as AutocannonResult;
  return {
    tokens: result['2xx'],
    tokensPerSecond: result['2xx'] / result.duration,
    failures: result.non2xx + result.errors,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  };
}
