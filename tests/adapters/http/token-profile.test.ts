import { beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { NodeCryptoTokenSigner } from '../../../adapters/jwt/node-crypto-token-signer.ts';
import { PARTS } from '../../../config/parts.ts';
import type { AccessTokenClaims, TokenType } from '../../../domain/access-token-claims.ts';
import { getAccessToken, requestToken, send } from '../../support/http.ts';
import { GOOD_CLIENT, GOOD_SECRET, ISSUER } from '../../support/running-service.ts';
import { logLineOf, serviceForSuite } from './service-for-suite.ts';

const LOCATION = '/v1/locations/NYC_USA';
const AUDIENCE = 'https://api.test';
const CLIENT_ID = GOOD_CLIENT.client_id;
const GOOD = { grant_type: 'client_credentials', client_id: CLIENT_ID, client_secret: GOOD_SECRET };

describe('POST /oauth2/token: with TOKEN_PROFILE=rfc9068 and TOKEN_AUDIENCE', () => {
  const service = serviceForSuite({
    environment: { TOKEN_PROFILE: 'rfc9068', TOKEN_AUDIENCE: AUDIENCE, TOKEN_SCOPE_CLAIM: 'true' },
  });
  let signer: NodeCryptoTokenSigner;
  beforeAll(() => {
    signer = new NodeCryptoTokenSigner(service().container.resolve(PARTS.keyProvider), 'at+jwt');
  });
  const read = (token: string) => send(service().url, LOCATION, { headers: { authorization: `Bearer ${token}` } });

  it('returns the same as by default: a Bearer token, its type and its lifetime, and nothing else', async () => {
    const answer = await requestToken(service().url, GOOD);
    expect(answer.json()).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 300 });
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
    expect((await read(await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET))).status).toBe(200);
  });

  it.each(['JWT', 'application/at+jwt', 'at+JWT', 'dpop+jwt'])(
    'refuses a token of its own key with the type %j',
    async (type) => {
      const claims = decodeJwt(await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET));
      const keys = service().container.resolve(PARTS.keyProvider);
      const other = await new NodeCryptoTokenSigner(keys, type as TokenType).sign(
        claims as unknown as AccessTokenClaims,
      );
      expect((await read(other)).text).toBe('{"error":"invalid_token"}');
    },
  );

  it('accepts a token of its own key without a type, as it was issued in the default profile', async () => {
    const claims = decodeJwt(await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET));
    const untyped = new NodeCryptoTokenSigner(service().container.resolve(PARTS.keyProvider));
    expect((await read(await untyped.sign(claims as unknown as AccessTokenClaims))).status).toBe(200);
  });

  it('refuses a token of its own key for another audience', async () => {
    const token = await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET);
    const claims = decodeJwt(token) as unknown as AccessTokenClaims;
    expect((await read(await signer.sign(claims))).status).toBe(200);
    for (const aud of [CLIENT_ID, `${AUDIENCE}/`, 'https://other.test']) {
      const answer = await read(await signer.sign({ ...claims, aud }));
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
      expect(answer.text).toBe('{"error":"invalid_token"}');
      expect(logLineOf(service(), answer)).toMatchObject({ reason: 'token_audience_foreign', client_id: CLIENT_ID });
    }
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
      const answer = await requestToken(service().url, { ...GOOD, ...(scope !== undefined && { scope }) });
      expect(answer.status).toBe(400);
      expect(answer.json()).toEqual({
        error: 'invalid_scope',
        error_description:
          'a token with these scopes is longer than 7 KiB: ask for fewer of them with the parameter scope',
      });
      expect(logLineOf(service(), answer)).toMatchObject({ reason: 'scope_too_long', client_id: CLIENT_ID });
    }
  });

  it(`issues a token of ${some} of them, which its own paths accept`, async () => {
    const scope = scopes.slice(0, some).join(' ');
    const token = await getAccessToken(service().url, CLIENT_ID, GOOD_SECRET, { scope });
    const answer = await send(service().url, LOCATION, { headers: { authorization: `Bearer ${token}` } });
    expect([answer.status, token.length > 6_400]).toEqual([200, true]);
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
