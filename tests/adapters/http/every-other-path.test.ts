import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Route } from '../../../adapters/http/server/koa-application.ts';
import { PARTS } from '../../../config/parts.ts';
import { Scope } from '../../../domain/scope.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { getAccessToken, send } from '../../support/http.ts';
import { GOOD_SECRET } from '../../support/running-service.ts';
import { logLineOf, serviceForSuite } from './service-for-suite.ts';

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
    // Each looks like the token endpoint to a careless matcher.
    '/oauth2/token/',
    '/OAUTH2/TOKEN',
    '/oauth2/Token',
    '/oauth2//token',
    '//oauth2/token',
    '/oauth2/token/x',
    '/oauth2/./token',
    '/oauth2/x/../token',
    '/%6fauth2/token',
    '/oauth2%2ftoken',
    '/oauth2/token;x=1',
    '/oauth2/token%00',
    '/oauth2/token.json',
    '/.',
    '/%',
    '/%zz',
    '*',
  ];

  it.each(paths)('requires a token first: %s', async (path) => {
    for (const method of ['GET', 'POST']) {
      const answer = await send(service().url, path, { method });
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toBe('Bearer');
      expect(answer.text).toBe('{"error":"unauthorized"}');
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(logLineOf(service(), answer)).toMatchObject({ status: 401, reason: 'token_missing' });
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
  ])('treats %s as no token', async (_name, authorization) => {
    const answer = await send(service().url, LOCATION, { headers: { authorization } });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(answer.text).toBe('{"error":"unauthorized"}');
  });

  it.each([
    ['two Authorization headers', ['Bearer a', 'Bearer b'], 'authorization_repeated'],
    ['an empty Authorization header', '', 'authorization_malformed'],
    ['Bearer without a token', 'Bearer', 'authorization_malformed'],
    ['Bearer with two tokens', 'Bearer a b', 'authorization_malformed'],
    ['Bearer with characters that no token has', 'Bearer a"b', 'authorization_malformed'],
    ['a header without a scheme', '"x"', 'authorization_malformed'],
  ])('refuses %s as malformed', async (_name, authorization, reason) => {
    const answer = await send(service().url, LOCATION, { headers: { authorization } });
    expect(answer.status).toBe(400);
    expect(answer.json()['error']).toBe('invalid_request');
    expect(answer.headers['www-authenticate']).toBe('Bearer error="invalid_request"');
    expect(logLineOf(service(), answer)).toMatchObject({ reason });
  });

  it('refuses two Authorization headers even if the first is valid', async () => {
    const answer = await send(service().url, LOCATION, { headers: { authorization: [`Bearer ${token}`, 'Bearer x'] } });
    expect(answer.status).toBe(400);
  });

  it.each(['Bearer x', 'Bearer a.b.c', 'Bearer e30.e30.e30', 'Bearer ..'])(
    'refuses a token that this service did not issue: %s',
    async (authorization) => {
      const answer = await send(service().url, LOCATION, { headers: { authorization } });
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
      expect(answer.text).toBe('{"error":"invalid_token"}');
    },
  );

  it('does not read a token from the query string, the body or a cookie', async () => {
    const answer = await send(service().url, `${LOCATION}?access_token=${token}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: `access_token=${token}` },
      body: `access_token=${token}`,
    });
    expect(answer.text).toBe('{"error":"unauthorized"}');
  });

  it('valid token, known code: returns the location in the declared order and logs the client of the token', async () => {
    const answer = await send(service().url, LOCATION, { headers: bearer() });
    expect(answer.status).toBe(200);
    expect(answer.text).toBe(
      '{"code":"NYC_USA","city_name":"New York City","region_name":"New York","country_code":"US","country_name":"United States of America","enabled":true}',
    );
    expect(logLineOf(service(), answer)).toMatchObject({ route: '/v1/locations/:code', client_id: 'good-client' });
  });

  it('accepts the scheme in any case (RFC 9110 section 11.1)', async () => {
    const answer = await send(service().url, LOCATION, { headers: { authorization: `bEARER ${token}` } });
    expect(answer.status).toBe(200);
  });

  it('answers HEAD as GET without a body', async () => {
    const answer = await send(service().url, LOCATION, { method: 'HEAD', headers: bearer() });
    expect(answer.status).toBe(200);
    expect(answer.text).toBe('');
    expect(Number(answer.headers['content-length'])).toBeGreaterThan(0);
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
    const answer = await send(service().url, path, { headers: bearer() });
    expect(answer.status).toBe(404);
    expect(answer.text).toBe('{"error":"not_found"}');
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('valid token, wrong method on a known route: %s', async (method) => {
    const answer = await send(service().url, LOCATION, { method, headers: bearer() });
    expect(answer.status).toBe(405);
    expect(answer.headers['allow']).toBe('GET, HEAD');
    expect(answer.json()['error']).toBe('invalid_request');
  });

  it('returns the key set and the metadata for a valid token', async () => {
    const keySet = await send(service().url, '/oauth2/jwks', { headers: bearer() });
    const key = { kty: 'RSA', use: 'sig', alg: 'RS256', kid: expect.any(String), n: expect.any(String), e: 'AQAB' };
    const { keys } = keySet.json() as { readonly keys: readonly unknown[] };
    // The next one is there as soon as it is made.
    expect(keys).toEqual(keys.length === 1 ? [key] : [key, key]);
    const metadata = await send(service().url, '/.well-known/oauth-authorization-server', { headers: bearer() });
    expect(metadata.json()).toMatchObject({ issuer: 'http://issuer.test', jwks_uri: 'http://issuer.test/oauth2/jwks' });
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
    const answer = await send(service().url, LOCATION, { headers });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
    expect(answer.text).toBe('{"error":"invalid_token"}');
    expect(logLineOf(service(), answer)).toMatchObject({ reason: 'token_expired' });
  });

  it('token not yet valid: refuses it before its nbf', async () => {
    const own = await getAccessToken(service().url, 'good-client', GOOD_SECRET);
    clock.advance(-1);
    const answer = await send(service().url, LOCATION, { headers: { authorization: `Bearer ${own}` } });
    expect(answer.text).toBe('{"error":"invalid_token"}');
    expect(logLineOf(service(), answer)).toMatchObject({ reason: 'token_not_yet_valid' });
  });
});

describe('valid token, route that requires a scope', () => {
  const service = serviceForSuite({
    environment: { TOKEN_SCOPE_CLAIM: 'true' },
    addedPaths: ['/both', '/write'],
    opened: (container) => {
      const scope = Scope.parse('write admin');
      if (!scope.ok) throw new Error('no scope');
      const writeScope = Scope.parse('write');
      if (!writeScope.ok) throw new Error('no scope');
      const methods: Route['methods'] = {
        GET: async (ctx) => {
          ctx.body = { ok: true };
        },
      };
      container.registerInstance(PARTS.routes, [
        ...container.resolve(PARTS.routes),
        { path: '/both', access: { kind: 'bearer', scope: scope.value }, methods },
        { path: '/write', access: { kind: 'bearer', scope: writeScope.value }, methods },
      ]);
    },
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
    const answer = await send(service().url, path, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(403);
    expect(answer.headers['www-authenticate']).toBe(`Bearer error="insufficient_scope", scope="${required}"`);
    expect(answer.text).toBe('{"error":"insufficient_scope"}');
    expect(logLineOf(service(), answer)).toMatchObject({ reason: 'scope_insufficient', client_id: 'good-client' });
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

  it('EXAMPLE_RESOURCE=false: the example resource does not exist', async () => {
    const token = await getAccessToken(open().url, 'good-client', GOOD_SECRET);
    const answer = await send(open().url, LOCATION, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(404);
    expect(logLineOf(open(), answer)).toMatchObject({ reason: 'route_unknown', route: 'none' });
  });

  it('LOCATION_FIELD_ORDER=alphabetical: the fields are in that order', async () => {
    const token = await getAccessToken(alphabetical().url, 'good-client', GOOD_SECRET);
    const answer = await send(alphabetical().url, '/v1/locations/DELHI_IN', {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(answer.text).toBe(
      '{"city_name":"New Delhi","code":"DELHI_IN","country_code":"IN","country_name":"India","enabled":true,"region_name":"Delhi"}',
    );
  });
});
