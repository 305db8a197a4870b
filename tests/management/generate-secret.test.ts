import { describe, expect, it } from '@jest/globals';
import { generateSecret } from '../../management/generate-secret.ts';

describe('generateSecret', () => {
  const secrets = Array.from({ length: 2_000 }, generateSecret);

  it('is text that forms, Basic credentials, URLs and shells leave as it is', () => {
    for (const secret of secrets) {
      expect(secret).toMatch(/^[A-Za-z0-9]{43}$/);
      expect(new URLSearchParams({ secret }).toString()).toBe(`secret=${secret}`);
    }
  });

  it('carries 256 bits, and never comes twice', () => {
    expect(43 * Math.log2(62)).toBeGreaterThanOrEqual(256);
    expect(new Set(secrets).size).toBe(secrets.length);
  });

  it('uses every letter and digit about as often', () => {
    const counts = Map.groupBy(secrets.join(''), (character) => character);
    const expected = (secrets.length * 43) / 62;
    expect(counts.size).toBe(62);
    for (const [, { length }] of counts) expect(Math.abs(length - expected)).toBeLessThan(6 * Math.sqrt(expected));
  });
});
