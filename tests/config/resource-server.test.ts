import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SignJWT, UnsecuredJWT } from 'jose';
import { NodeCryptoTokenSigner } from '../../adapters/jwt/node-crypto-token-signer.ts';
import { PARTS } from '../../config/parts.ts';
import type { AccessTokenClaims } from '../../domain/access-token-claims.ts';
import { CLAIMS } from '../support/claims.ts';
import { FixedClock } from '../support/fixed-clock.ts';
import { freshKeyRing } from '../support/fresh-key-ring.ts';
import { getAccessToken, type HttpAnswer, send } from '../support/http.ts';
import { KeySetServer, keySetAnswer } from '../support/key-set-server.ts';
import { type ResourceServerUnderTest, startResourceServerUnderTest } from '../support/running-resource-server.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  ISSUER,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../support/running-service.ts';

const LOCATION = '/v1/locations/NYC_USA';
const { iat: NOW } = CLAIMS;

function read(server: ResourceServerUnderTest, token: string): Promise<HttpAnswer> {
  return send(server.url, LOCATION, { headers: { authorization: `Bearer ${token}` } });
}

function expectRefused(answer: HttpAnswer): void {
  expect(answer.status).toBe(401);
  expect(answer.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
  expect(answer.text).toBe('{"error":"invalid_token"}');
}

function expectUnavailable(answer: HttpAnswer): void {
  expect(answer.status).toBe(503);
  expect(answer.headers['retry-after']).toBe('1');
  expect(answer.text).toBe('{"error":"temporarily_unavailable"}');
}

describe('the resource server, with the service as its issuer', () => {
  const clock = new FixedClock(NOW);
  let service: ServiceUnderTest;
  let server: ResourceServerUnderTest;
  let signer: NodeCryptoTokenSigner;
  beforeAll(async () => {
    service = await startServiceUnderTest({
      environment: { PUBLIC_METADATA: 'true' },
      override: (container) => container.registerInstance(PARTS.clock, clock),
    });
    server = await startResourceServerUnderTest({ JWKS_URI: `${service.url}/oauth2/jwks` }, clock);
    signer = new NodeCryptoTokenSigner(service.container.resolve(PARTS.keyProvider));
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await service.stop();
    expect(server.logText()).not.toMatch(/-secret|eyJ/);
  });

  it('returns a location for a token that the service has issued', async () => {
    const answer = await read(server, await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET));
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.json())).toEqual([
      'code',
      'city_name',
      'region_name',
      'country_code',
      'country_name',
      'enabled',
    ]);
    expect(answer.json()).toMatchObject({ code: 'NYC_USA', enabled: true });
    expect(server.logLines().at(-1)).toMatchObject({ status: 200, client_id: GOOD_CLIENT.client_id });
  });

  it('requires a token on every path, as the service does, and only then reveals whether the path exists', async () => {
    const token = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
    for (const path of [LOCATION, '/', '/oauth2/token', '/livez']) {
      const answer = await send(server.url, path);
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    }
    const statuses = await Promise.all(
      ['/v1/locations/nowhere', '/oauth2/token', '/'].map(
        async (path) => (await send(server.url, path, { headers: { authorization: `Bearer ${token}` } })).status,
      ),
    );
    expect(statuses).toEqual([404, 404, 404]);
  });

  it('accepts a clock difference of five seconds, and no more', async () => {
    const statusAt = async (times: Partial<AccessTokenClaims>) =>
      (await read(server, await signer.sign({ ...CLAIMS, ...times }))).status;
    expect(await statusAt({ nbf: NOW + 5 })).toBe(200);
    expect(await statusAt({ nbf: NOW + 6 })).toBe(401);
    expect(await statusAt({ nbf: NOW - 300, exp: NOW - 4 })).toBe(200);
    expect(await statusAt({ nbf: NOW - 300, exp: NOW - 5 })).toBe(401);
  });

  it.each<[string, () => Promise<string> | string, string]>([
    ['of another issuer', () => signer.sign({ ...CLAIMS, iss: `${ISSUER}/` }), 'token_issuer_foreign'],
    ['that has expired', () => signer.sign({ ...CLAIMS, nbf: NOW - 600, exp: NOW - 300 }), 'token_expired'],
    [
      'of a key that is not published',
      async () => new NodeCryptoTokenSigner(await freshKeyRing()).sign(CLAIMS),
      'token_key_unknown',
    ],
    ['of another key with the id of a published one', () => signedAs({ alg: 'RS256' }), 'token_signature_wrong'],
    ['signed with another algorithm', () => signedAs({ alg: 'RS512' }), 'token_algorithm_refused'],
    ['signed with a secret', () => signedAs({ alg: 'HS256' }), 'token_algorithm_refused'],
    ['that is not signed', () => new UnsecuredJWT({ ...CLAIMS }).encode(), 'token_malformed'],
  ])('refuses a token %s', async (_case, make, reason) => {
    const answer = await read(server, await make());
    expectRefused(answer);
    expect(server.logLines().at(-1)).toMatchObject({ request_id: answer.headers['x-request-id'], reason });
  });

  /** A token with the key id of the service, signed by another key. */
  async function signedAs({ alg }: { alg: 'RS256' | 'RS512' | 'HS256' }): Promise<string> {
    const { kid } = await service.container.resolve(PARTS.keyProvider).signingKey();
    const { privateKey } = await crypto.subtle.generateKey(
      {
        name: 'RSASSA-PKCS1-v1_5',
        hash: alg === 'RS512' ? 'SHA-512' : 'SHA-256',
        modulusLength: 2048,
        publicExponent: Uint8Array.of(1, 0, 1),
      },
      false,
      ['sign', 'verify'],
    );
    const key = alg === 'HS256' ? new TextEncoder().encode('s'.repeat(32)) : privateKey;
    return new SignJWT({ ...CLAIMS }).setProtectedHeader({ kid, alg }).sign(key);
  }
});

describe('the resource server with an audience', () => {
  it.each([
    ['default', 'https://api.test', 200],
    ['rfc9068', 'https://api.test', 200],
    ['default', 'https://other.test', 401],
    ['rfc9068', 'https://other.test', 401],
    ['default', '', 401],
  ])('of a service with the profile %s and the audience %j: %d', async (profile, audience, status) => {
    await using service = await startServiceUnderTest({
      environment: { PUBLIC_METADATA: 'true', TOKEN_PROFILE: profile, TOKEN_AUDIENCE: audience },
    });
    await using server = await startResourceServerUnderTest({
      JWKS_URI: `${service.url}/oauth2/jwks`,
      TOKEN_AUDIENCE: 'https://api.test',
    });
    const answer = await read(server, await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET));
    expect(answer.status).toBe(status);
    if (status === 401) expect(server.logLines().at(-1)).toMatchObject({ reason: 'token_audience_foreign' });
  });
});

describe('the resource server and its issuer', () => {
  let clock: FixedClock;
  let token: string;
  let signers: Awaited<ReturnType<typeof freshKeyRing>>;
  beforeEach(async () => {
    clock = new FixedClock(NOW);
    signers = await freshKeyRing();
    token = await new NodeCryptoTokenSigner(signers).sign(CLAIMS);
  });

  it('keeps accepting tokens of cached keys while the issuer is unavailable', async () => {
    await using issuer = await KeySetServer.of(signers, { 'cache-control': 'max-age=30' });
    await using server = await startResourceServerUnderTest({ JWKS_URI: issuer.url }, clock);
    expect((await read(server, token)).status).toBe(200);
    await issuer.leave();
    clock.advance(200);
    expect((await read(server, token)).status).toBe(200);
    expectUnavailable(await read(server, await new NodeCryptoTokenSigner(await freshKeyRing()).sign(CLAIMS)));
    expect(server.logLines()).toContainEqual(expect.objectContaining({ level: 'error', event: 'key_set_unavailable' }));
  });

  it('answers 503 before the issuer is available for the first time, and recovers without a restart', async () => {
    await using issuer = await KeySetServer.of(signers);
    await issuer.leave();
    await using server = await startResourceServerUnderTest({ JWKS_URI: issuer.url }, clock);
    expectUnavailable(await read(server, token));
    await issuer.comeBack();
    clock.advance(5);
    expect((await read(server, token)).status).toBe(200);
  });

  it('answers 503 if the issuer requires a token for its key set, as the service does by default, and logs why', async () => {
    await using service = await startServiceUnderTest();
    await using server = await startResourceServerUnderTest({ JWKS_URI: `${service.url}/oauth2/jwks` });
    expectUnavailable(await read(server, await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET)));
    expect(server.logText()).toContain('the key set was answered with status 401');
  });

  it('answers 503 within the timeout if the issuer never responds, and answers on every other path at once', async () => {
    await using issuer = await KeySetServer.start({ kind: 'silent' });
    await using server = await startResourceServerUnderTest({ JWKS_URI: issuer.url, JWKS_TIMEOUT_MS: '300' }, clock);
    const waiting = read(server, token);
    expect((await send(server.url, LOCATION)).status).toBe(401);
    expect((await send(server.url, '/nothing')).status).toBe(401);
    expectRefused(await read(server, 'no-token'));
    const answer = await waiting;
    expectUnavailable(answer);
    expect(server.logLines().at(-1)?.['duration_ms']).toBeLessThan(2_000);
  });

  it('accepts a new key of the issuer at its first token, and the old key as long as it is published', async () => {
    await using issuer = await KeySetServer.of(signers);
    await using server = await startResourceServerUnderTest({ JWKS_URI: issuer.url }, clock);
    expect((await read(server, token)).status).toBe(200);
    const next = await freshKeyRing();
    issuer.answer = keySetAnswer({ keys: [...(await signers.publicKeys()), ...(await next.publicKeys())] });
    clock.advance(5);
    expect((await read(server, await new NodeCryptoTokenSigner(next).sign(CLAIMS))).status).toBe(200);
    expect((await read(server, token)).status).toBe(200);
  });

  it('refuses a flood of tokens with random key ids, with one fetch per cooldown', async () => {
    await using issuer = await KeySetServer.of(signers);
    await using server = await startResourceServerUnderTest({ JWKS_URI: issuer.url }, clock);
    const forged = () =>
      token.replace(
        /^[^.]+/,
        Buffer.from(JSON.stringify({ kid: crypto.randomUUID(), alg: 'RS256' })).toString('base64url'),
      );
    for (let second = 0; second < 10; second += 1) {
      for (const answer of await Promise.all(Array.from({ length: 20 }, () => read(server, forged()))))
        expectRefused(answer);
      expect((await read(server, token)).status).toBe(200);
      clock.advance(1);
    }
    expect(issuer.questions).toBe(2);
  });
});
