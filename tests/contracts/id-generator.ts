import { describe, expect, it } from '@jest/globals';
import type { IdGenerator } from '../../application/ports/id-generator.ts';

export function describeIdGenerator(name: string, fresh: () => IdGenerator): void {
  describe(`${name} keeps the promises of IdGenerator`, () => {
    it('generates UUIDs of version 4 in lower case', () => {
      expect(fresh().uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    });

    it('generates no UUID twice, not even across generators', () => {
      const ids = [fresh(), fresh()].flatMap((generator) => Array.from({ length: 5_000 }, () => generator.uuid()));
      expect(new Set(ids).size).toBe(10_000);
    });
  });
}
