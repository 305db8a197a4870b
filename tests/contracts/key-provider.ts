import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import type { KeyProvider } from '../../application/ports/key-provider.ts';
import { isSignedBy, PUBLIC_FIELDS } from '../support/token-algorithms.ts';
import { describeVerificationKeys } from './verification-keys.ts';

const INPUT = 'to be signed';

/** What every key provider promises. `fresh` creates one. */
export function describeKeyProvider(name: string, fresh: () => Promise<KeyProvider>): void {
  describeVerificationKeys(name, async () => {
    const keys = await fresh();
    return { keys, trusted: await keys.signingKey() };
  });

  describe(`${name} as a key provider`, () => {
    it('publishes the public half of the signing key', async () => {
      const keys = await fresh();
      const { kid, alg, sign } = await keys.signingKey();
      const published = (await keys.publicKeys()).find((key) => key.kid === kid);
      expect(published?.alg).toBe(alg);
      expect(await isSignedBy(alg, published, await sign(INPUT), INPUT)).toBe(true);
    });

    it('finds each published key by its id, and publishes each id only once', async () => {
      const keys = await fresh();
      const published = await keys.publicKeys();
      for (const { kid, alg } of published) expect((await keys.verificationKey(kid))?.alg).toBe(alg);
      expect(new Set(published.map(({ kid }) => kid)).size).toBe(published.length);
    });

    it('publishes public fields and nothing else', async () => {
      for (const key of await (await fresh()).publicKeys()) {
        expect(Object.keys(key).toSorted()).toEqual(PUBLIC_FIELDS[key.alg]);
        expect(key.use).toBe('sig');
        for (const field of [key.n, key.e, key.x, key.y]) expect(field ?? 'absent').toMatch(/^[\w-]+$/);
      }
    });

    it('holds RSA keys of at least 2048 bits', async () => {
      for (const { kty, n = '' } of await (await fresh()).publicKeys()) {
        if (kty !== 'RSA') continue;
        const modulus = Buffer.from(n, 'base64url');
        expect(modulus.length).toBeGreaterThanOrEqual(256);
        expect(modulus[0]).toBeGreaterThanOrEqual(0x80);
      }
    });

    it('does not expose the private key: it can sign, but it cannot be read', async () => {
      const key = await (await fresh()).signingKey();
      expect(inspect(key, { depth: null, showHidden: true })).not.toMatch(/private/i);
      expect(JSON.stringify(key)).not.toMatch(/"(d|p|q|dp|dq|qi)"/);
    });

    it('is not affected by changes to the published keys that it has returned', async () => {
      const keys = await fresh();
      const before = structuredClone(await keys.publicKeys());
      const returned = await keys.publicKeys();
      for (const key of returned) Object.assign(key, { kid: 'other', n: 'AQAB' });
      Reflect.set(returned, 'length', 0);
      expect(await keys.publicKeys()).toEqual(before);
    });
  });
}
