/**
 * The answers between these percentiles, the first of which may be freaks. What is not among the fastest fifth waited
 * for another process or for the garbage collector: without it, differences half as large are found on a busy machine.
 * A difference that only slow answers have is not found here; the ranks of all responses show it.
 */
const FROM = 0.02;
const TO = 0.2;

/** The mean of the fast answers and its standard error, in the unit of the values. */
interface FastMean {
  readonly mean: number;
  readonly error: number;
}

/**
 * The mean of the fast values, without the very fastest. Its standard error follows from the variance of the winsorized
 * sample (Huber, Robust Statistics, section 3.3): values beyond the two percentiles count as the percentiles.
 */
export function fastMean(values: readonly number[]): FastMean {
  const sorted = values.toSorted((one, other) => one - other);
  const fast = sorted.slice(Math.floor(FROM * sorted.length), Math.ceil(TO * sorted.length));
  const [first = Number.NaN] = fast;
  const last = fast.at(-1) ?? Number.NaN;
  const winsorized = sorted.map((value) => Math.min(Math.max(value, first), last));
  const error = Math.sqrt(variance(winsorized) / sorted.length) / (TO - FROM);
  return { mean: mean(fast), error };
}

/**
 * By how many standard errors the first is above the second; beyond ±3 by chance in three of a thousand comparisons.
 */
export function standardErrorsAbove(one: FastMean, other: FastMean): number {
  return (one.mean - other.mean) / Math.hypot(one.error, other.error);
}

/** The difference between two samples with this error that is found with 4 standard errors on average. */
export function detectableDifference({ error }: FastMean): number {
  return 4 * Math.hypot(error, error);
}

function variance(values: readonly number[]): number {
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
