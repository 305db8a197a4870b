import { type KeyObject, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { MISTAKEN_TOKEN_PATHS } from '../../../adapters/http/endpoints/paths.ts';
import type { Exchange } from '../../../adapters/http/server/exchange.ts';
import type { Route } from '../../../adapters/http/server/koa-application.ts';
import { SigningThreads } from '../../../adapters/jwt/signing-threads.ts';
import { TokenSigner } from '../../../application/token-signer.ts';
import { PARTS } from '../../../config/container.ts';
import type { AccessTokenClaims, TokenType } from '../../../domain/access-token-claims.ts';
import { Scope } from '../../../domain/scope.ts';
import { encode, TokenForge } from '../../hostile/token-forge.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { getAccessToken, type HttpResponse, requestToken, send, sendRaw } from '../../support/http.ts';
import { knownKeyFactory } from '../../support/known-key.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  ISSUER,
  PLAIN_CLIENT,
  type ServiceOptions,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../support/running-service.ts';
import { until } from '../../support/until.ts';
import { logLineOf, serviceForSuite } from './service-for-suite.ts';

describe('every path but those of the token endpoint', () => {
  const LOCATION = '/v1/locations/NYC_USA';

  describe('every other path', () => {
    const clock = new FixedClock();
    const service = serviceForSuite({ override: (container) => container.registerInstance(PARTS.clock, clock) });
    let token: string;
    const bearer = () => ({ authorization: `Bearer ${token}` });
    beforeAll(async () => {
      token = await getAccessToken(service().url, 'good-client', GOOD_SECRET);
    });

    const paths = [
      LOCATION,
      '/',
      '/nothing',
      '/oauth2/jwks',
      '/.well-known/oauth-authorization-server',
      // Each looks like the token endpoint to a careless matcher. tests/hostile has more.
      '/oauth2/token/',
      '/oauth2//token',
      '/%6fauth2/token',
      '/%',
      '*',
    ];

    it.each(paths)('requires a token first: %s', async (path) => {
      for (const method of ['GET', 'POST']) {
        const response = await send(service().url, path, { method });
        expect(response.status).toBe(401);
        expect(response.headers['www-authenticate']).toBe('Bearer');
        expect(response.text).toBe('{"error":"unauthorized"}');
        expect(response.headers['cache-control']).toBe('no-store');
        expect(logLineOf(service(), response)).toMatchObject({ status: 401, reason: 'token_missing' });
      }
    });

    it.each(['GET', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'])(
      'requires a token first, for every method: %s',
      async (method) => {
        expect((await send(service().url, LOCATION, { method })).status).toBe(401);
      },
    );

    it.each([
      ['credentials of another scheme', 'Basic Zm9vOmJhcg=='],
      ['a scheme that begins like Bearer', 'BearerX abc'],
      ['an empty Authorization header', ''],
    ])('treats %s as no token', async (_name, authorization) => {
      const response = await send(service().url, LOCATION, { headers: { authorization } });
      expect(response.status).toBe(401);
      expect(response.headers['www-authenticate']).toBe('Bearer');
      expect(response.text).toBe('{"error":"unauthorized"}');
    });

    it('refuses two Authorization headers even if the first is valid', async () => {
      const response = await send(service().url, LOCATION, {
        headers: { authorization: [`Bearer ${token}`, 'Bearer x'] },
      });
      expect(response.status).toBe(400);
    });

    it.each(['Bearer x', 'Bearer a.b.c', 'Bearer e30.e30.e30', 'Bearer ..'])(
      'refuses a token that this service did not issue: %s',
      async (authorization) => {
        const response = await send(service().url, LOCATION, { headers: { authorization } });
        expect(response.status).toBe(401);
        expect(response.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
        expect(response.text).toBe('{"error":"invalid_token"}');
      },
    );

    it('does not read a token from the query string, the body or a cookie', async () => {
      const response = await send(service().url, `${LOCATION}?access_token=${token}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: `access_token=${token}` },
        body: `access_token=${token}`,
      });
      expect(response.text).toBe('{"error":"unauthorized"}');
    });

    it('valid token, known code: returns the location in the declared order and logs the client of the token', async () => {
      const response = await send(service().url, LOCATION, { headers: bearer() });
      expect(response.status).toBe(200);
      expect(response.text).toBe(
        '{"code":"NYC_USA","city_name":"New York City","region_name":"New York","country_code":"US","country_name":"United States of America","enabled":true}',
      );
      expect(logLineOf(service(), response)).toMatchObject({ route: '/v1/locations/:code', client_id: 'good-client' });
    });

    it('accepts the scheme in any case (RFC 9110 section 11.1)', async () => {
      const response = await send(service().url, LOCATION, { headers: { authorization: `bEARER ${token}` } });
      expect(response.status).toBe(200);
    });

    it('answers HEAD as GET without a body', async () => {
      const response = await send(service().url, LOCATION, { method: 'HEAD', headers: bearer() });
      expect(response.status).toBe(200);
      expect(response.text).toBe('');
      expect(Number(response.headers['content-length'])).toBeGreaterThan(0);
    });

    it.each([
      '/v1/locations/nyc_usa',
      '/v1/locations/N%59C_USA',
      '/v1/locations/NOWHERE',
      '/v1/locations/__proto__',
      '/v1/locations/',
      '/v1/locations',
      '/v1/locations/NYC_USA/',
      '/V1/locations/NYC_USA',
      '/v1/locations/NYC_USA/x',
      '/nothing',
    ])('valid token, unknown code or no such route: %s', async (path) => {
      const response = await send(service().url, path, { headers: bearer() });
      expect(response.status).toBe(404);
      expect(response.text).toBe('{"error":"not_found"}');
    });

    it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('valid token, wrong method on a known route: %s', async (method) => {
      const response = await send(service().url, LOCATION, { method, headers: bearer() });
      expect(response.status).toBe(405);
      expect(response.headers['allow']).toBe('GET, HEAD');
      expect(response.json()['error']).toBe('invalid_request');
    });

    it('returns the key set and the metadata for a valid token', async () => {
      const keySet = await send(service().url, '/oauth2/jwks', { headers: bearer() });
      const key = { kty: 'RSA', use: 'sig', alg: 'RS256', kid: expect.any(String), n: expect.any(String), e: 'AQAB' };
      const { keys } = keySet.json() as { readonly keys: readonly unknown[] };
      // The next one is there as soon as it is made.
      expect(keys).toEqual(keys.length === 1 ? [key] : [key, key]);
      const metadata = await send(service().url, '/.well-known/oauth-authorization-server', { headers: bearer() });
      expect(metadata.json()).toMatchObject({
        issuer: 'http://issuer.test',
        jwks_uri: 'http://issuer.test/oauth2/jwks',
      });
    });

    it('never uses Host or X-Forwarded headers', async () => {
      const headers = {
        host: 'evil.test',
        'x-forwarded-host': 'evil.test',
        'x-forwarded-proto': 'https',
        forwarded: 'host=evil.test',
      };
      const metadata = await send(service().url, '/.well-known/oauth-authorization-server', {
        headers: { ...bearer(), ...headers },
      });
      expect(metadata.text).not.toContain('evil');
    });

    it('expired token: refuses it from its exp on', async () => {
      const own = await getAccessToken(service().url, 'good-client', GOOD_SECRET);
      const headers = { authorization: `Bearer ${own}` };
      clock.advance(299);
      expect((await send(service().url, LOCATION, { headers })).status).toBe(200);
      clock.advance(1);
      const response = await send(service().url, LOCATION, { headers });
      expect(response.status).toBe(401);
      expect(response.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
      expect(response.text).toBe('{"error":"invalid_token"}');
      expect(logLineOf(service(), response)).toMatchObject({ reason: 'token_expired' });
    });

    it('token not yet valid: refuses it before its nbf', async () => {
      const own = await getAccessToken(service().url, 'good-client', GOOD_SECRET);
      clock.advance(-1);
      const response = await send(service().url, LOCATION, { headers: { authorization: `Bearer ${own}` } });
      expect(response.text).toBe('{"error":"invalid_token"}');
      expect(logLineOf(service(), response)).toMatchObject({ reason: 'token_not_yet_valid' });
    });
  });

  describe('valid token, route that requires a scope', () => {
    const routeFor = (path: string, required: string): Route => {
      const scope = Scope.parse(required);
      if (!scope.ok) throw new Error('no scope');
      const response = async (ctx: Exchange) => {
        ctx.body = { ok: true };
      };
      return { path, access: { kind: 'bearer', scope: scope.value }, methods: { GET: response } };
    };
    const service = serviceForSuite({
      environment: { TOKEN_SCOPE_CLAIM: 'true' },
      addedPaths: ['/both', '/write'],
      features: [{ routes: [routeFor('/both', 'write admin'), routeFor('/write', 'write')] }],
    });

    it('accepts a token with this scope', async () => {
      const token = await getAccessToken(service().url, 'good-client', GOOD_SECRET);
      expect((await send(service().url, '/write', { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
    });

    it.each([
      ['/both', 'read write', 'write admin'],
      ['/write', 'read', 'write'],
    ])('%s: refuses a token that has only %s', async (path, scope, required) => {
      const token = await getAccessToken(service().url, 'good-client', GOOD_SECRET, { scope });
      const response = await send(service().url, path, { headers: { authorization: `Bearer ${token}` } });
      expect(response.status).toBe(403);
      expect(response.headers['www-authenticate']).toBe(`Bearer error="insufficient_scope", scope="${required}"`);
      expect(response.text).toBe('{"error":"insufficient_scope"}');
      expect(logLineOf(service(), response)).toMatchObject({ reason: 'scope_insufficient', client_id: 'good-client' });
    });
  });

  describe('settings of the other paths', () => {
    const open = serviceForSuite({
      environment: {
        PUBLIC_METADATA: 'true',
        EXAMPLE_RESOURCE: 'false',
        BASE_URL: 'https://auth.example/base',
        TOKEN_ISSUER: 'https://issuer.example',
      },
    });
    const alphabetical = serviceForSuite({ environment: { LOCATION_FIELD_ORDER: 'alphabetical' } });

    it('PUBLIC_METADATA opens the key set and the metadata, which follow BASE_URL and TOKEN_ISSUER', async () => {
      expect((await send(open().url, '/oauth2/jwks')).status).toBe(200);
      expect((await send(open().url, '/.well-known/oauth-authorization-server')).json()).toEqual({
        issuer: 'https://issuer.example',
        token_endpoint: 'https://auth.example/base/oauth2/token',
        jwks_uri: 'https://auth.example/base/oauth2/jwks',
        grant_types_supported: ['client_credentials'],
        token_endpoint_auth_methods_supported: ['client_secret_post'],
        response_types_supported: [],
      });
    });

    it('PUBLIC_METADATA opens nothing else', async () => {
      for (const path of ['/', LOCATION, '/oauth2/jwks/', '/oauth2/JWKS', '/.well-knownx', '/.Well-known/x']) {
        expect((await send(open().url, path)).status).toBe(401);
      }
    });

    it.each(MISTAKEN_TOKEN_PATHS)(
      'says in the log, and not to the caller, which path is meant in place of %s',
      async (path) => {
        const response = await send(open().url, path, { method: 'POST' });
        expect([response.status, response.text]).toEqual([401, '{"error":"unauthorized"}']);
        expect(logLineOf(open(), response)).toMatchObject({
          reason: 'token_missing',
          route: path,
          detail: 'the path is /oauth2/token',
        });
        const other = await send(open().url, `${path}x`, { method: 'POST' });
        expect(logLineOf(open(), other)).toMatchObject({ route: 'none' });
      },
    );

    it('EXAMPLE_RESOURCE=false: the example resource does not exist', async () => {
      const token = await getAccessToken(open().url, 'good-client', GOOD_SECRET);
      const response = await send(open().url, LOCATION, { headers: { authorization: `Bearer ${token}` } });
      expect(response.status).toBe(404);
      expect(logLineOf(open(), response)).toMatchObject({ reason: 'route_unknown', route: 'none' });
    });

    it('LOCATION_FIELD_ORDER=alphabetical: the fields are in that order', async () => {
      const token = await getAccessToken(alphabetical().url, 'good-client', GOOD_SECRET);
      const response = await send(alphabetical().url, '/v1/locations/DELHI_IN', {
        headers: { authorization: `Bearer ${token}` },
      });
      expect(response.text).toBe(
        '{"city_name":"New Delhi","code":"DELHI_IN","country_code":"IN","country_name":"India","enabled":true,"region_name":"Delhi"}',
      );
    });
  });
});

describe('tokens of others', () => {
  const NOW = 1_800_000_000;
  const LIFETIME = 300;
  const PATH = '/v1/locations/NYC_USA';

  const clock = new FixedClock(NOW);
  let service: ServiceUnderTest;
  let elsewhere: ServiceUnderTest;
  let make: TokenForge;

  beforeAll(async () => {
    const options: ServiceOptions = {
      override: (container) => {
        container.registerInstance(PARTS.clock, clock);
        const { factory, kid, privateKey } = knownKeyFactory();
        made.set(kid, privateKey);
        container.registerInstance(PARTS.keyFactory, factory);
      },
    };
    const made = new Map<string, KeyObject>();
    [service, elsewhere] = await Promise.all([startServiceUnderTest(options), startServiceUnderTest(options)]);
    const [published] = await service.container.resolve(PARTS.keyProvider).publicKeys();
    const key = made.get(published?.kid ?? '');
    if (published === undefined || key === undefined) throw new Error('the service signs with another key');
    make = new TokenForge(key, published.kid, ISSUER, () => NOW);
  });

  afterAll(async () => {
    await Promise.all([service.stop(), elsewhere.stop()]);
  });

  const show = (token: string) => send(service.url, PATH, { headers: { authorization: `Bearer ${token}` } });

  function logLineOf(response: HttpResponse): Record<string, unknown> | undefined {
    return service.logLines().find((line) => line['request_id'] === response.headers['x-request-id']);
  }

  async function expectInvalidToken(token: string, reason: string): Promise<void> {
    const response = await show(token);
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.json()).toEqual({ error: 'invalid_token' });
    expect(logLineOf(response)).toMatchObject({
      status: 401,
      error: 'invalid_token',
      reason,
      route: '/v1/locations/:code',
    });
  }

  const token = () => getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
  const tokenOfAnother = () => getAccessToken(elsewhere.url, GOOD_CLIENT.client_id, GOOD_SECRET);

  // tests/hostile/ sends every forgery to the service; this is about what a token of the service itself can become.
  describe('a token that the service issued', () => {
    it('is accepted, as is one that this test made with the key of the service', async () => {
      const response = await show(await token());
      expect(response.status).toBe(200);
      expect(response.json()['code']).toBe('NYC_USA');
      expect((await show(make.token())).status).toBe(200);
    });

    it('is refused if any character of it is replaced', async () => {
      const valid = await token();
      const change = fc.tuple(fc.nat({ max: valid.length - 1 }), fc.constantFrom('A', 'g', 'w', '_', '0', '.'));
      await fc.assert(
        fc.asyncProperty(change, async ([index, character]) => {
          fc.pre(valid[index] !== character);
          const response = await show(`${valid.slice(0, index)}${character}${valid.slice(index + 1)}`);
          expect([response.status, response.text]).toEqual([401, '{"error":"invalid_token"}']);
        }),
        { numRuns: 200 },
      );
    });

    it('is refused if its parts come from two tokens', async () => {
      const [one, other] = [(await token()).split('.'), (await token()).split('.')];
      await expectInvalidToken(one.with(1, String(other[1])).join('.'), 'token_signature_wrong');
      await expectInvalidToken(one.with(2, String(other[2])).join('.'), 'token_signature_wrong');
    });

    it('is refused by another instance of the service, with our key id too', async () => {
      const foreign = await tokenOfAnother();
      await expectInvalidToken(foreign, 'token_key_unknown');
      await expectInvalidToken(foreign.replace(/[^.]*/, encode(make.header())), 'token_signature_wrong');
    });
  });

  describe('a token outside of its validity period', () => {
    const at = (nbf: number, exp: number) => () => make.token(undefined, make.claims({ iat: nbf, nbf, exp }));
    it.each([
      ['nbf one second ahead', at(NOW + 1, NOW + LIFETIME), 'token_not_yet_valid'],
      ['nbf a year ahead', at(NOW + 31_536_000, NOW + 31_536_300), 'token_not_yet_valid'],
      ['exp in this second', at(NOW - LIFETIME, NOW), 'token_expired'],
      ['exp one second ago', at(NOW - LIFETIME, NOW - 1), 'token_expired'],
      ['exp at the epoch', at(0, 1), 'token_expired'],
    ])('refuses %s', (_what, forge, reason) => expectInvalidToken(forge(), reason));

    it('accepts a token up to its last second and no longer', async () => {
      const moving = new FixedClock(NOW);
      await using own = await startServiceUnderTest({
        override: (container) => container.registerInstance(PARTS.clock, moving),
      });
      const issued = await getAccessToken(own.url, GOOD_CLIENT.client_id, GOOD_SECRET);
      const statusNow = async () =>
        (await send(own.url, PATH, { headers: { authorization: `Bearer ${issued}` } })).status;
      moving.advance(LIFETIME - 1);
      expect(await statusNow()).toBe(200);
      moving.advance(1);
      expect(await statusNow()).toBe(401);
      moving.advance(-LIFETIME);
      expect(await statusNow()).toBe(200);
      moving.advance(-1);
      expect(await statusNow()).toBe(401);
    });
  });

  it('refuses bytes beyond ASCII and NUL in the header', async () => {
    for (const odd of ['é', '\u200b', '\0']) {
      const request = `GET ${PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${make.token()}${odd}\r\n\r\n`;
      expect(await sendRaw(service.port, request)).toMatch(/^HTTP\/1\.1 400 [\s\S]*"error":"invalid_request"/);
    }
  });

  describe('every forgery', () => {
    const forged = (more: object = { jti: randomUUID() }) => make.token(undefined, make.claims(more), make.byAttacker);

    it('is refused in the same way on a path that does not exist', async () => {
      const response = await send(service.url, '/nowhere', { headers: { authorization: `Bearer ${forged()}` } });
      expect([response.status, response.text]).toEqual([401, '{"error":"invalid_token"}']);
      expect(logLineOf(response)).toMatchObject({ reason: 'token_signature_wrong', route: 'none' });
    });

    it('is logged with its reason only: no token, no signature', async () => {
      const sent = forged();
      await show(sent);
      for (const part of sent.split('.')) expect(service.logText()).not.toContain(part);
    });

    it('is logged with its client only if the key of the service signed it', async () => {
      const ours = await show(make.token(undefined, make.claims({ nbf: 1, exp: 2 })));
      const theirs = await show(forged({ nbf: 1, exp: 2 }));
      expect(logLineOf(ours)?.['client_id']).toBe(GOOD_CLIENT.client_id);
      expect(logLineOf(theirs)).not.toHaveProperty('client_id');
    });
  });
});

describe('token settings', () => {
  const LOCATION = '/v1/locations/NYC_USA';
  const AUDIENCE = 'https://api.test';
  const CLIENT_ID = GOOD_CLIENT.client_id;
  const GOOD = { grant_type: 'client_credentials', client_id: CLIENT_ID, client_secret: GOOD_SECRET };
  const read = (token: string, url: string) => send(url, LOCATION, { headers: { authorization: `Bearer ${token}` } });

  describe('POST /oauth2/token: with TOKEN_PROFILE=rfc9068 and TOKEN_AUDIENCE', () => {
    const service = serviceForSuite({
      environment: { TOKEN_PROFILE: 'rfc9068', TOKEN_AUDIENCE: AUDIENCE, TOKEN_SCOPE_CLAIM: 'true' },
    });
    let signer: TokenSigner;
    beforeAll(() => {
      signer = new TokenSigner(service().container.resolve(PARTS.keyProvider), 'at+jwt');
    });

    it('returns the same as by default: a Bearer token, its type and its lifetime, and nothing else', async () => {
      const response = await requestToken(service().url, GOOD);
      expect(response.json()).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 300 });
    });

    it('issues a token of the type at+jwt for the audience, with the claims that RFC 9068 requires and no other', async () => {
      const token = await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET);
      const claims = decodeJwt(token);
      expect(decodeProtectedHeader(token)).toEqual({ alg: 'RS256', typ: 'at+jwt', kid: expect.any(String) });
      expect(claims).toEqual({
        iss: ISSUER,
        sub: CLIENT_ID,
        aud: AUDIENCE,
        client_id: CLIENT_ID,
        scope: 'read write',
        iat: expect.any(Number),
        nbf: claims.iat,
        exp: (claims.iat ?? 0) + 300,
        jti: expect.any(String),
      });
    });

    it('names in the token the granted scopes, not all registered ones', async () => {
      const token = await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET, { scope: 'write' });
      expect(decodeJwt(token)['scope']).toBe('write');
    });

    it('accepts such a token on its own paths', async () => {
      expect((await read(await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET), service().url)).status).toBe(200);
    });

    it.each(['jwt', 'application/at+jwt', 'at+JWT', 'dpop+jwt'])(
      'refuses a token of its own key with the type %j',
      async (type) => {
        const claims = decodeJwt(await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET));
        const keys = service().container.resolve(PARTS.keyProvider);
        const other = await new TokenSigner(keys, type as TokenType).sign(claims as unknown as AccessTokenClaims);
        expect((await read(other, service().url)).text).toBe('{"error":"invalid_token"}');
      },
    );

    it.each([undefined, 'JWT'] as const)(
      'accepts a token of its own key with the type %s, of another profile',
      async (type) => {
        const claims = decodeJwt(await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET));
        const other = new TokenSigner(service().container.resolve(PARTS.keyProvider), type);
        expect((await read(await other.sign(claims as unknown as AccessTokenClaims), service().url)).status).toBe(200);
      },
    );

    it('refuses a token of its own key for another audience', async () => {
      const token = await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET);
      const claims = decodeJwt(token) as unknown as AccessTokenClaims;
      expect((await read(await signer.sign(claims), service().url)).status).toBe(200);
      for (const aud of [CLIENT_ID, `${AUDIENCE}/`, 'https://other.test']) {
        const response = await read(await signer.sign({ ...claims, aud }), service().url);
        expect(response.status).toBe(401);
        expect(response.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
        expect(response.text).toBe('{"error":"invalid_token"}');
        expect(logLineOf(service(), response)).toMatchObject({
          reason: 'token_audience_foreign',
          client_id: CLIENT_ID,
        });
      }
    });
  });

  describe('with SERVICE_PROFILE=standard and TOKEN_AUDIENCE', () => {
    const service = serviceForSuite({
      environment: { SERVICE_PROFILE: 'standard', TOKEN_AUDIENCE: AUDIENCE },
      clients: [GOOD_CLIENT, { ...GOOD_CLIENT, client_id: 'with-resource', resources: ['urn:registered'] }],
    });

    it('a client that knows only HTTP Basic gets a token with the claims of RFC 9068 and the type JWT, and learns its scopes without asking for one', async () => {
      const authorization = `Basic ${Buffer.from(`${CLIENT_ID}:${GOOD_SECRET}`).toString('base64')}`;
      const response = await requestToken(service().url, 'grant_type=client_credentials', { authorization });
      expect(response.json()).toEqual({
        access_token: expect.any(String),
        token_type: 'Bearer',
        expires_in: 300,
        scope: 'read write',
      });
      const token = String(response.json()['access_token']);
      expect(decodeProtectedHeader(token)).toMatchObject({ typ: 'JWT' });
      expect(decodeJwt(token)).toMatchObject({ aud: AUDIENCE, client_id: CLIENT_ID, scope: 'read write' });
    });

    it('so does one that sends its secret in the body, and a requested scope is the one of the response', async () => {
      expect((await requestToken(service().url, GOOD)).json()).toMatchObject({ scope: 'read write' });
      expect((await requestToken(service().url, { ...GOOD, scope: 'write' })).json()).toMatchObject({ scope: 'write' });
    });

    it.each(['/oauth2/jwks', '/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'])(
      '%s needs no token',
      async (path) => {
        expect((await send(service().url, path)).status).toBe(200);
      },
    );

    it.each([
      ['the audience of the service', { audience: AUDIENCE }, AUDIENCE],
      ['its resource', { resource: AUDIENCE }, AUDIENCE],
      ['both, the same', { audience: AUDIENCE, resource: AUDIENCE }, AUDIENCE],
      ['a registered resource', { audience: 'urn:registered' }, 'urn:registered'],
    ])('a request that names %s gets a token for it', async (_what, named, aud) => {
      const client = { ...GOOD, client_id: 'with-resource' };
      const response = await requestToken(service().url, { ...client, ...named });
      expect(response.status).toBe(200);
      expect(decodeJwt(String(response.json()['access_token']))).toMatchObject({ aud });
    });

    it.each([
      ['an audience that is not registered', 'audience=urn:other', 'invalid_target', "the resource 'urn:other'"],
      [
        'another resource beside it',
        'audience=urn:registered&resource=urn:other',
        'invalid_target',
        'audience and resource',
      ],
      ['an empty audience', 'audience=', 'invalid_request', 'audience is empty'],
      [
        'two audiences',
        'audience=urn:registered&audience=urn:registered',
        'invalid_request',
        'audience is in the body',
      ],
    ])('a request with %s is refused, and told by name', async (_what, named, error, description) => {
      const form = new URLSearchParams({ ...GOOD, client_id: 'with-resource' });
      const response = await requestToken(service().url, `${form}&${named}`);
      expect(response.status).toBe(400);
      expect(response.json()).toEqual({ error, error_description: expect.stringContaining(description) });
    });

    it('serves no example resource', async () => {
      const token = await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET);
      expect((await read(token, service().url)).json()).toEqual({ error: 'not_found' });
    });
  });

  describe('POST /oauth2/token: with TOKEN_AUDIENCE and the default profile', () => {
    const service = serviceForSuite({ environment: { TOKEN_AUDIENCE: AUDIENCE } });

    it('issues a token that differs only in its audience', async () => {
      const token = await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET);
      expect(Object.keys(decodeProtectedHeader(token)).sort()).toEqual(['alg', 'kid']);
      const claims = decodeJwt(token);
      expect(Object.keys(claims).sort()).toEqual(['aud', 'exp', 'iat', 'iss', 'jti', 'nbf', 'sub']);
      expect(claims).toMatchObject({ sub: CLIENT_ID, aud: AUDIENCE });
    });
  });

  describe.each<[string, Readonly<Record<string, string>>, number]>([
    ['TOKEN_SCOPE_CLAIM=true', { TOKEN_SCOPE_CLAIM: 'true' }, 390],
    ['TOKEN_PROFILE=rfc9068', { TOKEN_PROFILE: 'rfc9068', TOKEN_AUDIENCE: AUDIENCE }, 470],
  ])('POST /oauth2/token: a client with 1,500 scopes, with %s', (_name, environment, some) => {
    const scopes = Array.from({ length: 1_500 }, (_, number) => `scope-${String(number).padStart(3, '0')}`);
    const service = serviceForSuite({ environment, clients: [{ ...GOOD_CLIENT, scope: scopes.join(' ') }] });

    it('refuses a token that its own paths would refuse, and says what to do', async () => {
      for (const scope of [undefined, scopes.join(' '), scopes.slice(0, some + 80).join(' ')]) {
        const response = await requestToken(service().url, { ...GOOD, ...(scope !== undefined && { scope }) });
        expect(response.status).toBe(400);
        expect(response.json()).toEqual({
          error: 'invalid_scope',
          error_description:
            'a token with these scopes is longer than 7 KiB: ask for fewer of them with the parameter scope',
        });
        expect(logLineOf(service(), response)).toMatchObject({ reason: 'scope_too_long', client_id: CLIENT_ID });
      }
    });

    it(`issues a token of ${some} of them, which its own paths accept`, async () => {
      const scope = scopes.slice(0, some).join(' ');
      const token = await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET, { scope });
      const response = await send(service().url, LOCATION, { headers: { authorization: `Bearer ${token}` } });
      expect([response.status, token.length > 6_400]).toEqual([200, true]);
    });
  });

  describe('POST /oauth2/token: a client with 1,500 scopes, by default', () => {
    const scope = Array.from({ length: 1_500 }, (_, number) => `scope-${number}`).join(' ');
    const service = serviceForSuite({ clients: [{ ...GOOD_CLIENT, scope }] });

    it('issues a short token, since it contains no scopes', async () => {
      const token = await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET);
      expect(token.length).toBeLessThan(1_000);
    });
  });
});

describe('resource indicators', () => {
  const AUDIENCE = 'https://auth.example.com';
  const API = 'https://api.example.com';
  const FILES = 'https://files.example.com/v1';
  const RESOURCES = [API, FILES, AUDIENCE];
  const CLIENTS = [{ ...GOOD_CLIENT, resources: RESOURCES }, PLAIN_CLIENT];

  /** A token request of the client with the resources, or of the one without. */
  function ask({ url }: ServiceUnderTest, resources: readonly string[], client = GOOD_CLIENT.client_id) {
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: client });
    form.set('client_secret', client === GOOD_CLIENT.client_id ? GOOD_SECRET : 'plain-secret');
    for (const resource of resources) form.append('resource', resource);
    return requestToken(url, form.toString());
  }

  const tokenOf = (response: HttpResponse) => String(response.json()['access_token']);
  const audienceOf = (response: HttpResponse) => decodeJwt(tokenOf(response)).aud;
  const read = (service: ServiceUnderTest, token: string) =>
    send(service.url, '/v1/locations/NYC_USA', { headers: { authorization: `Bearer ${token}` } });

  describe('the parameter resource', () => {
    const service = serviceForSuite({ clients: CLIENTS });

    it('gives the token that resource as its audience, and changes nothing else of it', async () => {
      const response = await ask(service(), [API]);
      expect(response.json()).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 300 });
      const names = Object.keys(decodeJwt(tokenOf(response))).toSorted();
      expect(names).toEqual(['aud', 'exp', 'iat', 'iss', 'jti', 'nbf', 'sub']);
      expect(audienceOf(response)).toBe(API);
    });

    it('gives the registered spelling if the request has a slash behind the origin', async () => {
      expect(audienceOf(await ask(service(), [`${API}/`]))).toBe(API);
    });

    it('gives an array if the request names several, each once', async () => {
      expect(audienceOf(await ask(service(), [FILES, API, `${API}/`, FILES]))).toEqual([FILES, API]);
    });

    it('leaves the audience as it is if the request names none, or only empty ones', async () => {
      expect(audienceOf(await ask(service(), []))).toBe(GOOD_CLIENT.client_id);
      expect(audienceOf(await ask(service(), ['', '']))).toBe(GOOD_CLIENT.client_id);
    });

    it.each([
      ['that is not registered', ['https://other.example.com']],
      ['that is not registered beside one that is', [API, 'https://other.example.com']],
      ['below a registered one', [`${API}/v1`]],
      ['with a slash behind its path', [`${FILES}/`]],
      ['in other case', ['https://API.example.com']],
    ])('refuses a resource %s', async (_what, resources) => {
      const response = await ask(service(), resources);
      expect([response.status, response.json()]).toEqual([
        400,
        {
          error: 'invalid_target',
          error_description: `the client is not registered for the resource '${resources.at(-1)}'`,
        },
      ]);
      expect(logLineOf(service(), response)).toMatchObject({
        reason: 'resource_not_registered',
        client_id: 'good-client',
      });
    });

    it.each(['api', '/v1', `${API}#fragment`, `${API}#`, `${API}/ä`])(
      'refuses the malformed resource %s',
      async (text) => {
        const response = await ask(service(), [text]);
        expect([response.status, response.json()]).toEqual([
          400,
          {
            error: 'invalid_target',
            error_description: `resource must be an absolute URI without a fragment: '${text.replace('ä', '?')}' is none`,
          },
        ]);
        expect(logLineOf(service(), response)).toMatchObject({ reason: 'resource_malformed' });
      },
    );

    it('refuses every resource of a client that lists none', async () => {
      expect((await ask(service(), [API], PLAIN_CLIENT.client_id)).json()['error']).toBe('invalid_target');
    });

    it('does not open the example resource with a token for another resource', async () => {
      const response = await read(service(), tokenOf(await ask(service(), [API])));
      expect([response.status, response.text]).toEqual([401, '{"error":"invalid_token"}']);
      expect(logLineOf(service(), response)).toMatchObject({ reason: 'token_audience_foreign' });
      expect((await read(service(), tokenOf(await ask(service(), [API, FILES])))).status).toBe(401);
      expect((await read(service(), tokenOf(await ask(service(), [])))).status).toBe(200);
    });
  });

  describe('the parameter resource, with TOKEN_AUDIENCE', () => {
    const service = serviceForSuite({
      clients: CLIENTS,
      environment: { TOKEN_PROFILE: 'rfc9068', TOKEN_AUDIENCE: AUDIENCE },
    });

    it('replaces the audience, and without it the audience is that of the deployment', async () => {
      expect(audienceOf(await ask(service(), [API]))).toBe(API);
      expect(audienceOf(await ask(service(), []))).toBe(AUDIENCE);
    });

    it('opens the paths of the service only to a token that is for them too', async () => {
      expect((await read(service(), tokenOf(await ask(service(), [API])))).status).toBe(401);
      expect((await read(service(), tokenOf(await ask(service(), [API, AUDIENCE])))).status).toBe(200);
      expect((await read(service(), tokenOf(await ask(service(), [])))).status).toBe(200);
    });
  });
});

describe('published documents', () => {
  describe('the metadata', () => {
    it.each([
      ['https://issuer.example', '/.well-known/oauth-authorization-server'],
      ['https://issuer.example/', '/.well-known/oauth-authorization-server'],
      ['https://issuer.example/tenant/1', '/.well-known/oauth-authorization-server/tenant/1'],
      ['https://issuer.example/:a/*b', '/.well-known/oauth-authorization-server/:a/*b'],
      ['urn:example:issuer', '/.well-known/oauth-authorization-server'],
      ['no URL at all', '/.well-known/oauth-authorization-server'],
    ])('has the path of RFC 8414 section 3 for the issuer %s', async (issuer, path) => {
      await using service = await startServiceUnderTest({
        environment: { TOKEN_ISSUER: issuer, PUBLIC_METADATA: 'true' },
      });
      const response = await send(service.url, path);
      expect(response.status).toBe(200);
      expect(response.json()['issuer']).toBe(issuer);
      expect((await send(service.url, `${path}x`)).status).toBe(404);
    });
  });

  describe('METADATA_SCOPES', () => {
    it('are named in the metadata, in their order', async () => {
      const environment = { METADATA_SCOPES: 'read write', PUBLIC_METADATA: 'true' };
      await using service = await startServiceUnderTest({ environment });
      const response = await send(service.url, '/.well-known/oauth-authorization-server');
      expect(response.json()['scopes_supported']).toEqual(['read', 'write']);
    });
  });

  describe('documents that caches may store', () => {
    const open = serviceForSuite({ environment: { PUBLIC_METADATA: 'true', KEY_PUBLICATION_SECONDS: '100' } });

    it('the key set: for 30 s', async () => {
      const response = await send(open().url, '/oauth2/jwks');
      expect(response.headers['cache-control']).toBe('public, max-age=30');
      expect(response.headers['pragma']).toBeUndefined();
      expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    });

    it.each(['/oauth2/jwks', '/.well-known/oauth-authorization-server'])(
      '%s: is not sent again to a client that has it',
      async (path) => {
        const keys = async () => (await send(open().url, '/oauth2/jwks')).json()['keys'];
        const hasNext = async () => Object(await keys()).length === 2;
        await until(hasNext, 'the next key is there');
        const first = await send(open().url, path);
        const etag = String(first.headers['etag']);
        expect(etag).toMatch(/^"[\w-]{43}"$/);
        const again = await send(open().url, path, { headers: { 'if-none-match': etag } });
        expect(again.status).toBe(304);
        expect(again.text).toBe('');
        expect(again.headers['etag']).toBe(etag);
        const other = await send(open().url, path, { headers: { 'if-none-match': '"other"' } });
        expect(other.status).toBe(200);
        expect(other.text).toBe(first.text);
      },
    );

    it('only the cache of the bearer, if they require a token', async () => {
      await using closed = await startServiceUnderTest();
      const token = await getAccessToken(closed.url, 'plain-client', 'plain-secret');
      const response = await send(closed.url, '/oauth2/jwks', { headers: { authorization: `Bearer ${token}` } });
      expect(response.headers['cache-control']).toBe('private, max-age=30');
    });
  });

  describe('METADATA_COMPATIBILITY=mcp', () => {
    const METADATA = '/.well-known/oauth-authorization-server';
    const mcp = serviceForSuite({
      environment: { METADATA_COMPATIBILITY: 'mcp', PUBLIC_METADATA: 'true', BASE_URL: 'https://auth.test/base' },
    });
    const plain = serviceForSuite({ environment: { PUBLIC_METADATA: 'true', BASE_URL: 'https://auth.test/base' } });

    it('adds three fields to the metadata, and changes no other', async () => {
      const { response_types_supported: none, ...others } = (await send(plain().url, `${METADATA}/base`)).json();
      expect(none).toEqual([]);
      expect((await send(mcp().url, `${METADATA}/base`)).json()).toEqual({
        ...others,
        authorization_endpoint: 'https://auth.test/base/oauth2/authorize',
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
      });
    });

    it('lists no scopes unless they are set', async () => {
      expect((await send(mcp().url, `${METADATA}/base`)).json()).not.toHaveProperty('scopes_supported');
    });

    it('serves the metadata with a slash behind its path too', async () => {
      const [exact, withSlash] = [
        await send(mcp().url, `${METADATA}/base`),
        await send(mcp().url, `${METADATA}/base/`),
      ];
      expect([withSlash.status, withSlash.text]).toEqual([200, exact.text]);
      for (const path of [`${METADATA}/base//`, `${METADATA}/`, '/.well-known/openid-configuration']) {
        expect((await send(mcp().url, path)).status).toBe(404);
      }
    });

    it.each(['GET', 'POST'])('names an authorization endpoint, which refuses every request', async (method) => {
      const query = '?response_type=code&client_id=good-client&redirect_uri=https%3A%2F%2Fevil.test&state=x';
      for (const path of ['/oauth2/authorize', `/oauth2/authorize${query}`]) {
        const response = await send(mcp().url, path, { method });
        expect([response.status, response.json()]).toEqual([
          400,
          { error: 'unsupported_response_type', error_description: expect.stringContaining('client_credentials') },
        ]);
        expect(response.headers['location']).toBeUndefined();
        expect(response.text).not.toContain('evil');
      }
    });

    it('answers HEAD there without a body, and other methods with 405', async () => {
      expect(await send(mcp().url, '/oauth2/authorize', { method: 'HEAD' })).toMatchObject({ status: 400, text: '' });
      const refused = await send(mcp().url, '/oauth2/authorize', { method: 'PUT' });
      expect([refused.status, refused.headers['allow']]).toEqual([405, 'GET, HEAD, POST']);
    });

    it('is off by default: the endpoint is a path like any other, which requires a token', async () => {
      expect((await send(plain().url, '/oauth2/authorize')).status).toBe(401);
      expect((await send(plain().url, `${METADATA}/base/`)).status).toBe(404);
    });
  });

  describe('METADATA_COMPATIBILITY=oidc', () => {
    const METADATA = '/.well-known/oauth-authorization-server';
    const OPENID = '/.well-known/openid-configuration';
    const start = (environment: Readonly<Record<string, string>>) =>
      startServiceUnderTest({ environment: { PUBLIC_METADATA: 'true', ...environment } });

    it.each(['oidc', 'mcp,oidc'])('serves a document that names no user and no ID token beside %s', async (value) => {
      await using service = await start({ METADATA_COMPATIBILITY: value });
      const oauth = (await send(service.url, METADATA)).json();
      const openid = await send(service.url, OPENID);
      expect(openid.json()).toEqual({
        ...oauth,
        authorization_endpoint: `${ISSUER}/oauth2/authorize`,
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      });
      expect(openid.json()).toMatchObject({
        response_types_supported: value === 'oidc' ? [] : ['code'],
        grant_types_supported: ['client_credentials'],
      });
      expect(openid.headers).toMatchObject({ 'cache-control': 'public, max-age=3600', etag: expect.any(String) });
      expect((await send(service.url, '/oauth2/authorize')).json()['error']).toBe('unsupported_response_type');
    });

    it('names the algorithm of tokens beside RS256, which it has to name', async () => {
      await using service = await start({ METADATA_COMPATIBILITY: 'oidc', TOKEN_SIGNING_ALG: 'ES256' });
      const { id_token_signing_alg_values_supported: algorithms } = (await send(service.url, OPENID)).json();
      expect(algorithms).toEqual(['RS256', 'ES256']);
    });

    it('leaves the metadata of RFC 8414 as it is', async () => {
      await using plain = await start({});
      await using service = await start({ METADATA_COMPATIBILITY: 'oidc' });
      expect((await send(service.url, METADATA)).text).toBe((await send(plain.url, METADATA)).text);
      expect((await send(plain.url, OPENID)).status).toBe(404);
    });

    it.each([
      ['https://issuer.example/', 'https://issuer.example', ''],
      ['https://issuer.example/tenant', 'https://issuer.example', '/tenant'],
      // A proxy may remove the path of the base URL, as for the token endpoint.
      ['https://issuer.example/base', 'https://issuer.example/base', ''],
      ['https://issuer.example/base/tenant', 'https://issuer.example/base', '/tenant'],
      ['https://issuer.example/based', 'https://issuer.example/base', '/based'],
      ['urn:example:issuer', 'https://issuer.example', ''],
    ])(
      'has the path of Discovery 1.0 section 4 for the issuer %s and the base URL %s',
      async (issuer, baseUrl, path) => {
        await using service = await start({ METADATA_COMPATIBILITY: 'oidc', TOKEN_ISSUER: issuer, BASE_URL: baseUrl });
        expect((await send(service.url, `${path}${OPENID}`)).json()['issuer']).toBe(issuer);
        // RFC 8414 section 5 has it in front of the path of the issuer.
        const { pathname } = new URL(issuer);
        const inFront = `${OPENID}${pathname.startsWith('/') ? pathname.replace(/\/$/, '') : ''}`;
        expect((await send(service.url, inFront)).json()['issuer']).toBe(issuer);
      },
    );

    it('requires a token where the metadata does', async () => {
      await using service = await start({ METADATA_COMPATIBILITY: 'oidc', PUBLIC_METADATA: 'false' });
      expect((await send(service.url, OPENID)).status).toBe(401);
      const authorization = `Bearer ${await getAccessToken(service.url, 'plain-client', 'plain-secret')}`;
      const response = await send(service.url, OPENID, { headers: { authorization } });
      expect([response.status, response.headers['cache-control']]).toEqual([200, 'private, max-age=3600']);
    });
  });

  describe('an unknown path below /.well-known/', () => {
    it.each([
      '/.well-known/',
      '/.well-known/openid-configuration',
      '/.well-known/x?y',
      '/.well-known/oauth-authorization-server/',
    ])('is 404 with public metadata, and requires a token without: %s', async (path) => {
      await using open = await startServiceUnderTest({ environment: { PUBLIC_METADATA: 'true' } });
      await using closed = await startServiceUnderTest();
      for (const method of ['GET', 'POST', 'DELETE']) {
        const response = await send(open.url, path, { method });
        expect([response.status, response.text]).toEqual([404, '{"error":"not_found"}']);
        expect((await send(closed.url, path, { method })).status).toBe(401);
      }
      for (const other of [
        '/.well-known',
        '/.Well-Known/x',
        '/%2ewell-known/x',
        '//.well-known/x',
        '/x/.well-known/x',
      ]) {
        expect((await send(open.url, other)).status).toBe(401);
      }
    });
  });
});

describe('the keys that sign', () => {
  /** The ids of the published keys. */
  async function publishedKids(url: string): Promise<readonly unknown[]> {
    const { keys } = (await send(url, '/oauth2/jwks')).json() as { keys: readonly { kid: string }[] };
    return keys.map(({ kid }) => kid);
  }

  it('publishes the next key a day before the rotation, so that verifiers that cache key sets for hours know it', async () => {
    const day = { KEY_ROTATION_SECONDS: '86400', KEY_PUBLICATION_SECONDS: '1', PUBLIC_METADATA: 'true' };
    await using service = await startServiceUnderTest({ environment: day });
    const kidOfToken = async () =>
      decodeProtectedHeader(await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET)).kid;
    const first = await kidOfToken();
    await until(async () => (await publishedKids(service.url)).length === 2, 'the next key is published');
    expect(await publishedKids(service.url)).toContain(first);
    expect(await kidOfToken()).toBe(first);
  });
});

describe('signing threads', () => {
  const FORM = { grant_type: 'client_credentials', client_id: PLAIN_CLIENT.client_id, client_secret: 'plain-secret' };
  const breaking = () => {
    throw new Error('it has ended');
  };

  const service = serviceForSuite({
    override: (container) => container.registerInstance(PARTS.signingThreads, new SigningThreads(1, breaking)),
  });

  it('answers 503 with Retry-After if the thread that signs the token ends, and says so in the log', async () => {
    const response = await requestToken(service().url, FORM);
    expect(response.status).toBe(503);
    expect(response.json()).toEqual({ error: 'temporarily_unavailable' });
    expect(response.headers['retry-after']).toMatch(/^\d+$/);
    expect(logLineOf(service(), response)).toMatchObject({
      reason: 'dependency_unavailable',
      fault: { message: 'signing threads unavailable', cause: { message: 'a thread has ended' } },
    });
  });
});
