/**
 * The Mann-Whitney U test: how many standard errors the ranks of one sample are above those of the other, by the normal
 * approximation. 0 if the two do not differ; beyond ±3 by chance in three of a thousand comparisons.
 */
export function rankZ(one: readonly number[], other: readonly number[]): number {
  let above = 0;
  for (const a of one) for (const b of other) above += a > b ? 1 : a === b ? 0.5 : 0;
  const pairs = one.length * other.length;
  return (above - pairs / 2) / Math.sqrt((pairs * (one.length + other.length + 1)) / 12);
}
