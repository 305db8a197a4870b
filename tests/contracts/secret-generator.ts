import { describe, expect, it } from '@jest/globals';
import type { GenerateSecret } from '../../application/ports/new-secrets.ts';

/** What every GenerateSecret promises. */
export function describeSecretGenerator(name: string, generate: GenerateSecret): void {
  describe(`${name} as GenerateSecret`, () => {
    const secrets = Array.from({ length: 2_000 }, () => generate());

    it('generates text that needs no escaping in forms, Basic credentials, URLs and shells', () => {
      for (const secret of secrets) {
        expect(secret).toMatch(/^[A-Za-z0-9]{43}$/);
        expect(new URLSearchParams({ secret }).toString()).toBe(`secret=${secret}`);
      }
    });

    it('generates 256 bits, and no secret twice', () => {
      expect(43 * Math.log2(62)).toBeGreaterThanOrEqual(256);
      expect(new Set(secrets).size).toBe(secrets.length);
    });

    it('uses every letter and digit about equally often', () => {
      const counts = Map.groupBy(secrets.join(''), (character) => character);
      const expected = (secrets.length * 43) / 62;
      expect(counts.size).toBe(62);
      for (const [, { length }] of counts) expect(Math.abs(length - expected)).toBeLessThan(6 * Math.sqrt(expected));
    });
  });
}
