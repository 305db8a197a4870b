import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { type VerifiedSecret, VerifiedSecretCache } from '../../../adapters/secrets/verified-secret-cache.ts';
import type { SecretCredentials } from '../../../application/ports/client-credentials.ts';
import { StoredSecret } from '../../../domain/stored-secret.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

const SECONDS = 300;
const ENCODING = '$2b$04$1a0o6Bc5JolBzzqrgo7CPeXkdMBwN8LGiwUfu.MrnWzF4mbUTljwy';
const STORED = StoredSecret.parse(ENCODING);

const CREDENTIALS = { clientId: 'a-client', clientSecret: 'a-secret' };

function world(options: { clientsMax?: number; lifetimeSeconds?: number } = {}) {
  const clock = new FixedClock();
  const cache = new VerifiedSecretCache(clock, { key: randomBytes(32), lifetimeSeconds: SECONDS, ...options });
  const add = (more: Partial<SecretCredentials> = {}) => cache.lookUp({ ...CREDENTIALS, ...more }).add(STORED);
  /** As AuthenticateClient asks: first for the credentials, then for the stored secret. */
  const state = ({ stored = STORED, ...more }: Partial<SecretCredentials> & { stored?: StoredSecret } = {}) => {
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
    const { add, state } = world({ clientsMax: 2 });
    add({ clientId: 'one' });
    add({ clientId: 'two' });
    expect(state({ clientId: 'one' })).toBe('fresh');
    add({ clientId: 'three' });
    expect(['one', 'two', 'three'].map((clientId) => state({ clientId }))).toEqual(['fresh', 'absent', 'fresh']);
  });

  it('is not used when the clock was set back behind the verification', () => {
    const { clock, add, state } = world();
    add();
    clock.advance(-1);
    expect(state()).toBe('absent');
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
    other.lookUp(CREDENTIALS).add(STORED);
    for (const [own, state] of [[key, 'fresh'] as const, [randomBytes(32), 'absent'] as const]) {
      const cache = new VerifiedSecretCache(clock, { key: own, lifetimeSeconds: SECONDS });
      for (const secret of sent) cache.receive(secret);
      expect(cache.lookUp(CREDENTIALS).state()).toBe(state);
      expect(cache.lookUp(CREDENTIALS).isFor(STORED)).toBe(state === 'fresh');
    }
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
});
