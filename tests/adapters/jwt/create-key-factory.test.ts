import { describe, expect, it } from '@jest/globals';
import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { describeKeyFactory } from '../../contracts/key-factory.ts';

const fresh = () => createKeyFactory({ ids: new RandomIdGenerator() });

describeKeyFactory('createKeyFactory in memory', async () => fresh());

describe('createKeyFactory in memory', () => {
  it('names its keys by a UUID', async () => {
    const { kid } = await fresh().make();
    expect(kid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  });

  it('makes another key each time', async () => {
    const [one, other] = await Promise.all([fresh().make(), fresh().make()]);
    expect(one.jwk.n).not.toBe(other.jwk.n);
    expect(one.kid).not.toBe(other.kid);
  });

  it('makes a modulus of 2048 bits and the exponent 65537', async () => {
    const { jwk } = await fresh().make();
    expect(Buffer.from(jwk.n, 'base64url')).toHaveLength(256);
    expect(jwk.e).toBe('AQAB');
  });
});
