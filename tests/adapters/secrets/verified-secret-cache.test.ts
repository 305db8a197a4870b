import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { VerifiedSecretCache } from '../../../adapters/secrets/verified-secret-cache.ts';
import type { PresentedSecret } from '../../../application/ports/verified-secrets.ts';
import { StoredSecret, secretIdOf } from '../../../domain/stored-secret.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const SECONDS = 300;
const ENCODING = '$2b$04$1a0o6Bc5JolBzzqrgo7CPeXkdMBwN8LGiwUfu.MrnWzF4mbUTljwy';
const STORED = StoredSecret.parse(ENCODING);

const CREDENTIALS = { clientId: 'a-client', clientSecret: 'a-secret' };

function world(options: { secretsMax?: number; lifetimeSeconds?: number } = {}) {
  const clock = new FixedClock();
  const cache = new VerifiedSecretCache(clock, { lifetimeSeconds: SECONDS, ...options });
  const add = (more: Partial<PresentedSecret> = {}) => cache.lookUp({ ...CREDENTIALS, ...more }).add(STORED);
  /** As AuthenticateClient asks: first for the credentials, then for the stored secret. */
  const state = ({ stored = STORED, ...more }: Partial<PresentedSecret> & { stored?: StoredSecret } = {}) => {
    const cached = cache.lookUp({ ...CREDENTIALS, ...more });
    return cached.isFor(stored) ? cached.state() : 'absent';
  };
  return { clock, cache, add, state };
}

describe('VerifiedSecretCache', () => {
  it('returns a verified secret until its lifetime is over, and requests its renewal in the last fifth', () => {
    const { clock, add, state } = world();
    expect(state()).toBe('absent');
    add();
    expect(state()).toBe('fresh');
    clock.advance(SECONDS * 0.8 - 1);
    expect(state()).toBe('fresh');
    clock.advance(1);
    expect(state()).toBe('expiring');
    clock.advance(SECONDS * 0.2);
    expect(state()).toBe('absent');
  });

  it('counts look-ups, and as hits those that spared a verification, each once', () => {
    const { cache, add, state } = world();
    const counts = () => [cache.lookUps, cache.hits];
    state();
    add();
    expect(counts()).toEqual([2, 0]);
    const cached = cache.lookUp(CREDENTIALS);
    expect([cached.isFor(STORED), cached.isFor(STORED)]).toEqual([true, true]);
    expect(counts()).toEqual([3, 1]);
    state({ clientSecret: 'wrong' });
    state({ stored: StoredSecret.parse(`!${ENCODING}`) });
    expect(counts()).toEqual([5, 1]);
  });

  it('finds the entry again for a registration that was read again', () => {
    const { add, state } = world();
    add();
    expect(state({ stored: StoredSecret.parse(ENCODING) })).toBe('fresh');
  });

  it.each([
    ['another secret', { clientSecret: 'a-secre' }],
    ['another client with the same secret', { clientId: 'b-client' }],
    ['a registration with a new secret', { stored: StoredSecret.parse(ENCODING.replace('1a0o', '1b0o')) }],
    ['a registration that is locked', { stored: StoredSecret.parse(`!${ENCODING}`) }],
    ['a registration whose encoding is now a plain secret', { stored: StoredSecret.parse(`{noop}${ENCODING}`) }],
    ['the same text, divided differently between id and secret', { clientId: 'a-client8:', clientSecret: 'a-secret' }],
  ])('misses for %s', (_case, more) => {
    const { add, state } = world();
    add();
    expect(state(more)).toBe('absent');
  });

  it('keeps the entry of a client for which others present wrong secrets', () => {
    const { add, state } = world();
    add();
    for (let time = 0; time < 20; time += 1) expect(state({ clientSecret: `wrong-secret-${time}` })).toBe('absent');
    expect(state()).toBe('fresh');
  });

  it('holds no more clients than its limit, and evicts the least recently used one', () => {
    const { add, state } = world({ secretsMax: 2 });
    add({ clientId: 'one' });
    add({ clientId: 'two' });
    expect(state({ clientId: 'one' })).toBe('fresh');
    add({ clientId: 'three' });
    expect(['one', 'two', 'three'].map((clientId) => state({ clientId }))).toEqual(['fresh', 'absent', 'fresh']);
  });

  it('holds both secrets of a client, which do not evict each other, and counts each of them', () => {
    const { cache, add, state } = world({ secretsMax: 3 });
    const [one, two] = ['first-id', 'second-id'].map((secretId) => ({ secretId, clientSecret: `${secretId}.secret` }));
    add(one);
    add(two);
    add();
    for (let time = 0; time < 2; time += 1) {
      expect([state(one), state(two), state()]).toEqual(['fresh', 'fresh', 'fresh']);
    }
    expect(cache.size).toBe(3);
    expect(state({ ...two, clientSecret: 'second-id.another' })).toBe('absent');
    add({ clientId: 'another-client' });
    expect(cache.size).toBe(3);
    expect(state(one)).toBe('absent');
  });

  it('holds the id of a secret without the secret that it was read from', () => {
    const { cache } = world();
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let number = 0; number < 400; number += 1) {
      const clientSecret = `${String(number).padStart(32, 'x')}.${'y'.repeat(15_000)}`.toWellFormed();
      cache.lookUp({ clientId: `client-${number}`, clientSecret, secretId: secretIdOf(clientSecret) }).add(STORED);
    }
    collectGarbage();
    expect(cache.size).toBe(400);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan((400 * 15_000) / 2);
  });

  it('keeps the places of a client with an id and of a client whose name contains it apart', () => {
    const { add, state } = world();
    add({ clientId: 'a', secretId: 'b' });
    expect(state({ clientId: 'ab' })).toBe('absent');
    expect(state({ clientId: 'a' })).toBe('absent');
    expect(state({ clientId: 'a', secretId: 'b' })).toBe('fresh');
  });

  it('is not used when the clock was set back behind the verification', () => {
    const { clock, add, state } = world();
    add();
    clock.advance(-1);
    expect(state()).toBe('absent');
  });

  it('keeps nothing if its lifetime is 0', () => {
    const { add, state } = world({ lifetimeSeconds: 0 });
    add();
    expect(state()).toBe('absent');
  });

  it('keeps no secret that an inspection of the process could show', () => {
    const { cache, add } = world();
    add();
    expect(inspect(cache, { depth: 9, showHidden: true })).not.toContain('a-secret');
  });

  it('holds 100,000 secrets if nobody says how many', () => {
    expect(world().cache.max).toBe(100_000);
    expect(world({ secretsMax: 7 }).cache.max).toBe(7);
  });
});
