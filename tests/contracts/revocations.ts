import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AHEAD_SECONDS, REVOCATIONS_LIMITS, type Revocations } from '../../application/ports/revocations.ts';

export type RevocationsLimits = typeof REVOCATIONS_LIMITS;

interface RevocationsUnderTest {
  readonly revocations: Revocations;
  /** Of another replica, or the same where there is none. */
  readonly other: Revocations;
  /** Now, in seconds of the clock of its times. */
  now(): number;
  close(): Promise<void>;
}

const NOTHING = { isRevoked: false, issuedUntil: undefined };

/** What every store of revoked tokens promises. `fresh` creates an empty one with these limits. */
export function describeRevocations(
  name: string,
  fresh: (limits: RevocationsLimits) => Promise<RevocationsUnderTest>,
): void {
  describe(`${name} as Revocations`, () => {
    let under: RevocationsUnderTest;
    let revocations: Revocations;
    const open = async (limits: RevocationsLimits) => {
      under = await fresh(limits);
      revocations = under.revocations;
    };
    beforeEach(() => open(REVOCATIONS_LIMITS));
    afterEach(() => under.close());
    const revoke = (clientId: string, tokenId: string, seconds = 300) =>
      revocations.revoke({ clientId, tokenId, keptUntil: Math.floor(under.now()) + seconds });
    const find = (clientId: string, tokenId: string) => under.other.find({ clientId, tokenId });

    it('knows at once, in every replica, which token was revoked, and no other', async () => {
      expect(await find('a', 'one')).toEqual(NOTHING);
      await revoke('a', 'one');
      await revoke('a', 'one');
      expect(await find('a', 'one')).toEqual({ isRevoked: true, issuedUntil: undefined });
      expect(revocations.load).toEqual({ revoked: 1, max: REVOCATIONS_LIMITS.total });
      for (const [client, token] of [
        ['a', 'two'],
        ['b', 'one'],
        ['A', 'one'],
        ['a', 'One'],
        ['a ', 'one'],
        ["'; delete from revocations; --", 'one'],
      ]) {
        expect(await find(client ?? '', token ?? '')).toEqual(NOTHING);
      }
    });

    it('answers many questions at once, each for its own token', async () => {
      await Promise.all(Array.from({ length: 20 }, (_, number) => revoke(`client-${number % 5}`, `token-${number}`)));
      const asked = Array.from({ length: 200 }, (_, number) => number);
      const found = await Promise.all(asked.map((number) => find(`client-${number % 5}`, `token-${number}`)));
      expect(found.map(({ isRevoked }) => isRevoked)).toEqual(asked.map((number) => number < 20));
    });

    it('revokes all tokens of a client that were issued until now in place of too many single ones, and none of another', async () => {
      await under.close();
      await open({ perClient: 3, total: 100 });
      await revoke('other', 'kept');
      for (let number = 0; number < 3; number += 1) await revoke('many', `token-${number}`);
      expect(await find('many', 'token-0')).toEqual({ isRevoked: true, issuedUntil: undefined });
      const before = Math.floor(under.now());
      await revoke('many', 'token-3');
      const { isRevoked, issuedUntil = 0 } = await find('many', 'token-0');
      expect(isRevoked).toBe(false);
      expect(issuedUntil).toBeGreaterThanOrEqual(before + AHEAD_SECONDS);
      expect(issuedUntil).toBeLessThan(before + 60);
      expect(await find('many', 'never seen')).toEqual({ isRevoked: false, issuedUntil });
      expect(await find('other', 'kept')).toEqual({ isRevoked: true, issuedUntil: undefined });
      await revoke('many', 'later');
      expect(await find('many', 'later')).toEqual({ isRevoked: true, issuedUntil });
    });

    it('revokes all tokens of a client at once, and forgets nothing of that', async () => {
      await revoke('a', 'one');
      await revoke('b', 'one');
      await revocations.revokeAll(['a']);
      const { issuedUntil = 0 } = await find('a', 'never seen');
      expect(Math.abs(issuedUntil - AHEAD_SECONDS - under.now())).toBeLessThan(60);
      await revoke('a', 'later');
      await revocations.revokeAll(['a', ...Array.from({ length: 1_100 }, (_, number) => `client-${number}`)]);
      expect((await find('client-1099', 'never seen')).issuedUntil).toBeGreaterThanOrEqual(issuedUntil);
      expect((await find('a', 'later')).issuedUntil).toBeGreaterThanOrEqual(issuedUntil);
      expect(await find('b', 'never seen')).toEqual(NOTHING);
    });

    it('does the same to the client with the most where there are too many of all', async () => {
      await under.close();
      await open({ perClient: 1_000, total: 120 });
      for (let number = 0; number < 90; number += 1) await revoke('most', `token-${number}`);
      for (let number = 0; number < 120; number += 1) await revoke(`client-${number}`, 'one');
      expect((await find('most', 'token-0')).issuedUntil).toBeGreaterThan(under.now() - 60);
      const others = await Promise.all(Array.from({ length: 120 }, (_, number) => find(`client-${number}`, 'one')));
      expect(others.every(({ isRevoked }) => isRevoked)).toBe(true);
    });

    it('keeps to the bound where each client has one, and loses none', async () => {
      await under.close();
      await open({ perClient: 1_000, total: 50 });
      const clients = Array.from({ length: 301 }, (_, number) => `client-${number}`);
      for (const client of clients) await revoke(client, 'one');
      const found = await Promise.all(clients.map((client) => find(client, 'one')));
      expect(found.every(({ isRevoked, issuedUntil = 0 }) => isRevoked || issuedUntil > under.now() - 60)).toBe(true);
      // A database is counted after each hundred.
      expect(found.filter(({ isRevoked }) => isRevoked).length).toBeLessThan(50 + 100);
      expect(revocations.load.revoked).toBeLessThanOrEqual(51);
    });

    it('forgets tokens that nobody accepts any more before it revokes others', async () => {
      await under.close();
      await open({ perClient: 3, total: 100 });
      for (let number = 0; number < 3; number += 1) await revoke('a', `ended-${number}`, -4_000);
      await revoke('a', 'one');
      expect(await find('a', 'one')).toEqual({ isRevoked: true, issuedUntil: undefined });
      expect(await find('a', 'never seen')).toEqual(NOTHING);
    });
  });
}
