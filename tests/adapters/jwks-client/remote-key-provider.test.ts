import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type KeySetEvent,
  type RemoteKeyOptions,
  RemoteKeyProvider,
} from '../../../adapters/jwks-client/remote-key-provider.ts';
import { JoseTokenVerifier } from '../../../adapters/jwt/jose-token-verifier.ts';
import { Rs256TokenSigner } from '../../../adapters/jwt/rs256-token-signer.ts';
import type { KeyRing } from '../../../application/keys/key-ring.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { describeTokenVerifier } from '../../contracts/token-verifier.ts';
import { describeVerificationKeys } from '../../contracts/verification-keys.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';
import { KeySetServer, keySetAnswer } from '../../support/key-set-server.ts';

const COOLDOWN = 5;
const STALE = 1_000;

/** Milliseconds: of a test that waits for it, and of one that must never meet it, however busy the machine. */
const SHORT_TIMEOUT_MS = 150;
const LONG_TIMEOUT_MS = 10_000;

/** What a test may take beyond the time that it waits for, in milliseconds; the machine may be busy. */
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
  readonly lines: readonly KeySetEvent[];
}

async function remote(options: Partial<RemoteKeyOptions> = {}, headers = {}): Promise<RemoteUnderTest> {
  const issuer = stack.use(await KeySetServer.of(ring, headers));
  const clock = new FixedClock();
  const lines: KeySetEvent[] = [];
  const keys = new RemoteKeyProvider(
    { uri: issuer.url, timeoutMs: LONG_TIMEOUT_MS, cooldownSeconds: COOLDOWN, staleSeconds: STALE, ...options },
    clock,
    (line) => lines.push(line),
  );
  stack.defer(() => keys.close());
  return { keys, clock, issuer, lines };
}

/** How long something took, in milliseconds. */
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

describeTokenVerifier('JoseTokenVerifier by URL', async () => {
  const own = await freshKeyRing();
  const { keys, issuer } = await remote();
  issuer.answer = keySetAnswer({ keys: await own.publicKeys() });
  return { signer: new Rs256TokenSigner(own), verifier: new JoseTokenVerifier(keys) };
});

describe('RemoteKeyProvider', () => {
  it('asks once for a set that is fresh, however many tokens come', async () => {
    const { keys, issuer } = await remote();
    await Promise.all(Array.from({ length: 100 }, () => keys.verificationKey(kid)));
    expect(issuer.questions).toBe(1);
  });

  it('finds a key that was published since, at the first token that names it', async () => {
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

  it('forgets a key that is no longer published, once the set is no longer fresh', async () => {
    const { keys, issuer, clock } = await remote({}, { 'cache-control': 'public, max-age=30' });
    await keys.verificationKey(kid);
    issuer.answer = keySetAnswer({ keys: await (await freshKeyRing()).publicKeys() });
    clock.advance(29);
    expect(await keys.verificationKey(kid)).toBeDefined();
    clock.advance(1);
    expect(await keys.verificationKey(kid)).toBeUndefined();
  });

  it('asks once a cooldown at most, whatever flood of unknown ids comes', async () => {
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
  ])('keeps a set for as long as the answer says, within bounds: %s', async (cacheControl, seconds) => {
    const { keys, issuer, clock } = await remote({}, { 'cache-control': cacheControl });
    await keys.verificationKey(kid);
    clock.advance(seconds - 1);
    await keys.verificationKey(kid);
    expect(issuer.questions).toBe(1);
    clock.advance(1);
    await keys.verificationKey(kid);
    expect(issuer.questions).toBe(2);
  });

  it('counts the time for which a cache before it kept the answer', async () => {
    const { keys, issuer, clock } = await remote({}, { 'cache-control': 'max-age=30', age: '20' });
    await keys.verificationKey(kid);
    clock.advance(10);
    await keys.verificationKey(kid);
    expect(issuer.questions).toBe(2);
  });

  it('trusts no age of a set where the clock was set back', async () => {
    const { keys, issuer, clock } = await remote();
    await keys.verificationKey(kid);
    clock.advance(-86_400);
    expect(await keys.verificationKey(kid)).toBeDefined();
    expect(issuer.questions).toBe(2);
  });

  describe('while the issuer is away', () => {
    it('goes on with the keys that it knows, for as long as it was told, and no longer', async () => {
      const { keys, issuer, clock } = await remote({}, { 'cache-control': 'max-age=30' });
      await keys.verificationKey(kid);
      await issuer.leave();
      clock.advance(30 + STALE - 1);
      expect(await keys.verificationKey(kid)).toBeDefined();
      clock.advance(1);
      await expect(keys.verificationKey(kid)).rejects.toMatchObject(unavailable);
    });

    it('says of an unknown key that it cannot know, and not that there is none', async () => {
      const { keys, issuer, clock } = await remote();
      await keys.verificationKey(kid);
      await issuer.leave();
      clock.advance(COOLDOWN);
      await expect(keys.verificationKey('another')).rejects.toBeInstanceOf(DependencyUnavailable);
      await expect(keys.verificationKey('another')).rejects.toMatchObject(unavailable);
      expect(await keys.verificationKey(kid)).toBeDefined();
    });

    it('recovers by itself, after the cooldown and not before, where it never had a key', async () => {
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

    it('says so once, and once that it is back', async () => {
      const { keys, issuer, clock, lines } = await remote();
      await issuer.leave();
      for (let round = 0; round < 3; round += 1) {
        await expect(keys.verificationKey(kid)).rejects.toMatchObject(unavailable);
        clock.advance(COOLDOWN);
      }
      await issuer.comeBack();
      await keys.verificationKey(kid);
      clock.advance(COOLDOWN);
      await keys.verificationKey('another');
      expect(lines).toEqual([
        { event: 'key_set_unavailable', fault: expect.anything() },
        { event: 'key_set_available', keys: 1 },
      ]);
    });
  });

  describe('of an issuer that takes the question and never answers', () => {
    it.each([
      ['not a byte', { kind: 'silent' } as const],
      ['half of the set', { kind: 'half', text: '{"keys":[' } as const],
    ])('waits no longer than the timeout: %s', async (_case, answer) => {
      const { keys, issuer } = await remote({ timeoutMs: SHORT_TIMEOUT_MS });
      issuer.answer = answer;
      const ask = () => expect(keys.verificationKey(kid)).rejects.toMatchObject(unavailable);
      expect(await timeOf(() => Promise.all([ask(), ask(), ask()]))).toBeLessThan(SHORT_TIMEOUT_MS + SLACK_MS);
      expect(issuer.questions).toBe(1);
    });

    it('makes nobody wait again for a key that is known', async () => {
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

    it('gives the question up when it is closed', async () => {
      const { keys, issuer, lines } = await remote();
      issuer.answer = { kind: 'silent' };
      const asked = expect(keys.verificationKey(kid)).rejects.toMatchObject(unavailable);
      keys.close();
      await asked;
      expect(lines).toEqual([]);
    });
  });

  it.each([
    ['another status', { kind: 'text', text: '{"keys":[]}', status: 401 } as const],
    ['a redirect', { kind: 'text', text: '', status: 302, headers: { location: '/' } } as const],
    ['no JSON', { kind: 'text', text: '<html>' } as const],
    ['no key set', keySetAnswer({ key: [] })],
    ['null', keySetAnswer(null)],
    ['a set whose keys are no list', keySetAnswer({ keys: {} })],
    ['a set without keys', keySetAnswer({ keys: [] })],
    ['a set without a key for RS256', keySetAnswer({ keys: [{ kty: 'EC', kid: 'x' }, null, 'x', {}] })],
    ['more than it reads', { kind: 'text', text: ' '.repeat(256 * 1024 + 1) } as const],
  ])('takes for no answer, and so keeps what it knows: %s', async (_case, answer) => {
    const { keys, issuer, clock } = await remote();
    await keys.verificationKey(kid);
    issuer.answer = answer;
    clock.advance(300);
    expect(await keys.verificationKey(kid)).toBeDefined();
    await expect(keys.verificationKey('another')).rejects.toMatchObject(unavailable);
    expect(issuer.questions).toBe(2);
  });

  describe('of the keys in a set', () => {
    const jwkOf = (bits: number) =>
      generateKeyPairSync('rsa', { modulusLength: bits }).publicKey.export({ format: 'jwk' });
    const strong = jwkOf(2048);
    const other = jwkOf(2048);

    /** Which of these keys are taken. The set has a good key beside them. */
    async function taken(...jwks: readonly object[]): Promise<readonly boolean[]> {
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
      ['for signatures', { ...strong, use: 'sig' }],
      ['for RS256', { ...strong, alg: 'RS256' }],
      ['to verify with', { ...strong, key_ops: ['verify'] }],
      ['to verify and encrypt with', { ...strong, key_ops: ['encrypt', 'verify'] }],
      ['with members beyond ours', { ...strong, x5t: 'x', ext: true, nbf: 0 }],
    ])('takes an RSA key %s', async (_case, jwk) => {
      expect(await taken({ ...jwk, kid: 'k' })).toEqual([true]);
    });

    it.each([
      ['of 1024 bits', jwkOf(1024)],
      ['of 2047 bits', jwkOf(2047)],
      ['for encryption', { ...strong, use: 'enc' }],
      ['for another algorithm', { ...strong, alg: 'RS512' }],
      ['for another padding', { ...strong, alg: 'PS256' }],
      ['for encryption by its operations', { ...strong, key_ops: ['encrypt'] }],
      ['to sign with', { ...strong, key_ops: ['sign'] }],
      ['for no operation', { ...strong, key_ops: [] }],
      ['whose operations are no list', { ...strong, key_ops: 'verify' }],
      ['whose use is no text', { ...strong, use: null }],
      ['without a modulus', { kty: 'RSA', e: 'AQAB' }],
      ['without an exponent', { kty: 'RSA', n: strong.n }],
      ['that is said to be of another kind', { ...strong, kty: 'oct', k: 'AQAB' }],
    ])('does not take a key %s', async (_case, jwk) => {
      expect(await taken({ ...jwk, kid: 'k' })).toEqual([false]);
    });

    it('does not take an elliptic curve, a secret, or a key without an id', async () => {
      const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
      const secret = { kty: 'oct', k: Buffer.alloc(32).toString('base64url'), alg: 'HS256' };
      expect(await taken({ ...curve, kid: 'a' }, { ...secret, kid: 'b' }, strong, { ...strong, kid: 7 })).toEqual([
        false,
        false,
        false,
        false,
      ]);
    });

    it('takes neither of two keys of one id, and one that is said twice', async () => {
      expect(await taken({ ...strong, kid: 'k' }, { ...other, kid: 'k' })).toEqual([false, false]);
      expect(await taken({ ...strong, kid: 'k' }, { ...strong, kid: 'k' })).toEqual([true, true]);
    });
  });
});
