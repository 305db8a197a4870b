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
