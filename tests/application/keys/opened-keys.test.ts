import { describe, expect, it } from '@jest/globals';
import { OpenedKeys } from '../../../application/keys/opened-keys.ts';
import type { KeyRow } from '../../../application/ports/key-ring-store.ts';
import type { OpenedSeal } from '../../../application/ports/key-sealer.ts';

const NEVER_OPENED = { open: async (): Promise<OpenedSeal> => ({ state: 'damaged' }) };
/** More than OpenedKeys keeps of those that were never usable. */
const MANY = 10_000;

function row(kid: string, more: Partial<KeyRow>): KeyRow {
  const times = { createdAt: 0, knownAt: 0, signsFrom: 0, verifiesUntil: 1_000 };
  return {
    ...{ kid, algorithm: 'RS256', step: 0, sealed: 'a seal', endedAt: undefined },
    ...times,
    revokedAt: undefined,
    ...more,
  };
}

describe('OpenedKeys', () => {
  it('keeps so many ids of keys that were revoked elsewhere, and evicts those that were seen longest ago', async () => {
    const keys = new OpenedKeys(NEVER_OPENED);
    const revoke = (...kids: readonly string[]) => {
      const revoked = { algorithm: undefined, step: undefined, sealed: undefined, revokedAt: 1 };
      return keys.replace(
        kids.map((kid) => row(kid, revoked)),
        1,
      );
    };
    await revoke('seen again', 'seen once');
    await revoke(...Array.from({ length: MANY - 2 }, (_, n) => `invented ${n}`));
    expect(keys.isRevoked('seen once')).toBe(true);
    await revoke('seen again', 'one more');
    const kept = ['seen again', 'seen once', 'invented 0', 'one more'].map((kid) => keys.isRevoked(kid));
    expect(kept).toEqual([true, false, true, true]);
  });

  it('opens a seal once, but one without its secret each time: the secret may be there the next time', async () => {
    const opened: string[] = [];
    const seals: Record<string, OpenedSeal> = {
      damaged: { state: 'damaged' },
      locked: { state: 'locked', reason: 'its secret is missing' },
    };
    const keys = new OpenedKeys({
      async open(sealed) {
        opened.push(sealed);
        return seals[sealed] ?? { state: 'damaged' };
      },
    });
    const rows = Object.keys(seals).map((sealed) => row(sealed, { sealed }));
    for (let times = 0; times < 2; times += 1) await keys.replace(rows, 1);
    expect(opened).toEqual(['damaged', 'locked', 'locked']);
    expect(keys.unusable.map(({ kid, state }) => [kid, state])).toEqual([
      ['damaged', 'damaged'],
      ['locked', 'locked'],
    ]);
  });
});
