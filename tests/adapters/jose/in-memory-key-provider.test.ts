import { describe, expect, it } from '@jest/globals';
import { InMemoryKeyProvider } from '../../../adapters/jose/in-memory-key-provider.ts';
import { RandomIdGenerator } from '../../../adapters/system/random-id-generator.ts';
import { describeKeyProvider } from '../../contracts/key-provider.ts';

const generate = () => InMemoryKeyProvider.generate(new RandomIdGenerator());

describeKeyProvider('InMemoryKeyProvider', generate);

describe('InMemoryKeyProvider', () => {
  it('holds one pair: what it signs with is all that it publishes', async () => {
    const keys = await generate();
    const { kid } = await keys.signingKey();
    expect((await keys.publicKeys()).map((key) => key.kid)).toEqual([kid]);
  });

  it('keeps its pair as long as it lives', async () => {
    const keys = await generate();
    const [one, other] = [await keys.signingKey(), await keys.signingKey()];
    expect(other.kid).toBe(one.kid);
    expect(other.privateKey).toBe(one.privateKey);
  });

  it('names its key by a UUID', async () => {
    const { kid } = await (await generate()).signingKey();
    expect(kid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  });

  it('makes another key each time', async () => {
    const [[one], [other]] = await Promise.all([(await generate()).publicKeys(), (await generate()).publicKeys()]);
    expect(one?.n).not.toBe(other?.n);
    expect(one?.kid).not.toBe(other?.kid);
  });

  it('makes a modulus of 2048 bits and the exponent 65537', async () => {
    const [key] = await (await generate()).publicKeys();
    expect(Buffer.from(key?.n ?? '', 'base64url')).toHaveLength(256);
    expect(key?.e).toBe('AQAB');
  });
});
