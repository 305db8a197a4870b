import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { VerifiedSecretCache } from '../../../adapters/secrets/verified-secret-cache.ts';
import type { SecretCredentials } from '../../../application/ports/client-credentials.ts';
import { StoredSecret } from '../../../domain/stored-secret.ts';

const ENCODING = '$2b$04$1a0o6Bc5JolBzzqrgo7CPeXkdMBwN8LGiwUfu.MrnWzF4mbUTljwy';
const STORED = StoredSecret.parse(ENCODING);

const CREDENTIALS = { clientId: 'a-client', clientSecret: 'a-secret' };

function world(max = 100) {
  const cache = new VerifiedSecretCache(max);
  const digestOf = (more: Partial<SecretCredentials>) => cache.digestOf({ ...CREDENTIALS, ...more });
  const add = (more: Partial<SecretCredentials> = {}) => cache.add(digestOf(more), STORED);
  /** As AuthenticateBySecret asks: first for the credentials, then for the stored secret. */
  const isHit = ({ stored = STORED, ...more }: Partial<SecretCredentials> & { stored?: StoredSecret } = {}) =>
    cache.has(digestOf(more)) && cache.isVerified(digestOf(more), stored);
  return { cache, add, isHit };
}

describe('VerifiedSecretCache', () => {
  it('hits for a secret that was verified, and for no other', () => {
    const { add, isHit } = world();
    expect(isHit()).toBe(false);
    add();
    expect(isHit()).toBe(true);
  });

  it('counts look-ups, and as hits those that spared a verification', () => {
    const { cache, add, isHit } = world();
    const counts = () => [cache.lookUps, cache.hits];
    isHit();
    add();
    expect(counts()).toEqual([1, 0]);
    expect(isHit()).toBe(true);
    expect(counts()).toEqual([2, 1]);
    isHit({ clientSecret: 'wrong' });
    isHit({ stored: StoredSecret.parse(`!${ENCODING}`) });
    expect(counts()).toEqual([4, 1]);
  });

  it('finds the entry again for a registration that was read again', () => {
    const { add, isHit } = world();
    add();
    expect(isHit({ stored: StoredSecret.parse(ENCODING) })).toBe(true);
  });

  it.each([
    ['another secret', { clientSecret: 'a-secre' }],
    ['another client with the same secret', { clientId: 'b-client' }],
    ['a registration with a new secret', { stored: StoredSecret.parse(ENCODING.replace('1a0o', '1b0o')) }],
    ['a registration that is locked', { stored: StoredSecret.parse(`!${ENCODING}`) }],
    ['a registration whose encoding is now a plain secret', { stored: StoredSecret.parse(`{noop}${ENCODING}`) }],
    ['the same text, divided differently between id and secret', { clientId: 'a-client8:', clientSecret: 'a-secret' }],
  ])('misses for %s', (_case, more) => {
    const { add, isHit } = world();
    add();
    expect(isHit(more)).toBe(false);
  });

  it('keeps the entry of a client for which others present wrong secrets', () => {
    const { add, isHit } = world();
    add();
    for (let time = 0; time < 20; time += 1) expect(isHit({ clientSecret: `wrong-secret-${time}` })).toBe(false);
    expect(isHit()).toBe(true);
  });

  it('holds no more clients than its limit, and evicts the least recently used one', () => {
    const { add, isHit } = world(2);
    add({ clientId: 'one' });
    add({ clientId: 'two' });
    expect(isHit({ clientId: 'one' })).toBe(true);
    add({ clientId: 'three' });
    expect(['one', 'two', 'three'].map((clientId) => isHit({ clientId }))).toEqual([true, false, true]);
  });

  it('holds both secrets of a client, which do not evict each other, and counts each of them', () => {
    const { cache, add, isHit } = world(3);
    const [one, two] = [{ clientSecret: 'first-id.secret' }, { clientSecret: 'second-id.secret' }];
    add(one);
    add(two);
    add();
    for (let time = 0; time < 2; time += 1) {
      expect([isHit(one), isHit(two), isHit()]).toEqual([true, true, true]);
    }
    expect(cache.size).toBe(3);
    expect(isHit({ clientSecret: 'second-id.another' })).toBe(false);
    add({ clientId: 'another-client' });
    expect(cache.size).toBe(3);
    expect(isHit(one)).toBe(false);
  });

  it('keeps nothing if it has no room', () => {
    const { cache, add, isHit } = world(0);
    add();
    expect(isHit()).toBe(false);
    expect([cache.size, cache.max]).toEqual([0, 0]);
  });

  it('keeps all that it is full of while wrong secrets are presented', () => {
    const { cache, add, isHit } = world(50);
    const ids = Array.from({ length: 50 }, (_, number) => `client-${number}`);
    for (const clientId of ids) add({ clientId });
    for (const clientId of [...ids, 'nobody']) {
      for (let time = 0; time < 10; time += 1) isHit({ clientId, clientSecret: `wrong-${time}` });
    }
    expect(ids.every((clientId) => isHit({ clientId }))).toBe(true);
    expect([cache.size, cache.max]).toEqual([50, 50]);
  });

  it('has a digest of each id and secret, which differs in each process', () => {
    const digestOf = (cache: VerifiedSecretCache, clientSecret: string) =>
      cache.digestOf({ ...CREDENTIALS, clientSecret });
    const [one, other] = [world().cache, world().cache];
    expect(digestOf(one, 'a')).toBe(digestOf(one, 'a'));
    expect(digestOf(one, 'a')).not.toBe(digestOf(one, 'b'));
    expect(digestOf(one, 'a')).not.toBe(digestOf(other, 'a'));
  });

  it('keeps no secret that an inspection of the process could show', () => {
    const { cache, add } = world();
    add();
    expect(inspect(cache, { depth: 9, showHidden: true })).not.toContain('a-secret');
  });
});
