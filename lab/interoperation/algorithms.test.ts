import { createPublicKey } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { JwtVerifier } from 'aws-jwt-verify';
import { createVerifier } from 'fast-jwt';
import { createRemoteJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import jsonwebtoken from 'jsonwebtoken';
import { TOKEN_ALGORITHMS, type TokenAlgorithm } from '../../domain/token-key.ts';
import { getAccessToken, send } from '../../tests/support/http.ts';
import { GOOD_CLIENT, GOOD_SECRET, ISSUER, startServiceUnderTest } from '../../tests/support/running-service.ts';
import { PUBLIC_FIELDS } from '../../tests/support/token-algorithms.ts';

const AUDIENCE = GOOD_CLIENT.client_id;

interface Given {
  readonly token: string;
  readonly alg: TokenAlgorithm;
  readonly keySet: JSONWebKeySet;
  readonly keySetUrl: URL;
}

/** Each verifier, and the algorithms that it verifies; docs/resource-servers.md says the same. */
const VERIFIERS: readonly [string, readonly TokenAlgorithm[], (given: Given) => unknown][] = [
  [
    'jose',
    TOKEN_ALGORITHMS,
    ({ token, alg, keySetUrl }) =>
      jwtVerify(token, createRemoteJWKSet(keySetUrl), { issuer: ISSUER, audience: AUDIENCE, algorithms: [alg] }),
  ],
  [
    'jsonwebtoken',
    ['RS256', 'PS256', 'ES256'],
    ({ token, alg, keySet }) =>
      jsonwebtoken.verify(token, createPublicKey({ key: { ...keySet.keys[0] }, format: 'jwk' }), {
        algorithms: [alg as 'RS256'],
        issuer: ISSUER,
        audience: AUDIENCE,
      }),
  ],
  [
    'fast-jwt',
    TOKEN_ALGORITHMS,
    ({ token, alg, keySet }) =>
      createVerifier({
        key: createPublicKey({ key: { ...keySet.keys[0] }, format: 'jwk' }).export({ type: 'spki', format: 'pem' }),
        algorithms: [alg],
        allowedIss: ISSUER,
        allowedAud: AUDIENCE,
      })(token),
  ],
  [
    'aws-jwt-verify',
    ['RS256', 'ES256', 'EdDSA'],
    ({ token, keySet }) => {
      const verifier = JwtVerifier.create({ issuer: ISSUER, audience: AUDIENCE, jwksUri: 'https://unused.test/jwks' });
      verifier.cacheJwks(JSON.parse(JSON.stringify(keySet)));
      return verifier.verify(token);
    },
  ],
];

describe.each(TOKEN_ALGORITHMS)('with TOKEN_SIGNING_ALG=%s', (alg) => {
  it('the service accepts its own tokens, and verifiers accept them that know the algorithm', async () => {
    const environment = { PUBLIC_METADATA: 'true', TOKEN_SIGNING_ALG: alg };
    await using service = await startServiceUnderTest({ environment });
    const token = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
    const headers = { authorization: `Bearer ${token}` };
    expect((await send(service.url, '/v1/locations/NYC_USA', { headers })).status).toBe(200);
    const keySetUrl = new URL('/oauth2/jwks', service.url);
    const { keys }: JSONWebKeySet = JSON.parse((await send(service.url, '/oauth2/jwks')).text);
    // The next key may be in the set.
    const { kid } = decodeProtectedHeader(token);
    const keySet = { keys: keys.filter((key) => key.kid === kid) };
    expect(keySet.keys.map((key) => [key.alg, Object.keys(key).toSorted()])).toEqual([[alg, PUBLIC_FIELDS[alg]]]);

    const accepting: string[] = [];
    for (const [name, , verify] of VERIFIERS) {
      const isAccepted = await Promise.resolve({ token, alg, keySet, keySetUrl })
        .then(verify)
        .then(
          () => true,
          () => false,
        );
      if (isAccepted) accepting.push(name);
    }
    expect(accepting).toEqual(VERIFIERS.filter(([, known]) => known.includes(alg)).map(([name]) => name));
  });

  it('a verifier that is set to another algorithm refuses the token', async () => {
    await using service = await startServiceUnderTest({
      environment: { PUBLIC_METADATA: 'true', TOKEN_SIGNING_ALG: alg },
    });
    const token = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
    const keySet = createRemoteJWKSet(new URL('/oauth2/jwks', service.url));
    const others = TOKEN_ALGORITHMS.filter((other) => other !== alg);
    await expect(jwtVerify(token, keySet, { algorithms: others })).rejects.toMatchObject({
      code: 'ERR_JOSE_ALG_NOT_ALLOWED',
    });
  });
});
