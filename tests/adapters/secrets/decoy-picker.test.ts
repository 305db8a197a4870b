import { describe, expect, it } from '@jest/globals';
import { decoyPicker } from '../../../adapters/secrets/decoy-picker.ts';

const IDS = Array.from({ length: 2_000 }, (_, number) => `unknown-${number}`);
const pick = decoyPicker(new Uint8Array(32));

describe('decoyPicker', () => {
  it.each([1, 2, 3, 8, 9, 100])('picks each of %i clients, and nobody else', (range) => {
    const picks = new Set(IDS.map((id) => pick(id, range)));
    expect([...picks].toSorted((one, other) => one - other)).toEqual(Array.from({ length: range }, (_, n) => n + 1));
  });

  it('picks nobody where nobody is registered', () => {
    expect(pick('unknown', 0)).toBe(0);
  });

  it('picks the same client with the same key, and no guessable one: another key has other picks', () => {
    const [again, other] = [decoyPicker(new Uint8Array(32)), decoyPicker(new Uint8Array(32).fill(1))];
    const samePicks = (picker: typeof pick) => IDS.filter((id) => picker(id, 100) === pick(id, 100)).length;
    expect(samePicks(again)).toBe(IDS.length);
    expect(samePicks(other)).toBeLessThan(IDS.length / 10);
  });

  it('goes on to pick the same client when another one is added, or picks that one', () => {
    for (const range of [1, 7, 8, 9, 99]) {
      for (const id of IDS) expect([pick(id, range), range + 1]).toContain(pick(id, range + 1));
    }
  });
});
