import { createServer, type RequestListener } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { JwtVerifier } from 'aws-jwt-verify';
import { type AuthOptions, auth } from 'express-oauth2-jwt-bearer';
import type { JSONWebKeySet } from 'jose';
import { allowInsecureRequests, type JWTAccessTokenClaims, validateJwtAccessToken } from 'oauth4webapi';
import { getAccessToken, type HttpResponse, send } from '../../tests/support/http.ts';
import { listenOnLoopback } from '../../tests/support/loopback-server.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  ISSUER,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../tests/support/running-service.ts';
import { CLAIMS, CLIENT_WITH_CLAIMS } from './client-with-claims.ts';

const AUDIENCE = 'https://api.test';
const CLIENT_ID = GOOD_CLIENT.client_id;

/** A service, one of its tokens, and its key set. */
interface Issuer {
  readonly service: ServiceUnderTest;
  readonly token: string;
  readonly keySet: JSONWebKeySet;
  readonly jwksUri: string;
}

async function startIssuer(environment: Readonly<Record<string, string>>): Promise<Issuer> {
  const settings = { PUBLIC_METADATA: 'true', ...environment };
  const service = await startServiceUnderTest({ environment: settings, clients: [CLIENT_WITH_CLAIMS] });
  return {
    service,
    token: await getAccessToken(service.url, CLIENT_ID, GOOD_SECRET),
    keySet: JSON.parse((await send(service.url, '/oauth2/jwks')).text),
    jwksUri: `${service.url}/oauth2/jwks`,
  };
}

/** RFC 9068 profile and our audience; RFC 9068 profile and another audience; default profile and our audience. */
let strict: Issuer;
let elsewhere: Issuer;
let plain: Issuer;

beforeAll(async () => {
  [strict, elsewhere, plain] = await Promise.all([
    startIssuer({ TOKEN_PROFILE: 'rfc9068', TOKEN_AUDIENCE: AUDIENCE }),
    startIssuer({ TOKEN_PROFILE: 'rfc9068', TOKEN_AUDIENCE: 'https://other.test' }),
    startIssuer({ TOKEN_AUDIENCE: AUDIENCE, TOKEN_SCOPE_CLAIM: 'true' }),
  ]);
});

afterAll(() => Promise.all([strict, elsewhere, plain].map(({ service }) => service.stop())));

/** All claims of RFC 9068 section 2.2 and of the client, nbf, and no others. */
function expectProfileClaims(claims: unknown): void {
  expect(claims).toEqual({
    ...CLAIMS,
    iss: ISSUER,
    sub: CLIENT_ID,
    aud: AUDIENCE,
    client_id: CLIENT_ID,
    scope: 'read write',
    iat: expect.any(Number),
    nbf: expect.any(Number),
    exp: expect.any(Number),
    jti: expect.any(String),
  });
}

describe('aws-jwt-verify', () => {
  // It fetches over https only, so it gets the key set from its cache.
  const verify = async ({ token, keySet, jwksUri }: Issuer, scope?: string) => {
    const verifier = JwtVerifier.create({ issuer: ISSUER, audience: AUDIENCE, jwksUri });
    verifier.cacheJwks(JSON.parse(JSON.stringify(keySet)));
    return verifier.verify(token, scope === undefined ? {} : { scope });
  };

  it('verifies a token of the RFC 9068 profile', async () => {
    expectProfileClaims(await verify(strict));
  });

  it('finds a scope that the token holds, and refuses one that it does not hold', async () => {
    expectProfileClaims(await verify(strict, 'write'));
    await expect(verify(strict, 'admin')).rejects.toThrow('Scope');
  });

  it('refuses a token of the default profile with a scope claim', async () => {
    await expect(verify(plain)).rejects.toThrow('JWT payload scope claim is not a string');
  });

  it('refuses a token for another audience', async () => {
    await expect(verify(elsewhere)).rejects.toThrow('Audience not allowed');
  });
});

describe('express-oauth2-jwt-bearer, strict', () => {
  /** The response of a resource behind the middleware to a token. */
  async function ask({ token, jwksUri }: Issuer, options: AuthOptions = {}): Promise<HttpResponse> {
    const handler = auth({ issuer: ISSUER, audience: AUDIENCE, jwksUri, strict: true, ...options });
    await using server = await listenOnLoopback(createServer(onNodeHttp(handler)));
    return await send(server.url, '/', { headers: { authorization: `Bearer ${token}` } });
  }

  it('accepts a token of the RFC 9068 profile', async () => {
    const response = await ask(strict);
    expect(response.status).toBe(200);
    expectProfileClaims(response.json());
  });

  it.each<[string, () => Issuer, string]>([
    ['of the default profile', () => plain, "Unexpected 'typ' value"],
    ['for another audience', () => elsewhere, "Unexpected 'aud' value"],
  ])('refuses a token %s', async (_case, issuer, why) => {
    const response = await ask(issuer());
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toContain(`error_description="${why}"`);
  });

  it('accepts a token of the default profile if it is not strict', async () => {
    expect((await ask(plain, { strict: false })).status).toBe(200);
  });
});

type Handler = ReturnType<typeof auth>;
type ExpressRequest = Parameters<Handler>[0];

/**
 * Runs Express middleware without Express: provides only the parts of its request and its errors that the middleware
 * uses.
 */
function onNodeHttp(handler: Handler): RequestListener {
  return (incoming, outgoing) => {
    const request = Object.assign(incoming, {
      protocol: 'http',
      query: {},
      is: () => false,
      get: (name: string) => incoming.headers[name.toLowerCase()],
    }) as unknown as ExpressRequest;
    const next = (refusal?: unknown) => {
      const { status = 200, headers = {} } = (refusal ?? {}) as { status?: number; headers?: Record<string, string> };
      outgoing.writeHead(status, { ...headers, Connection: 'close' });
      outgoing.end(JSON.stringify(request.auth?.payload ?? {}));
    };
    void handler(request, outgoing as unknown as Parameters<Handler>[1], next);
  };
}

describe('oauth4webapi validateJwtAccessToken', () => {
  const validate = ({ token, jwksUri }: Issuer): Promise<JWTAccessTokenClaims> => {
    const request = new Request('https://api.test/things', { headers: { authorization: `Bearer ${token}` } });
    const server = { issuer: ISSUER, jwks_uri: jwksUri };
    return validateJwtAccessToken(server, request, AUDIENCE, { [allowInsecureRequests]: true });
  };

  it('validates a token of the RFC 9068 profile', async () => {
    expectProfileClaims(await validate(strict));
  });

  it('refuses a token of the default profile', async () => {
    await expect(validate(plain)).rejects.toThrow('unexpected JWT "typ" header parameter value');
  });

  it('refuses a token for another audience', async () => {
    await expect(validate(elsewhere)).rejects.toThrow('unexpected JWT "aud" (audience) claim value');
  });
});
