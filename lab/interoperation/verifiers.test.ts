import { createPublicKey, type KeyObject } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createVerifier } from 'fast-jwt';
import { createLocalJWKSet, createRemoteJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import jsonwebtoken from 'jsonwebtoken';
import { getAccessToken, send } from '../../tests/support/http.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  ISSUER,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../tests/support/running-service.ts';
import { CLAIMS, CLIENT_WITH_CLAIMS } from './client-with-claims.ts';

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const AUDIENCE = GOOD_CLIENT.client_id;

let service: ServiceUnderTest;
let token: string;
let foreignToken: string;
let keySet: JSONWebKeySet;
let publicKey: KeyObject;

beforeAll(async () => {
  service = await startServiceUnderTest({ environment: { PUBLIC_METADATA: 'true' }, clients: [CLIENT_WITH_CLAIMS] });
  token = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
  const { keys }: JSONWebKeySet = JSON.parse((await send(service.url, '/oauth2/jwks')).text);
  // The next key may be in the set.
  const { kid } = decodeProtectedHeader(token);
  keySet = { keys: keys.toSorted((one, other) => Number(other.kid === kid) - Number(one.kid === kid)) };
  publicKey = createPublicKey({ key: { ...keySet.keys[0] }, format: 'jwk' });

  await using another = await startServiceUnderTest();
  foreignToken = await getAccessToken(another.url, GOOD_CLIENT.client_id, GOOD_SECRET);
});

afterAll(() => service.stop());

/** All claims of the default profile and of the client, and no others. */
function expectDefaultClaims(claims: unknown): void {
  expect(claims).toEqual({
    ...CLAIMS,
    iss: ISSUER,
    sub: GOOD_CLIENT.client_id,
    aud: GOOD_CLIENT.client_id,
    iat: expect.any(Number),
    nbf: expect.any(Number),
    exp: expect.any(Number),
    jti: expect.stringMatching(UUID),
  });
  const { iat, nbf, exp } = claims as { iat: number; nbf: number; exp: number };
  expect(Number.isInteger(iat)).toBe(true);
  expect([nbf - iat, exp - iat]).toEqual([0, 300]);
}

describe('the published key set', () => {
  it('holds the key that the token names, with its public fields only', () => {
    const { kid } = decodeProtectedHeader(token);
    expect(keySet.keys[0]).toEqual({ kty: 'RSA', use: 'sig', alg: 'RS256', kid, n: expect.any(String), e: 'AQAB' });
  });
});

describe('a token', () => {
  it('has the header fields kid and alg, in that order, and no others', () => {
    const [head = ''] = token.split('.');
    const text = Buffer.from(head, 'base64url').toString();
    expect(text).toBe(`{"kid":"${keySet.keys[0]?.kid}","alg":"RS256"}`);
    expect(keySet.keys[0]?.kid).toMatch(UUID);
  });

  it('has its scopes in an array if the deployment turns the claim on, and no other new claim', async () => {
    await using scoped = await startServiceUnderTest({
      environment: {
        PUBLIC_METADATA: 'true',
        TOKEN_SCOPE_CLAIM: 'true',
        TOKEN_ISSUER: 'a name',
        TOKEN_LIFETIME_SECONDS: '600',
      },
    });
    const keys: JSONWebKeySet = JSON.parse((await send(scoped.url, '/oauth2/jwks')).text);
    const other = await getAccessToken(scoped.url, GOOD_CLIENT.client_id, GOOD_SECRET);
    const { payload } = await jwtVerify(other, createLocalJWKSet(keys), { issuer: 'a name', audience: AUDIENCE });
    const { scope, exp = 0, iat = 0, ...rest } = payload;
    expect(scope).toEqual(['read', 'write']);
    expect(exp - iat).toBe(600);
    expect(Object.keys(rest).sort()).toEqual(['aud', 'iss', 'jti', 'nbf', 'sub']);
  });
});

describe('jose', () => {
  const verify = (jwt: string, issuer = ISSUER, audience = AUDIENCE) =>
    jwtVerify(jwt, createRemoteJWKSet(new URL(`${service.url}/oauth2/jwks`)), {
      issuer,
      audience,
      algorithms: ['RS256'],
      requiredClaims: ['iss', 'sub', 'aud', 'iat', 'nbf', 'exp', 'jti'],
    });

  it('verifies a token with the URL of the key set', async () => {
    const { payload, protectedHeader } = await verify(token);
    expect(protectedHeader).toEqual({ kid: keySet.keys[0]?.kid, alg: 'RS256' });
    expectDefaultClaims(payload);
  });

  it('refuses a token from another instance', async () => {
    await expect(verify(foreignToken)).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' });
  });

  it('refuses a token for another issuer or audience', async () => {
    const failed = { code: 'ERR_JWT_CLAIM_VALIDATION_FAILED' };
    await expect(verify(token, `${ISSUER}/`)).rejects.toMatchObject({ ...failed, claim: 'iss' });
    await expect(verify(token, ISSUER, 'another-client')).rejects.toMatchObject({ ...failed, claim: 'aud' });
  });
});

describe('jsonwebtoken', () => {
  const verify = (jwt: string, issuer = ISSUER, audience = AUDIENCE) =>
    jsonwebtoken.verify(jwt, publicKey, { algorithms: ['RS256'], issuer, audience, complete: true });

  it('verifies a token', () => {
    const { header, payload } = verify(token);
    expect(header).toEqual({ kid: keySet.keys[0]?.kid, alg: 'RS256' });
    expectDefaultClaims(payload);
  });

  it('refuses a token from another instance', () => {
    expect(() => verify(foreignToken)).toThrow('invalid signature');
  });

  it('refuses a token for another issuer or audience', () => {
    expect(() => verify(token, `${ISSUER}/`)).toThrow('jwt issuer invalid');
    expect(() => verify(token, ISSUER, 'another-client')).toThrow('jwt audience invalid');
  });
});

describe('fast-jwt', () => {
  const verify = (jwt: string, allowedIss = ISSUER, allowedAud = AUDIENCE) =>
    createVerifier({
      key: publicKey.export({ type: 'spki', format: 'pem' }),
      algorithms: ['RS256'],
      allowedIss,
      allowedAud,
      complete: true,
    })(jwt);

  it('verifies a token', () => {
    const { header, payload } = verify(token);
    expect(header).toEqual({ kid: keySet.keys[0]?.kid, alg: 'RS256' });
    expectDefaultClaims(payload);
  });

  it('refuses a token from another instance', () => {
    expect(() => verify(foreignToken)).toThrow(expect.objectContaining({ code: 'FAST_JWT_INVALID_SIGNATURE' }));
  });

  it('refuses a token for another issuer or audience', () => {
    const refused = expect.objectContaining({ code: 'FAST_JWT_INVALID_CLAIM_VALUE' });
    expect(() => verify(token, `${ISSUER}/`)).toThrow(refused);
    expect(() => verify(token, ISSUER, 'another-client')).toThrow(refused);
  });
});
