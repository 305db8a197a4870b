import { describe, expect, it } from '@jest/globals';
import { OpenedKeys } from '../../../application/keys/opened-keys.ts';
import type { KeyPair } from '../../../application/ports/key-provider.ts';
import { KEY_ROWS_MAX, type KeyRow } from '../../../application/ports/key-ring-store.ts';
import type { OpenedSeal } from '../../../application/ports/key-sealer.ts';

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
  it('knows that a key which was usable is revoked when its row is deleted or comes back, for as many keys as a ring has', async () => {
    const pair = (kid: string) => ({ kid }) as KeyPair;
    const plan = { algorithm: 'RS256', step: 0, signsFrom: 0, verifiesUntil: 1_000 } as const;
    const keys = new OpenedKeys({ open: async (sealed) => ({ state: 'opened', plan, pair: pair(sealed) }) });
    const revoke = async (kids: readonly string[]) => {
      await keys.replace(
        kids.map((kid) => row(kid, { sealed: kid })),
        1,
      );
      const revoked = { algorithm: undefined, step: undefined, sealed: undefined, revokedAt: 1 };
      await keys.replace(
        kids.map((kid) => row(kid, revoked)),
        1,
      );
    };
    await revoke(['first']);
    await revoke(Array.from({ length: KEY_ROWS_MAX - 1 }, (_, number) => `key ${number}`));
    await keys.replace([row('first', { sealed: 'first' }), row('invented', { revokedAt: 1 })], 1);
    expect(keys.ring.keys).toEqual([]);
    expect(['first', 'key 7', 'invented'].map((kid) => keys.isRevoked(kid))).toEqual([true, true, true]);
    await revoke(['one more']);
    expect(['first', 'key 7', 'invented'].map((kid) => keys.isRevoked(kid))).toEqual([false, true, false]);
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
    expect(keys.ring.locked).toEqual([rows[1]]);
    // They verify until 1,000.
    await keys.replace(rows, 1_001);
    expect([keys.unusable, keys.ring.locked]).toEqual([[], []]);
  });

  it('knows no key before the first reading', () => {
    const { ring, unusable, lost } = new OpenedKeys({ open: async () => ({ state: 'damaged' }) });
    expect({ ring, unusable, lost }).toEqual({ ring: { keys: [], rows: [], locked: [] }, unusable: [], lost: [] });
  });

  it('misses a key whose row was lost, unless a key of its algorithm has its step', async () => {
    const plan = { algorithm: 'RS256', step: 0, signsFrom: 0, verifiesUntil: 1_000 } as const;
    const keys = new OpenedKeys({ open: async () => ({ state: 'opened', plan, pair: { kid: 'first' } as KeyPair }) });
    await keys.replace([row('first', {})], 1);
    await keys.replace([row('another', { algorithm: 'ES256', sealed: undefined })], 1);
    expect(keys.lost.map(({ kid }) => kid)).toEqual(['first']);
    await keys.replace([row('another', { sealed: undefined })], 1);
    expect(keys.lost).toEqual([]);
  });
});
