import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { BcryptSecretVerifier } from '../../../adapters/secrets/bcrypt-secret-verifier.ts';
import { RememberingSecretVerifier } from '../../../adapters/secrets/cached-secret-verifier.ts';
import { QueuedSecretVerifier } from '../../../adapters/secrets/queued-secret-verifier.ts';
import { RecordingSecretVerifier } from '../../../adapters/secrets/recording-secret-verifier.ts';
import { CheckQueue } from '../../../adapters/secrets/verification-queue.ts';
import { type Match, RememberedSecrets } from '../../../adapters/secrets/verified-secret-cache.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { SecretVerifier } from '../../../application/ports/secret-verifier.ts';
import { StoredSecret } from '../../../domain/stored-secret.ts';
import { describeSecretVerifier, presenting } from '../../contracts/secret-verifier.ts';
import { A_CALLER } from '../../support/a-caller.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { until } from '../../support/until.ts';

const SECONDS = 300;
const hashed = async (secret: string) => StoredSecret.parse(await bcrypt.hash(secret, 4));

/** A remembering verifier on real BCrypt, and how many checks it has asked for. */
function world({ clientsMax = 10 } = {}) {
  const clock = new FixedClock();
  const bcryptVerifier = new BcryptSecretVerifier(4);
  let checks = 0;
  const counting: SecretVerifier = {
    verify(credentials, stored) {
      checks += 1;
      return bcryptVerifier.verify(credentials, stored);
    },
  };
  const remembered = new RememberedSecrets(clock, randomBytes(32), SECONDS, undefined, clientsMax);
  const verifier = new RememberingSecretVerifier(new RecordingSecretVerifier(counting, remembered), remembered);
  return { clock, verifier, remembered, checks: () => checks };
}

describeSecretVerifier('RememberingSecretVerifier', () => ({ verifier: world().verifier, store: hashed }));

describe('RememberingSecretVerifier', () => {
  it('checks a secret once that proved good, until its time is over', async () => {
    const { clock, verifier, checks } = world();
    const stored = await hashed('a-secret');
    for (let time = 0; time < 5; time += 1) {
      expect(await verifier.verify(presenting('a-secret'), stored, A_CALLER)).toBe('match');
    }
    expect(checks()).toBe(1);
    clock.advance(SECONDS * 0.8 - 1);
    await verifier.verify(presenting('a-secret'), stored, A_CALLER);
    expect(checks()).toBe(1);
    clock.advance(SECONDS * 0.2 + 1);
    await verifier.verify(presenting('a-secret'), stored, A_CALLER);
    expect(checks()).toBe(2);
  });

  it('checks anew what will soon be forgotten, once, while the client is served from memory', async () => {
    const { clock, verifier, checks, remembered } = world();
    const stored = await hashed('a-secret');
    await verifier.verify(presenting('a-secret'), stored, A_CALLER);
    clock.advance(SECONDS * 0.8);
    const digest = remembered.digest(presenting('a-secret'), stored);
    expect(remembered.recall('a-client', digest)).toBe('stale');
    for (let time = 0; time < 3; time += 1) {
      expect(await verifier.verify(presenting('a-secret'), stored, A_CALLER)).toBe('match');
    }
    expect(checks()).toBe(2);
    await until(() => remembered.recall('a-client', digest) === 'fresh', 'the match is fresh again');
  });

  it('goes on serving from memory where there is no turn for a renewal, until the time is over', async () => {
    const { clock, verifier, remembered } = world();
    const stored = await hashed('a-secret');
    await verifier.verify(presenting('a-secret'), stored, A_CALLER);
    const outage = new DependencyUnavailable('secret verification', new Error('no check was free in time'));
    const crowded = new RememberingSecretVerifier({ verify: () => Promise.reject(outage) }, remembered);
    clock.advance(SECONDS - 1);
    expect(await crowded.verify(presenting('a-secret'), stored, A_CALLER)).toBe('match');
    clock.advance(1);
    await expect(crowded.verify(presenting('a-secret'), stored, A_CALLER)).rejects.toBe(outage);
  });

  it('hashes a client who comes with many requests at once a single time', async () => {
    const { remembered } = world();
    const stored = await hashed('a-secret');
    let hashes = 0;
    const bcryptVerifier: SecretVerifier = {
      verify(credentials, against) {
        hashes += 1;
        return new BcryptSecretVerifier(4).verify(credentials, against);
      },
    };
    const queue = new CheckQueue({ atOnce: 1, lineRounds: 100 * 2 ** 4, crowd: 1, unanswered: 200, waitMs: 60_000 });
    const queued = new QueuedSecretVerifier(new RecordingSecretVerifier(bcryptVerifier, remembered), queue, 4);
    const verifier = new RememberingSecretVerifier(queued, remembered);
    const come = () => verifier.verify(presenting('a-secret'), stored, A_CALLER);
    expect(new Set(await Promise.all(Array.from({ length: 16 }, come)))).toEqual(new Set(['match']));
    expect(hashes).toBe(1);
  });

  it('answers nobody from memory who failed too often at an address where the client never proved himself', async () => {
    const { verifier, remembered } = world();
    const stored = await hashed('a-secret');
    await verifier.verify(presenting('a-secret'), stored, A_CALLER);
    const limited = new RememberingSecretVerifier({ verify: async () => 'attempts_exhausted' }, remembered);
    const at = (address: string, secret: string) =>
      limited.verify(presenting(secret), stored, { ...A_CALLER, address });
    expect(await at('192.0.2.1', 'a-secret')).toBe('match');
    expect(await at('192.0.2.2', 'a-guess')).toBe('attempts_exhausted');
    expect(await at('192.0.2.2', 'a-secret')).toBe('attempts_exhausted');
    expect(await at('192.0.2.1', 'a-guess')).toBe('attempts_exhausted');
    expect(await at('192.0.2.1', 'a-secret')).toBe('match');
  });

  it('forgets a client whose hash was locked by {noop} before it', async () => {
    const { verifier } = world();
    const encoding = await bcrypt.hash('a-secret', 4);
    await verifier.verify(presenting('a-secret'), StoredSecret.parse(encoding), A_CALLER);
    const locked = StoredSecret.parse(`{noop}${encoding}`);
    expect(await verifier.verify(presenting('a-secret'), locked, A_CALLER)).toBe('unusable_stored');
  });

  it('takes from a fellow worker of the same key what he found out, and nothing from one of another key', async () => {
    const key = randomBytes(32);
    const told: Match[] = [];
    const clock = new FixedClock();
    const fellow = new RememberedSecrets(clock, key, SECONDS, (match) => told.push(match));
    const stored = await hashed('a-secret');
    fellow.add('a-client', fellow.digest(presenting('a-secret'), stored));
    for (const [own, recollection] of [[key, 'fresh'] as const, [randomBytes(32), undefined] as const]) {
      const remembered = new RememberedSecrets(clock, own, SECONDS);
      for (const match of told) remembered.take(match);
      expect(remembered.recall('a-client', remembered.digest(presenting('a-secret'), stored))).toBe(recollection);
    }
  });

  it('knows one registration read twice for the same', async () => {
    const { verifier, checks } = world();
    const encoding = await bcrypt.hash('a-secret', 4);
    await verifier.verify(presenting('a-secret'), StoredSecret.parse(encoding), A_CALLER);
    await verifier.verify(presenting('a-secret'), StoredSecret.parse(encoding), A_CALLER);
    expect(checks()).toBe(1);
  });

  it('never remembers a refusal: each wrong secret, unknown client and unusable hash is checked anew', async () => {
    const { verifier, checks } = world();
    const stored = await hashed('a-secret');
    for (let time = 0; time < 3; time += 1) {
      expect(await verifier.verify(presenting('wrong-secret'), stored, A_CALLER)).toBe('mismatch');
      expect(await verifier.verify(presenting('a-secret'), undefined, A_CALLER)).toBe('mismatch');
      expect(await verifier.verify(presenting('a-secret'), StoredSecret.parse('!'), A_CALLER)).toBe('unusable_stored');
    }
    expect(checks()).toBe(9);
  });

  it('lets nobody in on what is remembered of another secret, another client or another time of the same client', async () => {
    const { verifier } = world();
    const stored = await hashed('a-secret');
    await verifier.verify(presenting('a-secret'), stored, A_CALLER);
    expect(await verifier.verify(presenting('a-secre'), stored, A_CALLER)).toBe('mismatch');
    expect(
      await verifier.verify({ clientId: 'b-client', clientSecret: 'a-secret' }, await hashed('b-secret'), A_CALLER),
    ).toBe('mismatch');
  });

  it('refuses at once what was remembered, when the registration has a new, locked or no hash', async () => {
    const { verifier } = world();
    const encoding = await bcrypt.hash('a-secret', 4);
    await verifier.verify(presenting('a-secret'), StoredSecret.parse(encoding), A_CALLER);
    expect(await verifier.verify(presenting('a-secret'), await hashed('new-secret'), A_CALLER)).toBe('mismatch');
    expect(await verifier.verify(presenting('a-secret'), StoredSecret.parse(`!${encoding}`), A_CALLER)).toBe(
      'unusable_stored',
    );
    expect(await verifier.verify(presenting('a-secret'), undefined, A_CALLER)).toBe('mismatch');
  });

  it('goes on knowing a client at whose name others send wrong secrets', async () => {
    const { verifier, checks } = world();
    const stored = await hashed('a-secret');
    await verifier.verify(presenting('a-secret'), stored, A_CALLER);
    for (let time = 0; time < 20; time += 1)
      await verifier.verify(presenting(`wrong-secret-${time}`), stored, A_CALLER);
    const before = checks();
    expect(await verifier.verify(presenting('a-secret'), stored, A_CALLER)).toBe('match');
    expect(checks()).toBe(before);
  });

  it('remembers no more clients than it may, and forgets those first who came longest ago', async () => {
    const { verifier, checks } = world({ clientsMax: 2 });
    const stored = await hashed('a-secret');
    const come = (clientId: string) => verifier.verify({ clientId, clientSecret: 'a-secret' }, stored, A_CALLER);
    for (const clientId of ['one', 'two', 'one', 'three', 'one']) await come(clientId);
    expect(checks()).toBe(3);
    await come('two');
    expect(checks()).toBe(4);
  });

  it('holds no secret that an inspection of the process would show', async () => {
    const { verifier } = world();
    await verifier.verify(presenting('a-secret'), await hashed('a-secret'), A_CALLER);
    expect(inspect(verifier, { depth: 9, showHidden: true })).not.toContain('a-secret');
  });
});
