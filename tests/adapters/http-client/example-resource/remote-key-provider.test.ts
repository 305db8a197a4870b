import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type KeySetEvent,
  type RemoteKeyOptions,
  RemoteKeyProvider,
} from '../../../../adapters/http-client/example-resource/remote-key-provider.ts';
import { readPublicKey } from '../../../../adapters/jwt/create-key-factory.ts';
import { joseTokenVerifier } from '../../../../adapters/jwt/jose-token-verifier.ts';
import { NodeCryptoTokenSigner } from '../../../../adapters/jwt/node-crypto-token-signer.ts';
import type { KeyRing } from '../../../../application/keys/key-ring.ts';
import { DependencyUnavailable } from '../../../../application/ports/dependency-unavailable.ts';
import { describeTokenVerifier } from '../../../contracts/token-verifier.ts';
import { describeVerificationKeys } from '../../../contracts/verification-keys.ts';
import { FixedClock } from '../../../support/fixed-clock.ts';
import { freshKeyRing } from '../../../support/fresh-key-ring.ts';
import { KeySetServer, keySetAnswer } from '../../../support/key-set-server.ts';

const COOLDOWN = 5;
const STALE = 1_000;

const STRONG = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });

/** In milliseconds: for a test that waits for the timeout, and for one that must not reach it, even on a busy machine. */
const SHORT_TIMEOUT_MS = 150;
const LONG_TIMEOUT_MS = 10_000;

/** How much longer than the timeout a test may take on a busy machine, in milliseconds. */
const SLACK_MS = 2_000;

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

let ring: KeyRing;
let kid: string;
beforeAll(async () => {
  ring = await freshKeyRing();
  kid = (await ring.signingKey()).kid;
});

interface RemoteUnderTest {
  readonly keys: RemoteKeyProvider;
  readonly clock: FixedClock;
  readonly issuer: KeySetServer;
  readonly events: readonly KeySetEvent[];
}

async function remote(options: Partial<RemoteKeyOptions> = {}, headers = {}): Promise<RemoteUnderTest> {
  const issuer = stack.use(await KeySetServer.of(ring, headers));
  const clock = new FixedClock();
  const events: KeySetEvent[] = [];
  const keys = new RemoteKeyProvider(
    {
      uri: issuer.url,
      read: readPublicKey,
      timeoutMs: LONG_TIMEOUT_MS,
      cooldownSeconds: COOLDOWN,
      staleSeconds: STALE,
      ...options,
    },
    clock,
    (event) => events.push(event),
  );
  stack.defer(() => keys.close());
  return { keys, clock, issuer, events };
}

/** In milliseconds. */
async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

const unavailable = { name: 'DependencyUnavailable', dependency: 'key set' };

describeVerificationKeys('RemoteKeyProvider', async () => {
  const { keys } = await remote();
  return { keys, trusted: await ring.signingKey() };
});

describeTokenVerifier('joseTokenVerifier by URL', async () => {
  const own = await freshKeyRing();
  const { keys, issuer } = await remote();
  issuer.answer = keySetAnswer({ keys: await own.publicKeys() });
  return { signer: new NodeCryptoTokenSigner(own), verifier: joseTokenVerifier(keys) };
});

describe('RemoteKeyProvider', () => {
  it('fetches a fresh set once, however many tokens arrive', async () => {
    const { keys, issuer } = await remote();
    await Promise.all(Array.from({ length: 100 }, () => keys.verificationKey(kid)));
    expect(issuer.questions).toBe(1);
  });

  it('finds a newly published key at the first token that names it', async () => {
    const { keys, issuer, clock } = await remote();
    await keys.verificationKey(kid);
    const next = await freshKeyRing();
    const { kid: nextKid } = await next.signingKey();
    issuer.answer = keySetAnswer({ keys: [...(await ring.publicKeys()), ...(await next.publicKeys())] });
    clock.advance(COOLDOWN);
    expect(await keys.verificationKey(nextKid)).toBeDefined();
    expect(await keys.verificationKey(kid)).toBeDefined();
    expect(issuer.questions).toBe(2);
  });

  it('drops a key that is no longer published when the set is no longer fresh', async () => {
    const { keys, issuer, clock } = await remote({}, { 'cache-control': 'public, max-age=30' });
    await keys.verificationKey(kid);
    issuer.answer = keySetAnswer({ keys: await (await freshKeyRing()).publicKeys() });
    clock.advance(29);
    expect(await keys.verificationKey(kid)).toBeDefined();
    clock.advance(1);
    expect(await keys.verificationKey(kid)).toBeUndefined();
  });

  it('fetches at most once per cooldown in a flood of unknown ids', async () => {
    const { keys, issuer, clock } = await remote();
    for (let second = 0; second < 4 * COOLDOWN; second += 1) {
      const flood = Array.from({ length: 50 }, () => keys.verificationKey(crypto.randomUUID()));
      expect(new Set(await Promise.all(flood))).toEqual(new Set([undefined]));
      clock.advance(1);
    }
    expect(issuer.questions).toBe(4);
  });

  it.each([
    ['max-age=30', 30],
    ['public, max-age=30, must-revalidate', 30],
    ['max-age="30"', 30],
    ['Max-Age=30', 30],
    ['s-maxage=9, max-age=30', 30],
    ['max-age=1', COOLDOWN],
    ['max-age=0', COOLDOWN],
    ['no-store', COOLDOWN],
    ['no-cache, max-age=30', COOLDOWN],
    ['max-age=999999999', 3_600],
    ['public', 300],
    ['max-age=soon', 300],
  ])('caches a set as long as the response says, within bounds: %s', async (cacheControl, seconds) => {
    const { keys, issuer, clock } = await remote({}, { 'cache-control': cacheControl });
    await keys.verificationKey(kid);
    clock.advance(seconds - 1);
    await keys.verificationKey(kid);
    expect(issuer.questions).toBe(1);
    clock.advance(1);
    await keys.verificationKey(kid);
    expect(issuer.questions).toBe(2);
  });

  it('counts the time that the response has spent in another cache', async () => {
    const { keys, issuer, clock } = await remote({}, { 'cache-control': 'max-age=30', age: '20' });
    await keys.verificationKey(kid);
    clock.advance(10);
    await keys.verificationKey(kid);
    expect(issuer.questions).toBe(2);
  });

  it('fetches the set again after the clock was set back', async () => {
    const { keys, issuer, clock } = await remote();
    await keys.verificationKey(kid);
    clock.advance(-86_400);
    expect(await keys.verificationKey(kid)).toBeDefined();
    expect(issuer.questions).toBe(2);
  });

  describe('while the issuer is unavailable', () => {
    it('keeps using the cached keys for the stale time, and no longer', async () => {
      const { keys, issuer, clock } = await remote({}, { 'cache-control': 'max-age=30' });
      await keys.verificationKey(kid);
      await issuer.leave();
      clock.advance(30 + STALE - 1);
      expect(await keys.verificationKey(kid)).toBeDefined();
      clock.advance(1);
      await expect(keys.verificationKey(kid)).rejects.toMatchObject(unavailable);
    });

    it('reports an unknown key as unavailable, not as missing', async () => {
      const { keys, issuer, clock } = await remote();
      await keys.verificationKey(kid);
      await issuer.leave();
      clock.advance(COOLDOWN);
      await expect(keys.verificationKey('another')).rejects.toBeInstanceOf(DependencyUnavailable);
      await expect(keys.verificationKey('another')).rejects.toMatchObject(unavailable);
      expect(await keys.verificationKey(kid)).toBeDefined();
    });

    it('recovers without any cached key, after the cooldown and not before', async () => {
      const { keys, issuer, clock } = await remote();
      await issuer.leave();
      await expect(keys.verificationKey(kid)).rejects.toMatchObject(unavailable);
      await issuer.comeBack();
      clock.advance(COOLDOWN - 1);
      await expect(keys.verificationKey(kid)).rejects.toMatchObject(unavailable);
      expect(issuer.questions).toBe(0);
      clock.advance(1);
      expect(await keys.verificationKey(kid)).toBeDefined();
    });

    it('logs it once, and once when the issuer is available again', async () => {
      const { keys, issuer, clock, events } = await remote();
      await issuer.leave();
      for (let round = 0; round < 3; round += 1) {
        await expect(keys.verificationKey(kid)).rejects.toMatchObject(unavailable);
        clock.advance(COOLDOWN);
      }
      await issuer.comeBack();
      await keys.verificationKey(kid);
      clock.advance(COOLDOWN);
      await keys.verificationKey('another');
      expect(events).toEqual([
        { event: 'key_set_unavailable', fault: expect.anything() },
        { event: 'key_set_available', keys: 1 },
      ]);
    });
  });

  describe('with an issuer that accepts the connection and never responds', () => {
    it.each([
      ['not a byte', { kind: 'silent' } as const],
      ['half of the set', { kind: 'half', text: '{"keys":[' } as const],
    ])('waits no longer than the timeout: %s', async (_case, answer) => {
      const { keys, issuer } = await remote({ timeoutMs: SHORT_TIMEOUT_MS });
      issuer.answer = answer;
      const find = () => expect(keys.verificationKey(kid)).rejects.toMatchObject(unavailable);
      expect(await timeOf(() => Promise.all([find(), find(), find()]))).toBeLessThan(SHORT_TIMEOUT_MS + SLACK_MS);
      expect(issuer.questions).toBe(1);
    });

    it('returns a cached key without waiting', async () => {
      const { keys, issuer, clock } = await remote({}, { 'cache-control': 'max-age=30' });
      await keys.verificationKey(kid);
      await issuer.leave();
      clock.advance(30);
      await keys.verificationKey(kid);
      await issuer.comeBack();
      issuer.answer = { kind: 'silent' };
      clock.advance(COOLDOWN);
      expect(await timeOf(() => keys.verificationKey(kid))).toBeLessThan(SLACK_MS);
    });

    it('aborts the fetch when it is closed', async () => {
      const { keys, issuer, events } = await remote();
      issuer.answer = { kind: 'silent' };
      const rejected = expect(keys.verificationKey(kid)).rejects.toMatchObject(unavailable);
      keys.close();
      await rejected;
      expect(events).toEqual([]);
    });
  });

  it.each([
    ['another status', { kind: 'text', text: '{"keys":[]}', status: 401 } as const],
    ['a redirect', { kind: 'text', text: '', status: 302, headers: { location: '/' } } as const],
    ['not JSON', { kind: 'text', text: '<html>' } as const],
    ['not a key set', keySetAnswer({ key: [] })],
    ['null', keySetAnswer(null)],
    ['a set whose keys are not an array', keySetAnswer({ keys: {} })],
    ['a set without keys', keySetAnswer({ keys: [] })],
    ['a set without a key for RS256', keySetAnswer({ keys: [{ kty: 'EC', kid: 'x' }, null, 'x', {}] })],
    ['a set whose only key has a number as its id', keySetAnswer({ keys: [{ ...STRONG, kid: 7 }] })],
    ['a set whose only key has an empty id', keySetAnswer({ keys: [{ ...STRONG, kid: '' }] })],
    ['more than 256 KiB', { kind: 'text', text: ' '.repeat(256 * 1024 + 1) } as const],
  ])('treats as a failed fetch, and keeps the cached keys: %s', async (_case, answer) => {
    const { keys, issuer, clock } = await remote();
    await keys.verificationKey(kid);
    issuer.answer = answer;
    clock.advance(300);
    expect(await keys.verificationKey(kid)).toBeDefined();
    await expect(keys.verificationKey('another')).rejects.toMatchObject(unavailable);
    expect(issuer.questions).toBe(2);
  });

  describe('with the keys in a set', () => {
    const jwkOf = (bits: number) =>
      generateKeyPairSync('rsa', { modulusLength: bits }).publicKey.export({ format: 'jwk' });
    const strong = STRONG;
    const other = jwkOf(2048);

    /** Which of these keys are accepted. The set also has a usable key. */
    async function accepted(...jwks: readonly object[]): Promise<readonly boolean[]> {
      const { keys, issuer } = await remote();
      issuer.answer = keySetAnswer({ keys: [...jwks, ...(await ring.publicKeys())] });
      const found = jwks.map(
        async (jwk) => 'kid' in jwk && (await keys.verificationKey(String(jwk.kid))) !== undefined,
      );
      return Promise.all(found);
    }

    it.each([
      ['of 2048 bits', strong],
      ['of 3072 bits', jwkOf(3072)],
      ['with the exponent 3', { ...strong, e: 'Aw' }],
      ['for signatures', { ...strong, use: 'sig' }],
      ['for RS256', { ...strong, alg: 'RS256' }],
      ['to verify with', { ...strong, key_ops: ['verify'] }],
      ['to verify and encrypt with', { ...strong, key_ops: ['encrypt', 'verify'] }],
      ['with other members', { ...strong, x5t: 'x', ext: true, nbf: 0 }],
    ])('accepts an RSA key %s', async (_case, jwk) => {
      expect(await accepted({ ...jwk, kid: 'k' })).toEqual([true]);
    });

    it.each([
      ['of 1024 bits', jwkOf(1024)],
      ['of 2047 bits', jwkOf(2047)],
      ['with the exponent 1, with which anyone can forge', { ...strong, e: 'AQ' }],
      ['with the exponent 2', { ...strong, e: 'Ag' }],
      ['with the even exponent 65536', { ...strong, e: 'AQAA' }],
      ['for encryption', { ...strong, use: 'enc' }],
      ['for another algorithm', { ...strong, alg: 'RS512' }],
      ['for PS384', { ...strong, alg: 'PS384' }],
      ['of RSA for ES256', { ...strong, alg: 'ES256' }],
      ['for encryption by its operations', { ...strong, key_ops: ['encrypt'] }],
      ['to sign with', { ...strong, key_ops: ['sign'] }],
      ['for no operation', { ...strong, key_ops: [] }],
      ['whose operations are not an array', { ...strong, key_ops: 'verify' }],
      ['whose use is not a string', { ...strong, use: null }],
      ['without a modulus', { kty: 'RSA', e: 'AQAB' }],
      ['without an exponent', { kty: 'RSA', n: strong.n }],
      ['of another type by its `kty`', { ...strong, kty: 'oct', k: 'AQAB' }],
    ])('ignores a key %s', async (_case, jwk) => {
      expect(await accepted({ ...jwk, kid: 'k' })).toEqual([false]);
    });

    it('accepts keys for the other algorithms of tokens, by `alg` or by their type, and one id for one algorithm', async () => {
      const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
      const ed25519 = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
      const keys = [p256, ed25519].flatMap((key, at) => [
        { ...key, kid: `${at}` },
        { ...key, kid: `named-${at}`, alg: ['ES256', 'EdDSA'][at] ?? '' },
      ]);
      expect(await accepted(...keys, { ...strong, kid: 'pss', alg: 'PS256' })).toEqual([true, true, true, true, true]);
      const both = [
        { ...strong, kid: 'k', alg: 'PS256' },
        { ...strong, kid: 'k', alg: 'RS256' },
      ];
      expect(await accepted(...both)).toEqual([false, false]);
    });

    it('ignores another elliptic curve, a secret, and a key without an id', async () => {
      const curve = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' });
      const secret = { kty: 'oct', k: Buffer.alloc(32).toString('base64url'), alg: 'HS256' };
      expect(await accepted({ ...curve, kid: 'a' }, { ...secret, kid: 'b' }, strong, { ...strong, kid: 7 })).toEqual([
        false,
        false,
        false,
        false,
      ]);
    });

    it('ignores two different keys with one id, and accepts a key that is listed twice', async () => {
      expect(await accepted({ ...strong, kid: 'k' }, { ...other, kid: 'k' })).toEqual([false, false]);
      expect(await accepted({ ...strong, kid: 'k' }, { ...strong, kid: 'k' })).toEqual([true, true]);
    });
  });
});
