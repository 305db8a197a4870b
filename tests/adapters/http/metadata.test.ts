import { describe, expect, it } from '@jest/globals';
import { getAccessToken, send } from '../../support/http.ts';
import { startServiceUnderTest } from '../../support/running-service.ts';
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
    expect((await send(service.url, `${path}x`)).status).toBe(401);
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

  it('the key set: for half of the time between publishing a key and signing with it', async () => {
    const answer = await send(open().url, '/oauth2/jwks');
    expect(answer.headers['cache-control']).toBe('public, max-age=50');
    expect(answer.headers['pragma']).toBeUndefined();
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it.each(['/oauth2/jwks', '/.well-known/oauth-authorization-server'])(
    '%s: is not sent again to a client that has it',
    async (path) => {
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
    for (const path of [`${METADATA}/base//`, `${METADATA}/`, METADATA, '/.well-known/openid-configuration/base']) {
      expect((await send(mcp().url, path)).status).toBe(401);
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
    expect((await send(plain().url, `${METADATA}/base/`)).status).toBe(401);
  });
});
