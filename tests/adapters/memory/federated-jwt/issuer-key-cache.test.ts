import { describe, expect, it } from '@jest/globals';
import { IssuerKeyCache } from '../../../../adapters/memory/federated-jwt/issuer-key-cache.ts';
import { DependencyUnavailable } from '../../../../application/ports/dependency-unavailable.ts';

const SET = { keys: [], current: true };

describe('IssuerKeyCache', () => {
  it('has the sets that it received last, and no others', () => {
    const cache = new IssuerKeyCache(new Map([['a', SET]]));
    expect(cache.keysOf('a')).toBe(SET);
    cache.replace(new Map([['b', SET]]));
    expect(cache.keysOf('b')).toBe(SET);
    expect(() => cache.keysOf('a')).toThrow(DependencyUnavailable);
  });

  it('reports the set of an issuer that is missing as unavailable, by its name', () => {
    expect(() => new IssuerKeyCache().keysOf('https://issuer.test')).toThrow(
      expect.objectContaining({ dependency: 'key set of https://issuer.test' }),
    );
  });
});
