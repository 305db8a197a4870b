import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  ADDED_WITHIN_SECONDS,
  type KeyPlan,
  type KeyPolicy,
  nextKeyAt,
  type Ring,
  type RingKey,
  rotationAfter,
  signingKeyAt,
  signsUntil,
  verifyingKeysAt,
} from '../../domain/key-chain.ts';
import type { TokenAlgorithm } from '../../domain/token-key.ts';

const POLICY: KeyPolicy = {
  algorithm: 'RS256',
  rotationSeconds: 1_000,
  publicationSeconds: 100,
  tokenLifetimeSeconds: 300,
};
const NOW = 50_000;

type Row = KeyPlan & {
  readonly kid: string;
  readonly addedAt: number;
  endedAt?: number | undefined;
  revokedAt?: number | undefined;
};

function ringOf(rows: readonly Row[], more: Pick<Partial<Ring>, 'locked'> = {}): Ring<Row & RingKey> {
  const keys = rows.filter(({ revokedAt }) => revokedAt === undefined).map((row) => ({ ...row, endedAt: row.endedAt }));
  const all = rows.map((row) => ({ ...row, endedAt: row.endedAt, revokedAt: row.revokedAt }));
  return { keys, rows: all, locked: [], ...more };
}

/** The key with this step, as a replica with POLICY plans it at its time. */
function key(step: number, signsFrom: number, more: Partial<Row> = {}): Row {
  const algorithm: TokenAlgorithm = more.algorithm ?? 'RS256';
  return {
    algorithm,
    step,
    signsFrom,
    verifiesUntil: signsFrom + 1_360,
    kid: `${algorithm}-${step}`,
    addedAt: 0,
    ...more,
  };
}

const signerOf = (rows: readonly Row[], time = NOW, policy = POLICY) => signingKeyAt(ringOf(rows), time, policy)?.kid;

describe('the first key', () => {
  it('signs at once in an empty ring, and verifies until its planned end, one lifetime and a minute have passed', () => {
    expect(nextKeyAt(ringOf([]), NOW + 0.7, POLICY)).toEqual({
      algorithm: 'RS256',
      step: 0,
      signsFrom: NOW,
      verifiesUntil: NOW + 1_360,
    });
  });

  it('of another algorithm waits for the publication time while keys sign, and is made only once', () => {
    const policy: KeyPolicy = { ...POLICY, algorithm: 'ES256' };
    const current = key(4, NOW - 10);
    const signsFrom = NOW + ADDED_WITHIN_SECONDS + 100;
    expect(nextKeyAt(ringOf([current]), NOW, policy)).toMatchObject({ algorithm: 'ES256', step: 0, signsFrom });
    const waiting = key(0, signsFrom, { algorithm: 'ES256' });
    expect(nextKeyAt(ringOf([current, waiting]), NOW, policy)).toBeUndefined();
    expect(signerOf([current, waiting], signsFrom - 1, policy)).toBe('RS256-4');
    expect(signerOf([current, waiting], signsFrom, policy)).toBe('ES256-0');
    expect(signerOf([current, waiting], signsFrom, POLICY)).toBe('RS256-4');
  });

  it('of an algorithm whose keys have ended long ago waits as well', () => {
    const rows = [key(7, NOW - 5_000, { algorithm: 'ES256' }), key(4, NOW - 10)];
    const policy: KeyPolicy = { ...POLICY, algorithm: 'ES256' };
    const signsFrom = NOW + ADDED_WITHIN_SECONDS + 100;
    expect(nextKeyAt(ringOf(rows), NOW, policy)).toMatchObject({ step: 8, signsFrom });
    const waiting = [...rows, key(8, signsFrom, { algorithm: 'ES256' })];
    expect(signerOf(waiting, NOW, policy)).toBe('RS256-4');
    expect(nextKeyAt(ringOf(waiting), NOW, policy)).toBeUndefined();
    expect(signerOf(waiting, signsFrom, policy)).toBe('ES256-8');
  });

  it('of another algorithm signs before its time if no key is left that may', () => {
    const waiting = key(0, NOW + 60, { algorithm: 'ES256' });
    expect(signerOf([key(4, NOW - 1_001), waiting], NOW, { ...POLICY, algorithm: 'ES256' })).toBe('ES256-0');
  });

  it('of another algorithm waits beside the next key of the old one too, if the tokens of its replica are valid for longer', () => {
    const policy: KeyPolicy = { ...POLICY, algorithm: 'ES256', tokenLifetimeSeconds: 600 };
    const rows = [key(4, NOW - 800), key(5, NOW + 200)];
    const signsFrom = NOW + ADDED_WITHIN_SECONDS + 100;
    expect(nextKeyAt(ringOf(rows), NOW, policy)).toMatchObject({ algorithm: 'ES256', step: 0, signsFrom });
    expect(signerOf([...rows, key(0, signsFrom, { algorithm: 'ES256' })], NOW, policy)).toBe('RS256-5');
  });

  it('of another algorithm waits, whatever was revoked of the algorithm that signs, and long ago of its own', () => {
    const policy: KeyPolicy = { ...POLICY, algorithm: 'ES256' };
    const revoked = [
      key(3, NOW - 50, { revokedAt: NOW }),
      key(7, NOW - 5_000, { algorithm: 'ES256', revokedAt: NOW - 4_000 }),
    ];
    const signsFrom = NOW + ADDED_WITHIN_SECONDS + 100;
    expect(nextKeyAt(ringOf([...revoked, key(4, NOW - 10)]), NOW, policy)?.signsFrom).toBe(signsFrom);
  });

  it('of another algorithm leaves the tokens to the key of the others that has begun to sign last', () => {
    const policy: KeyPolicy = { ...POLICY, algorithm: 'ES256' };
    expect(signerOf([key(0, NOW + 50, { algorithm: 'PS256' }), key(4, NOW - 10)], NOW, policy)).toBe('RS256-4');
    expect(signerOf([key(0, NOW - 50, { algorithm: 'PS256' }), key(4, NOW - 10)], NOW, policy)).toBe('RS256-4');
  });

  it.each<readonly [string, Row]>([
    ['that none precedes, even if one of a third algorithm does', key(4, NOW - 800, { algorithm: 'PS256' })],
    ['that follows only an ended one of a later step', key(6, NOW - 50, { endedAt: NOW })],
    ['that follows only an ended one that has never signed', key(4, NOW + 100, { endedAt: NOW })],
  ])('of another algorithm signs early rather than a published key %s', (_what, other) => {
    const policy: KeyPolicy = { ...POLICY, algorithm: 'ES256', tokenLifetimeSeconds: 600 };
    const waiting = key(0, NOW + 105, { algorithm: 'ES256' });
    expect(signerOf([other, key(5, NOW + 200), waiting], NOW, policy)).toBe('ES256-0');
  });

  it('is not made beside a key that needs an unknown secret', () => {
    const isMade = (locked: Ring['locked'], rows: readonly Row[] = []) =>
      nextKeyAt(ringOf(rows, { locked }), NOW, POLICY) !== undefined;
    const own = [key(5, NOW - 50)];
    expect(isMade([{ algorithm: 'RS256', step: 0 }])).toBe(false);
    // Even if another replica has left it, no key of this ring can be opened here: the secret is probably another one.
    expect(isMade([{ algorithm: 'ES256', step: 0 }])).toBe(false);
    expect(isMade([{ algorithm: 'RS256', step: 6 }], own)).toBe(false);
    expect(isMade([{ algorithm: 'RS256', step: 5 }], own)).toBe(false);
    expect(isMade([{ algorithm: 'RS256', step: undefined }], own)).toBe(false);
    // What is older than the key that signs, or of another algorithm, tells nothing.
    expect(isMade([{ algorithm: 'RS256', step: 4 }], own)).toBe(true);
    expect(isMade([{ algorithm: 'ES256', step: 9 }], own)).toBe(true);
  });
});

describe('the next key', () => {
  it('is made right after its predecessor began to sign, and signs after the whole rotation', () => {
    const first = key(0, NOW - 1);
    expect(nextKeyAt(ringOf([first]), NOW, POLICY)).toMatchObject({ step: 1, signsFrom: NOW - 1 + 1_000 });
    expect(nextKeyAt(ringOf([first, key(1, NOW + 999)]), NOW, POLICY)).toBeUndefined();
  });

  it('signs no earlier than every verifier can know it, if it is made late', () => {
    expect(nextKeyAt(ringOf([key(0, NOW - 950)]), NOW, POLICY)?.signsFrom).toBe(NOW + ADDED_WITHIN_SECONDS + 100);
  });

  it('does not exist without rotation', () => {
    const policy = { ...POLICY, rotationSeconds: Infinity };
    expect(nextKeyAt(ringOf([key(0, 0, { verifiesUntil: Infinity })]), NOW, policy)).toBeUndefined();
    expect(signerOf([key(0, 0, { verifiesUntil: Infinity })], NOW * 100, policy)).toBe('RS256-0');
  });

  it('takes over at once from a revoked key and from one that an operator has ended', () => {
    const next = key(1, NOW + 900);
    expect(signerOf([key(0, NOW - 100, { revokedAt: NOW }), next])).toBe('RS256-1');
    expect(signerOf([key(0, NOW - 100, { endedAt: NOW }), next])).toBe('RS256-1');
    expect(signerOf([key(0, NOW - 100, { endedAt: NOW + 1 }), next])).toBe('RS256-0');
    const other = key(0, NOW - 10, { algorithm: 'ES256' });
    expect(signerOf([key(0, NOW - 100, { endedAt: NOW }), next, other])).toBe('RS256-1');
  });

  it('is followed by another one as soon as it has taken over', () => {
    const rows = [key(0, NOW - 100, { endedAt: NOW }), key(1, NOW + 900)];
    expect(nextKeyAt(ringOf(rows), NOW, POLICY)).toMatchObject({ step: 2, signsFrom: NOW + 1_000 });
  });

  it('is followed by another one also where it has to sign before its time', () => {
    expect(nextKeyAt(ringOf([key(0, NOW - 1_001), key(1, NOW + 5)]), NOW, POLICY)).toMatchObject({
      step: 2,
      signsFrom: NOW + 1_000,
    });
  });

  it('leaves out the steps that were revoked or damaged, and signs at once if all of them were', () => {
    const rows = [key(0, NOW - 100, { revokedAt: NOW }), key(1, NOW + 900, { revokedAt: NOW })];
    expect(nextKeyAt(ringOf(rows), NOW, POLICY)).toMatchObject({ step: 2, signsFrom: NOW });
    expect(nextKeyAt(ringOf([...rows, key(4, NOW - 9, { algorithm: 'ES256' })]), NOW, POLICY)?.signsFrom).toBe(NOW);
  });

  it('has the step behind every row, but for steps that somebody made up; then the first free one behind every key', () => {
    const madeUp = (step: number) => key(step, NOW - 9, { revokedAt: 1 });
    const rows = [key(5, NOW - 1_001), key(6, NOW - 1), madeUp(7), madeUp(9)];
    const stepWith = (step: number) => nextKeyAt(ringOf([...rows, madeUp(step)]), NOW, POLICY)?.step;
    expect([stepWith(2e9), stepWith(1e9), stepWith(1e9 - 2), stepWith(1e9 - 1)]).toEqual([10, 10, 1e9 - 1, 8]);
    expect(nextKeyAt(ringOf([key(6, NOW - 1), madeUp(1e9 - 1)]), NOW, POLICY)?.step).toBe(7);
  });

  it('has step 0 if no row says its step', () => {
    const row = { kid: 'a', algorithm: 'RS256', step: undefined, verifiesUntil: 0, endedAt: 0, revokedAt: 0 };
    expect(nextKeyAt({ ...ringOf([]), rows: [row] }, NOW, POLICY)?.step).toBe(0);
  });

  it('signs from its very first second', () => {
    expect(signerOf([key(0, NOW - 900), key(1, NOW)])).toBe('RS256-1');
  });

  it('makes up for no missed step', () => {
    const rows = [key(0, NOW - 300_000), key(1, NOW - 299_000)];
    expect(signerOf(rows)).toBeUndefined();
    expect(nextKeyAt(ringOf(rows), NOW, POLICY)).toMatchObject({ step: 2, signsFrom: NOW });
  });
});

describe('a replica', () => {
  it('follows the schedule that it knows for at least one rotation', () => {
    const rows = [key(0, NOW - 999), key(1, NOW + 1)];
    expect(signsUntil(ringOf(rows), POLICY)).toBe(NOW + 1_001);
    expect(rotationAfter(ringOf(rows), NOW, POLICY)).toBe(NOW + 1);
    expect(signerOf(rows, NOW + 1_000)).toBe('RS256-1');
    expect(signerOf(rows, NOW + 1_001)).toBeUndefined();
  });

  it('turns to the next key that is left, in whatever order the rows are read', () => {
    const rows = [key(2, NOW + 400), key(0, NOW - 100), key(1, NOW - 50, { endedAt: NOW - 1 })];
    expect(signerOf(rows)).toBe('RS256-0');
    expect(rotationAfter(ringOf(rows), NOW, POLICY)).toBe(NOW + 400);
    expect(signerOf(rows.slice(0, 1).concat(key(1, NOW + 300)))).toBe('RS256-1');
  });

  it.each<readonly [string, Row]>([
    ['of another algorithm', key(5, NOW + 10, { algorithm: 'ES256' })],
    ['before the one that signs', key(1, NOW + 10)],
    ['that ends in the second in which it begins', key(3, NOW, { endedAt: NOW })],
  ])('expects no rotation to a key %s', (_what, other) => {
    expect(rotationAfter(ringOf([key(2, NOW - 100), other]), NOW, POLICY)).toBe(NOW + 900);
  });

  it('with a longer token lifetime turns to the next key earlier, so that no token outlives its key', () => {
    const longer = { ...POLICY, tokenLifetimeSeconds: 600 };
    const rows = [key(0, NOW - 700), key(1, NOW + 300)];
    expect([signerOf(rows, NOW - 1, longer), signerOf(rows, NOW, longer)]).toEqual(['RS256-0', 'RS256-1']);
  });

  it('verifies with keys that have ended early, and with those that do not sign yet', () => {
    const rows = [key(0, NOW - 1_359), key(1, NOW - 300, { endedAt: NOW - 1 }), key(2, NOW + 700)];
    expect(verifyingKeysAt(ringOf(rows), NOW)).toHaveLength(3);
    expect(verifyingKeysAt(ringOf(rows), NOW + 1)).toHaveLength(2);
  });
});

describe('replicas with any settings, outages, revocations and rotations by hand', () => {
  const policy = fc.record({
    algorithm: fc.constantFrom<TokenAlgorithm>('RS256', 'ES256'),
    rotationSeconds: fc.integer({ min: 200, max: 2_000 }),
    publicationSeconds: fc.integer({ min: 1, max: 100 }),
    tokenLifetimeSeconds: fc.integer({ min: 1, max: 3_000 }),
  });
  const event = fc.record({
    after: fc.integer({ min: 0, max: 400 }),
    replica: fc.integer({ min: 0, max: 2 }),
    what: fc.constantFrom('read', 'read', 'read', 'read', 'sign', 'revoke', 'rotate'),
  });

  it('sign only with keys that verify long enough, and that verifiers can know unless no other may sign', () => {
    const policies = fc.array(policy, { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(policies, fc.array(event, { maxLength: 120 }), (replicas, events) => {
        const table: Row[] = [];
        const views: Row[][] = [[], [], []];
        let time = NOW;
        for (const { after, replica, what } of events) {
          time += after;
          const settings = replicas[replica] ?? POLICY;
          if (what === 'read') {
            const plan = nextKeyAt(ringOf(table), time, settings);
            const isTaken = table.some((row) => row.algorithm === plan?.algorithm && row.step === plan.step);
            expect(isTaken).toBe(false);
            if (plan) table.push({ ...plan, kid: `${plan.algorithm}-${plan.step}`, addedAt: time });
            views[replica] = table.map((row) => ({ ...row }));
          }
          const view = ringOf(views[replica] ?? []);
          const signer = signingKeyAt(view, time, settings);
          const row = table.find(({ kid }) => kid === signer?.kid);
          if (what === 'revoke' && row) row.revokedAt ??= time;
          if (what === 'rotate' && row) row.endedAt ??= time;
          if (what !== 'sign' || !signer || !row) continue;

          const exp = time + settings.tokenLifetimeSeconds;
          expect(row.verifiesUntil).toBeGreaterThanOrEqual(exp + 60);
          const known = time - row.addedAt >= settings.publicationSeconds;
          const alternatives = view.keys.filter((key) => {
            return key !== signer && key.algorithm === signer.algorithm && signingKeyAt(ringOf([key]), time, settings);
          });
          const better = alternatives.filter(({ step, signsFrom }) => step < signer.step && signsFrom <= time);
          if (!known && time < signer.signsFrom) expect(better).toEqual([]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('of one set of settings agree on the key that signs, however old their readings are, as long as nobody intervenes', () => {
    const times = fc.array(fc.integer({ min: 1, max: 99 }), { minLength: 2, maxLength: 200 });
    fc.assert(
      fc.property(policy, times, (settings, steps) => {
        const table: Row[] = [];
        let [time, stale] = [NOW, ringOf([])];
        for (const step of steps) {
          time += Math.min(step, settings.publicationSeconds);
          const plan = nextKeyAt(ringOf(table), time, settings);
          if (plan) table.push({ ...plan, kid: `${plan.step}`, addedAt: time });
          const signer = signingKeyAt(ringOf(table), time, settings);
          expect(signer).toBeDefined();
          // The other replica has not read the ring since the last step.
          const other = signingKeyAt(stale, time, settings);
          if (stale.rows.length > 0) expect(other?.kid).toBe(signer?.kid);
          const stood = time - (signer?.addedAt ?? time);
          if (signer?.step !== 0) expect(stood).toBeGreaterThanOrEqual(settings.publicationSeconds);
          stale = ringOf(table.map((row) => ({ ...row })));
        }
      }),
      { numRuns: 300 },
    );
  });
});
