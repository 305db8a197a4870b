/** One measurement. Only measurements of the same stratum are compared with each other. */
export interface Sample {
  readonly microseconds: number;
  /** Which part of the noise the sample shares with others: a stretch of time, or the moment within a millisecond. */
  readonly stratum: number;
}

/** A shift of one second is beyond any difference between two refusals of a kind. */
const SHIFT_MAX_US = 1_000_000;
const SHIFT_PRECISION_US = 0.1;

/**
 * The Mann-Whitney U test within each stratum, combined by van Elteren's weights: how many standard errors the ranks of one
 * sample are above those of the other. 0 if the two do not differ; beyond ±3 by chance in three of a thousand comparisons.
 *
 * Ranks ignore how far off an outlier is, so pauses of the machine do not hide a difference.
 */
export function stratifiedRankZ(one: readonly Sample[], other: readonly Sample[]): number {
  const ones = byStratum(one);
  const others = byStratum(other);
  let sum = 0;
  let variance = 0;
  for (const [stratum, values] of ones) {
    const against = others.get(stratum) ?? [];
    const pairs = values.length * against.length;
    const size = values.length + against.length;
    if (pairs === 0) continue;
    sum += (countAbove(values, against) - pairs / 2) / (size + 1);
    variance += pairs / (12 * (size + 1));
  }
  return variance === 0 ? Number.NaN : sum / Math.sqrt(variance);
}

/** By how many microseconds one sample is above the other (the Hodges-Lehmann estimate). */
export function differenceMicroseconds(one: readonly Sample[], other: readonly Sample[]): number {
  return -shiftReaching(0, one, other);
}

/** The smallest difference, in microseconds, that two samples with the noise of this one would show with z = 4 on average. */
export function detectableMicroseconds(sample: readonly Sample[]): number {
  return shiftReaching(4, sample, sample);
}

/** The number of microseconds to add to one sample for this z against the other, by bisection. */
function shiftReaching(z: number, one: readonly Sample[], other: readonly Sample[]): number {
  let low = -SHIFT_MAX_US;
  let high = SHIFT_MAX_US;
  while (high - low > SHIFT_PRECISION_US) {
    const middle = (low + high) / 2;
    const shifted = one.map(({ microseconds, stratum }) => ({ microseconds: microseconds + middle, stratum }));
    if (stratifiedRankZ(shifted, other) < z) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** In how many pairs the first value is above the second; a tie counts half. */
function countAbove(values: readonly number[], against: readonly number[]): number {
  let above = 0;
  for (const value of values) for (const other of against) above += value > other ? 1 : value === other ? 0.5 : 0;
  return above;
}

function byStratum(samples: readonly Sample[]): ReadonlyMap<number, readonly number[]> {
  const strata = new Map<number, number[]>();
  for (const { microseconds, stratum } of samples) {
    const values = strata.get(stratum);
    if (values === undefined) strata.set(stratum, [microseconds]);
    else values.push(microseconds);
  }
  return strata;
}
