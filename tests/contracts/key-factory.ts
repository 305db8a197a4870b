import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import type { KeyFactory } from '../../application/ports/key-factory.ts';

const RS256 = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
const DATA = new TextEncoder().encode('to be signed');

export function describeKeyFactory(name: string, fresh: () => Promise<KeyFactory>): void {
  describe(`${name} as a key factory`, () => {
    it('generates a matching pair, and reads the public half back', async () => {
      const factory = await fresh();
      const { kid, publicKey, jwk, sign } = await factory.make();
      const signature = Buffer.from(sign(DATA));
      expect(await crypto.subtle.verify(RS256, publicKey, signature, DATA)).toBe(true);
      const read = await factory.read(jwk);
      expect(read !== undefined && (await crypto.subtle.verify(RS256, read, signature, DATA))).toBe(true);
      expect(jwk).toEqual({ kty: 'RSA', use: 'sig', alg: 'RS256', kid, n: expect.any(String), e: expect.any(String) });
    });

    it('generates keys whose private half cannot be exported', async () => {
      expect(inspect(await (await fresh()).make(), { depth: null, showHidden: true })).not.toMatch(/private/i);
    });

    it.each([
      ['a modulus of 1024 bits', { n: Buffer.alloc(128, 0xff).toString('base64url'), e: 'AQAB' }],
      ['no modulus', { n: '', e: 'AQAB' }],
      ['invalid base64url', { n: '***', e: '***' }],
      ['the exponent 1, with which anyone can forge', { e: 'AQ' }],
      ['the exponent 1 with leading zeros', { e: 'AAAB' }],
      ['the exponent 2', { e: 'Ag' }],
      ['the even exponent 65536', { e: 'AQAA' }],
    ])('reads no key from %s', async (_name, members) => {
      const factory = await fresh();
      const { jwk } = await factory.make();
      expect(await factory.read({ ...jwk, ...members })).toBeUndefined();
    });

    it('reads a key with the exponent 3', async () => {
      const factory = await fresh();
      const { jwk } = await factory.make();
      expect(await factory.read({ ...jwk, e: 'Aw' })).toBeDefined();
    });
  });
}
