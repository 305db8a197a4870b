import { describe, expect, it } from '@jest/globals';
import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { joseTokenVerifier } from '../../../adapters/jwt/jose-token-verifier.ts';
import { NodeCryptoTokenSigner } from '../../../adapters/jwt/node-crypto-token-signer.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import type { KeyRing } from '../../../application/keys/key-ring.ts';
import { TOKEN_ALGORITHMS, type TokenAlgorithm } from '../../../domain/token-key.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
import { CLAIMS } from '../../support/claims.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freshKeyRing, unstartedKeyRing } from '../../support/fresh-key-ring.ts';
import { RevocableDirectory } from '../../support/revocable-directory.ts';

const PUBLICATION = 60;
const LIFETIME = 300;

const factoryFor = (algorithm: TokenAlgorithm) =>
  createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce, algorithm });

async function algorithmOf(ring: KeyRing): Promise<TokenAlgorithm> {
  return (await ring.signingKey()).alg;
}

const algorithmsIn = async (ring: KeyRing) => (await ring.publicKeys()).map(({ alg }) => alg).toSorted();

describe('replicas that share a directory while the algorithm changes', () => {
  const pairs = TOKEN_ALGORITHMS.flatMap((from) => TOKEN_ALGORITHMS.map((to) => [from, to] as const));
  it.each(pairs)('accept the tokens of each other, from %s to %s', async (from, to) => {
    const clock = new FixedClock(1_000);
    const directory = new RevocableDirectory(clock);
    const before = await freshKeyRing({ clock, directory, factory: factoryFor(from) });
    const after = await freshKeyRing({ clock, directory, factory: factoryFor(to) });
    // A key beside others is published before it signs.
    await expect(after.signingKey()).rejects.toThrow('signing key unavailable');
    await before.advance();
    clock.advance(PUBLICATION);
    for (const [signing, verifying] of [[before, after] as const, [after, before] as const]) {
      const token = await new NodeCryptoTokenSigner(signing).sign(CLAIMS);
      expect(await joseTokenVerifier(verifying).verify(token)).toEqual({ ok: true, value: CLAIMS });
      expect(await algorithmsIn(verifying)).toEqual([from, to].toSorted());
    }
    expect([await algorithmOf(before), await algorithmOf(after)]).toEqual([from, to]);
  });
});

describe('a replica for ES256 beside one that verifies only RS256', () => {
  const OLDER = 'key-of-an-older-replica';
  async function besideOlderReplica() {
    const clock = new FixedClock(1_000);
    const directory = new RevocableDirectory(clock);
    const { jwk } = await factoryFor('RS256').make('RS256');
    const older = { jwk: { ...jwk, kid: OLDER }, trustedSeconds: 200 };
    await directory.publish([older]);
    directory.ofOlderVersions = [OLDER];
    return { clock, directory, publishOlder: () => directory.publish([older]) };
  }

  it('signs with RS256 until the last key of the other is no longer trusted, then with ES256', async () => {
    const { clock, directory } = await besideOlderReplica();
    const ring = await freshKeyRing({ clock, directory, factory: factoryFor('ES256'), tokenLifetimeSeconds: LIFETIME });
    clock.advance(PUBLICATION);
    await ring.advance();
    expect(await algorithmsIn(ring)).toEqual(['RS256', 'RS256']);
    const { kid } = await ring.signingKey();

    clock.advance(200 - PUBLICATION);
    // Reads that the key of the other has ended, and makes the new one with the next publication.
    await ring.advance();
    await ring.advance();
    expect(await algorithmsIn(ring)).toEqual(['ES256', 'RS256']);
    expect(await algorithmOf(ring)).toBe('RS256');
    clock.advance(PUBLICATION - 1);
    await ring.advance();
    expect(await algorithmOf(ring)).toBe('RS256');
    clock.advance(1);
    await ring.advance();
    expect(await algorithmOf(ring)).toBe('ES256');
    expect(await ring.verificationKey(kid)).toBeDefined();
    clock.advance(LIFETIME + 1);
    expect(await ring.verificationKey(kid)).toBeUndefined();
    expect(await algorithmsIn(ring)).toEqual(['ES256']);
  });

  it('returns to RS256 if a replica of the older version starts', async () => {
    const { clock, directory, publishOlder } = await besideOlderReplica();
    directory.ofOlderVersions = [];
    const ring = await freshKeyRing({ clock, directory, factory: factoryFor('ES256') });
    clock.advance(PUBLICATION);
    await ring.advance();
    expect(await algorithmOf(ring)).toBe('ES256');
    directory.ofOlderVersions = [OLDER];
    await publishOlder();
    for (const seconds of [1, 1, PUBLICATION]) {
      await ring.advance();
      clock.advance(seconds);
    }
    await ring.advance();
    expect(await algorithmOf(ring)).toBe('RS256');
  });

  it('drops a standby key that was made for the other algorithm, which never signed', async () => {
    const { clock, directory } = await besideOlderReplica();
    const standby = { rotationSeconds: 86_400, standby: true };
    const ring = await freshKeyRing({ clock, directory, factory: factoryFor('ES256'), ...standby });
    clock.advance(PUBLICATION);
    await ring.advance();
    clock.advance(PUBLICATION);
    await ring.advance();
    expect(ring.periods().map(({ alg, state }) => `${alg} ${state}`)).toContain('RS256 published');
    directory.ofOlderVersions = [];
    await ring.advance();
    await ring.advance();
    expect(ring.periods().filter(({ state }) => state === 'published')).toMatchObject([{ alg: 'ES256' }]);
    clock.advance(PUBLICATION);
    await ring.advance();
    expect(await algorithmOf(ring)).toBe('ES256');
  });

  it('is not impressed by keys that cannot verify', async () => {
    const { clock, directory } = await besideOlderReplica();
    await directory.publish([
      { jwk: { kty: 'RSA', use: 'sig', alg: 'RS256', kid: OLDER, n: 'AQAB', e: 'AQAB' }, trustedSeconds: 200 },
    ]);
    const ring = unstartedKeyRing({ clock, directory, factory: factoryFor('ES256') });
    await ring.advance();
    expect(await algorithmOf(ring)).toBe('ES256');
  });
});
