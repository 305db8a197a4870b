import { describe, expect, it } from '@jest/globals';
import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { describeKeyFactory } from '../../contracts/key-factory.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
import { OTHER_ALGORITHMS } from '../../support/token-algorithms.ts';

const fresh = () => createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce });

describeKeyFactory('createKeyFactory in memory', async () => fresh());
for (const algorithm of OTHER_ALGORITHMS) {
  describeKeyFactory('createKeyFactory in memory', async () => fresh(), algorithm);
}

describe('createKeyFactory in memory', () => {
  it('names its keys by a UUID', async () => {
    const { kid } = await fresh().make('RS256');
    expect(kid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  });

  it('makes another key each time', async () => {
    expect((await fresh().make('ES256')).jwk.x).not.toBe((await fresh().make('ES256')).jwk.x);
    const [one, other] = await Promise.all([fresh().make('RS256'), fresh().make('RS256')]);
    expect(one.jwk.n).not.toBe(other.jwk.n);
    expect(one.kid).not.toBe(other.kid);
  });

  it('makes a modulus of 2048 bits and the exponent 65537', async () => {
    const { jwk } = await fresh().make('RS256');
    expect(Buffer.from(String(jwk.n), 'base64url')).toHaveLength(256);
    expect(jwk.e).toBe('AQAB');
  });
});
