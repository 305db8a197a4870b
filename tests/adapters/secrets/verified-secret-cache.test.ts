import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { type VerifiedSecret, VerifiedSecretCache } from '../../../adapters/secrets/verified-secret-cache.ts';
import type { PresentedSecret } from '../../../application/ports/verified-secrets.ts';
import { StoredSecret } from '../../../domain/stored-secret.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

const SECONDS = 300;
const ENCODING = '$2b$04$1a0o6Bc5JolBzzqrgo7CPeXkdMBwN8LGiwUfu.MrnWzF4mbUTljwy';
const STORED = StoredSecret.parse(ENCODING);

function presented(more: Partial<PresentedSecret> = {}): PresentedSecret {
  return { clientId: 'a-client', clientSecret: 'a-secret', stored: STORED, address: '192.0.2.1', ...more };
}

function world(options: { clientsMax?: number; lifetimeSeconds?: number } = {}) {
  const clock = new FixedClock();
  const cache = new VerifiedSecretCache(clock, { key: randomBytes(32), lifetimeSeconds: SECONDS, ...options });
  const state = (more: Partial<PresentedSecret> = {}) => cache.lookUp(presented(more)).state();
  return { clock, cache, state };
}

describe('VerifiedSecretCache', () => {
  it('returns a verified secret until its lifetime is over, and requests its renewal in the last fifth', () => {
    const { clock, cache, state } = world();
    expect(state()).toBe('absent');
    cache.lookUp(presented()).add();
    expect(state()).toBe('fresh');
    clock.advance(SECONDS * 0.8 - 1);
    expect(state()).toBe('fresh');
    clock.advance(1);
    expect(state()).toBe('expiring');
    clock.advance(SECONDS * 0.2);
    expect(state()).toBe('absent');
  });

  it('finds the entry again for a registration that was read again', () => {
    const { cache, state } = world();
    cache.lookUp(presented()).add();
    expect(state({ stored: StoredSecret.parse(ENCODING) })).toBe('fresh');
  });

  it.each([
    ['another secret', { clientSecret: 'a-secre' }],
    ['another client with the same secret', { clientId: 'b-client' }],
    ['an unknown client', { stored: undefined }],
    ['a registration with a new secret', { stored: StoredSecret.parse(ENCODING.replace('1a0o', '1b0o')) }],
    ['a registration that is locked', { stored: StoredSecret.parse(`!${ENCODING}`) }],
    ['a registration whose encoding is now a plain secret', { stored: StoredSecret.parse(`{noop}${ENCODING}`) }],
    ['the same text, divided differently between id and secret', { clientId: 'a-client8:', clientSecret: 'a-secret' }],
  ])('misses for %s', (_case, more) => {
    const { cache, state } = world();
    cache.lookUp(presented()).add();
    expect(state(more)).toBe('absent');
  });

  it('keeps the entry of a client for which others present wrong secrets', () => {
    const { cache, state } = world();
    cache.lookUp(presented()).add();
    for (let time = 0; time < 20; time += 1) expect(state({ clientSecret: `wrong-secret-${time}` })).toBe('absent');
    expect(state()).toBe('fresh');
  });

  it('holds no more clients than its limit, and evicts the least recently used one', () => {
    const { cache, state } = world({ clientsMax: 2 });
    cache.lookUp(presented({ clientId: 'one' })).add();
    cache.lookUp(presented({ clientId: 'two' })).add();
    expect(state({ clientId: 'one' })).toBe('fresh');
    cache.lookUp(presented({ clientId: 'three' })).add();
    expect(['one', 'two', 'three'].map((clientId) => state({ clientId }))).toEqual(['fresh', 'absent', 'fresh']);
  });

  it('is not used for a caller who failed too often, except at an address where the client was verified', () => {
    const { cache, state } = world();
    cache.lookUp(presented({ address: '192.0.2.1' })).add();
    cache.lookUp(presented({ address: '192.0.2.2' })).distrustCaller();
    cache.lookUp(presented({ address: '192.0.2.1' })).distrustCaller();
    expect(state({ address: '192.0.2.2' })).toBe('absent');
    expect(state({ address: '192.0.2.1' })).toBe('fresh');
    expect(state({ address: '192.0.2.3' })).toBe('fresh');
  });

  it('accepts entries of another worker with the same key, and none with another key', () => {
    const key = randomBytes(32);
    const sent: VerifiedSecret[] = [];
    const clock = new FixedClock();
    const other = new VerifiedSecretCache(clock, {
      key,
      lifetimeSeconds: SECONDS,
      onAdded: (secret) => sent.push(secret),
    });
    other.lookUp(presented()).add();
    for (const [own, state] of [[key, 'fresh'] as const, [randomBytes(32), 'absent'] as const]) {
      const cache = new VerifiedSecretCache(clock, { key: own, lifetimeSeconds: SECONDS });
      for (const secret of sent) cache.receive(secret);
      expect(cache.lookUp(presented()).state()).toBe(state);
    }
  });

  it('copies the digest of a received entry instead of keeping the whole message in memory', () => {
    const { cache, clock } = world();
    const around = new Uint8Array(1024);
    cache.receive({ clientId: 'a-client', digest: around.subarray(0, 32), at: clock.now() });
    around.fill(1);
    expect(cache.lookUp(presented()).state()).toBe('absent');
  });

  it('keeps nothing if its lifetime is 0', () => {
    const { cache, state } = world({ lifetimeSeconds: 0 });
    cache.lookUp(presented()).add();
    expect(state()).toBe('absent');
  });

  it('keeps no secret that an inspection of the process could show', () => {
    const { cache } = world();
    cache.lookUp(presented()).add();
    expect(inspect(cache, { depth: 9, showHidden: true })).not.toContain('a-secret');
  });
});
