import { describe, expect, it } from '@jest/globals';
import { ReadKeySet } from '../../../application/keys/read-key-set.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { freshKeyRing, unstartedKeyRing } from '../../support/fresh-key-ring.ts';

describe('ReadKeySet', () => {
  it('publishes the keys, and how long they may be cached', async () => {
    const ring = await freshKeyRing({ publicationSeconds: 100 });
    const { keySet, maxAgeSeconds } = await new ReadKeySet(ring).execute();
    expect(keySet.keys).toEqual(await ring.publicKeys());
    expect(maxAgeSeconds).toBe(50);
  });

  it('publishes no empty set, which could make readers drop their cached keys', async () => {
    await expect(new ReadKeySet(unstartedKeyRing()).execute()).rejects.toThrow(DependencyUnavailable);
  });
});
