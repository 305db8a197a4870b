import { describe, expect, it } from '@jest/globals';
import type { Clock } from '../../application/ports/clock.ts';

export function describeClock(name: string, fresh: () => Clock): void {
  describe(`${name} keeps the promises of Clock`, () => {
    it('returns whole seconds since the epoch', () => {
      const now = fresh().now();
      expect(Number.isSafeInteger(now)).toBe(true);
      // Between the years 2020 and 2100: seconds, not milliseconds.
      expect(now).toBeGreaterThan(1_577_836_800);
      expect(now).toBeLessThan(4_102_444_800);
    });

    it('does not go back by itself', () => {
      const clock = fresh();
      expect(clock.now()).toBeLessThanOrEqual(clock.now());
    });
  });
}
