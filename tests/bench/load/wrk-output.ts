import type { LoadResult } from './load-generator.ts';

interface WrkSummary {
  readonly requests: number;
  /** Microseconds, as the two below. */
  readonly duration: number;
  readonly p50: number;
  readonly p99: number;
  /** Answers of status 400 and above. */
  readonly status: number;
  readonly socket: number;
  readonly timeout: number;
}

/** Reads what token-requests.lua writes when wrk is done: the last line. Throws where there is none. */
export function parseWrkOutput(output: string): LoadResult {
  const line = output.trimEnd().split('\n').at(-1) ?? '';
  if (!line.startsWith('{')) throw new Error(`wrk tells no result: ${output}`);
  const { requests, duration, p50, p99, status, socket, timeout } = JSON.parse(line) as WrkSummary;
  const tokens = requests - status;
  return {
    tokens,
    tokensPerSecond: (tokens * 1e6) / duration,
    failures: status + socket + timeout,
    p50Ms: p50 / 1000,
    p99Ms: p99 / 1000,
  };
}
