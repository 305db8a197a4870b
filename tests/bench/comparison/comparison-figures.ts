import { median } from '../figures/median.ts';
import type { Measurement } from '../load/measurement.ts';

/** What was measured of one candidate. */
export interface ComparisonRow {
  readonly name: string;
  readonly tokenBytes: number;
  readonly rounds: readonly Measurement[];
}

/** A row's figures as they are shown: medians over the rounds. */
export interface ComparisonFigures {
  readonly tokensPerSecond: number;
  /** Of the RSA limit of the same round. */
  readonly ratio: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMsPerToken: number | undefined;
  readonly memoryMb: number | undefined;
  /** Of all rounds together. */
  readonly failures: number;
}

export function comparisonFigures(
  { rounds }: Pick<ComparisonRow, 'rounds'>,
  rsaLimits: readonly number[],
): ComparisonFigures {
  const over = (value: (round: Measurement, position: number) => number | undefined) => {
    const values = rounds.map(value);
    return values.includes(undefined) ? undefined : median(values as readonly number[]);
  };
  return {
    tokensPerSecond: over((round) => round.tokensPerSecond) ?? Number.NaN,
    ratio: over((round, position) => round.tokensPerSecond / (rsaLimits[position] ?? Number.NaN)) ?? Number.NaN,
    p50Ms: over((round) => round.p50Ms) ?? Number.NaN,
    p99Ms: over((round) => round.p99Ms) ?? Number.NaN,
    cpuMsPerToken: over((round) => round.cpuMsPerToken),
    memoryMb: over((round) => round.memoryMb),
    failures: rounds.reduce((sum, round) => sum + round.failures, 0),
  };
}
