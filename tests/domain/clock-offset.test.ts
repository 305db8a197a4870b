import { describe, expect, it } from '@jest/globals';
import { CLOCK_OFFSET_SECONDS_MAX, clockWindow } from '../../domain/clock-offset.ts';

describe('clockWindow', () => {
  it('allows ten seconds in both directions around the clock of the directory', () => {
    expect(CLOCK_OFFSET_SECONDS_MAX).toBe(10);
    expect(clockWindow(5_000, 100, 100)).toEqual({ exact: 4_900, min: 4_890, max: 4_910 });
  });

  it('takes the middle of the query for the time at which the directory read its clock, and allows for the rest of it', () => {
    expect(clockWindow(5_000, 100, 104)).toEqual({ exact: 4_898, min: 4_886, max: 4_910 });
  });
});
