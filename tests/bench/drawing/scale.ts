export type Scale = (value: number) => number;

/** Maps 0 to `start` and `highest` to `end`, and everything between in proportion. */
export function linearScale(highest: number, start: number, end: number): Scale {
  return (value) => start + (value / highest) * (end - start);
}

/**
 * Round values for an axis that begins at 0: steps of 1, 2 or 5 times a power of ten, about `count` of them. The last one is
 * not below `highest`, so that the axis ends there. Without a positive value the axis goes from 0 to 1.
 */
export function ticks(highest: number, count = 4): readonly number[] {
  if (!Number.isFinite(highest) || highest <= 0) return [0, 1];
  const least = highest / count;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = ([1, 2, 5].find((factor) => factor * power >= least * (1 - 1e-9)) ?? 10) * power;
  const steps = Math.ceil(highest / step - 1e-9);
  return Array.from({ length: steps + 1 }, (_, n) => Number((n * step).toPrecision(12)));
}
