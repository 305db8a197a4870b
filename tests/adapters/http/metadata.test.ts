import { describe, expect, it } from '@jest/globals';
import { getAccessToken, send } from '../../support/http.ts';
import { ISSUER, startServiceUnderTest } from '../../support/running-service.ts';
import { until } from '../../support/until.ts';
import { serviceForSuite } from './service-for-suite.ts';

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
    const answer = await send(service.url, path);
    expect(answer.status).toBe(200);
    expect(answer.json()['issuer']).toBe(issuer);
    expect((await send(service.url, `${path}x`)).status).toBe(404);
  });
});

describe('METADATA_SCOPES', () => {
  it('are named in the metadata, in their order', async () => {
    const environment = { METADATA_SCOPES: 'read write', PUBLIC_METADATA: 'true' };
    await using service = await startServiceUnderTest({ environment });
    const answer = await send(service.url, '/.well-known/oauth-authorization-server');
    expect(answer.json()['scopes_supported']).toEqual(['read', 'write']);
  });
});

describe('documents that caches may store', () => {
  const open = serviceForSuite({ environment: { PUBLIC_METADATA: 'true', KEY_PUBLICATION_SECONDS: '100' } });

  it('the key set: for 30 s', async () => {
    const answer = await send(open().url, '/oauth2/jwks');
    expect(answer.headers['cache-control']).toBe('public, max-age=30');
    expect(answer.headers['pragma']).toBeUndefined();
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it.each(['/oauth2/jwks', '/.well-known/oauth-authorization-server'])(
    '%s: is not sent again to a client that has it',
    async (path) => {
      await until(
        async () => (await send(open().url, '/oauth2/jwks')).text.split('kid').length === 3,
        'the next key is there',
      );
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
    const answer = await send(closed.url, '/oauth2/jwks', { headers: { authorization: `Bearer ${token}` } });
    expect(answer.headers['cache-control']).toBe('private, max-age=30');
  });
});

describe('METADATA_COMPATIBILITY=mcp', () => {
  const METADATA = '/.well-known/oauth-authorization-server';
  const mcp = serviceForSuite({
    environment: { METADATA_COMPATIBILITY: 'mcp', PUBLIC_METADATA: 'true', BASE_URL: 'https://auth.test/base' },
  });
  const plain = serviceForSuite({ environment: { PUBLIC_METADATA: 'true', BASE_URL: 'https://auth.test/base' } });

  it('adds three members to the metadata, and changes no other', async () => {
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
    const [exact, withSlash] = [await send(mcp().url, `${METADATA}/base`), await send(mcp().url, `${METADATA}/base/`)];
    expect([withSlash.status, withSlash.text]).toEqual([200, exact.text]);
    for (const path of [`${METADATA}/base//`, `${METADATA}/`, METADATA, '/.well-known/openid-configuration']) {
      expect((await send(mcp().url, path)).status).toBe(404);
    }
  });

  it.each(['GET', 'POST'])('names an authorization endpoint, which refuses every request', async (method) => {
    const query = '?response_type=code&client_id=good-client&redirect_uri=https%3A%2F%2Fevil.test&state=x';
    for (const path of ['/oauth2/authorize', `/oauth2/authorize${query}`]) {
      const answer = await send(mcp().url, path, { method });
      expect([answer.status, answer.json()]).toEqual([
        400,
        { error: 'unsupported_response_type', error_description: expect.stringContaining('client_credentials') },
      ]);
      expect(answer.headers['location']).toBeUndefined();
      expect(answer.text).not.toContain('evil');
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
    // The proxy removes the path of the base URL, as for the token endpoint.
    ['https://issuer.example/base', 'https://issuer.example/base', ''],
    ['https://issuer.example/base/tenant', 'https://issuer.example/base', '/tenant'],
    ['https://issuer.example/based', 'https://issuer.example/base', '/based'],
    ['urn:example:issuer', 'https://issuer.example', ''],
  ])('has the path of Discovery 1.0 section 4 for the issuer %s and the base URL %s', async (issuer, baseUrl, path) => {
    await using service = await start({ METADATA_COMPATIBILITY: 'oidc', TOKEN_ISSUER: issuer, BASE_URL: baseUrl });
    expect((await send(service.url, `${path}${OPENID}`)).json()['issuer']).toBe(issuer);
  });

  it('requires a token where the metadata does', async () => {
    await using service = await start({ METADATA_COMPATIBILITY: 'oidc', PUBLIC_METADATA: 'false' });
    expect((await send(service.url, OPENID)).status).toBe(401);
    const authorization = `Bearer ${await getAccessToken(service.url, 'plain-client', 'plain-secret')}`;
    const answer = await send(service.url, OPENID, { headers: { authorization } });
    expect([answer.status, answer.headers['cache-control']]).toEqual([200, 'private, max-age=3600']);
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
      const answer = await send(open.url, path, { method });
      expect([answer.status, answer.text]).toEqual([404, '{"error":"not_found"}']);
      expect((await send(closed.url, path, { method })).status).toBe(401);
    }
    for (const other of ['/.well-known', '/.Well-Known/x', '/%2ewell-known/x', '//.well-known/x', '/x/.well-known/x']) {
      expect((await send(open.url, other)).status).toBe(401);
    }
  });
});
