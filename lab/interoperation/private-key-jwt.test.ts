import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { send } from '../../tests/support/http.ts';
import { ISSUER, type ServiceUnderTest, startServiceUnderTest } from '../../tests/support/running-service.ts';

const ALGORITHMS = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'];

let service: ServiceUnderTest;
let keys: ReadonlyMap<string, oauth.CryptoKey>;

beforeAll(async () => {
  const pairs = await Promise.all(
    ALGORITHMS.map(async (alg) => ({ alg, ...(await generateKeyPair(alg, { extractable: true })) })),
  );
  keys = new Map(pairs.map(({ alg, privateKey }) => [alg, privateKey]));
  const clients = pairs.map(async ({ alg, publicKey }) => ({
    client_id: `client-${alg}`,
    client_name: 'A client without a secret',
    scope: 'read',
    jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'the-key', alg }] },
  }));
  service = await startServiceUnderTest({
    environment: { CLIENT_AUTHENTICATION_METHODS: 'private_key_jwt', PUBLIC_METADATA: 'true' },
    clients: await Promise.all(clients),
  });
});
afterAll(() => service.stop());

function keyOf(alg: string): oauth.CryptoKey {
  const key = keys.get(alg);
  if (key === undefined) throw new Error(`no key for ${alg}`);
  return key;
}

async function expectValidToken(token: unknown): Promise<void> {
  const authorization = `Bearer ${token}`;
  expect((await send(service.url, '/v1/locations/NYC_USA', { headers: { authorization } })).status).toBe(200);
}

const server = () => ({ issuer: ISSUER, token_endpoint: `${service.url}/oauth2/token` });

describe('openid-client', () => {
  it.each(ALGORITHMS)('gets a token with private_key_jwt by %s, again and again', async (alg) => {
    const authentication = openid.PrivateKeyJwt({ key: keyOf(alg), kid: 'the-key' });
    const config = new openid.Configuration(server(), `client-${alg}`, undefined, authentication);
    openid.allowInsecureRequests(config);
    for (let time = 0; time < 3; time += 1) {
      const answer = await openid.clientCredentialsGrant(config);
      expect(answer).toMatchObject({ token_type: 'bearer', expires_in: 300 });
      await expectValidToken(answer.access_token);
    }
  });

  it('reports invalid_client for another key', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    const config = new openid.Configuration(server(), 'client-ES256', undefined, openid.PrivateKeyJwt(privateKey));
    openid.allowInsecureRequests(config);
    const answer = openid.clientCredentialsGrant(config);
    await expect(answer).rejects.toMatchObject({ name: 'ResponseBodyError', error: 'invalid_client', status: 401 });
  });
});

describe('oauth4webapi', () => {
  it.each(ALGORITHMS)('gets a token with private_key_jwt by %s, without a key id', async (alg) => {
    const client: oauth.Client = { client_id: `client-${alg}` };
    const response = await oauth.clientCredentialsGrantRequest(
      server(),
      client,
      oauth.PrivateKeyJwt(keyOf(alg)),
      { scope: 'read' },
      { [oauth.allowInsecureRequests]: true },
    );
    const answer = await oauth.processClientCredentialsResponse(server(), client, response);
    expect(answer.scope).toBe('read');
    await expectValidToken(answer.access_token);
  });

  it('gets a token with an assertion of a type, that ends in 300 s', async () => {
    const client: oauth.Client = { client_id: 'client-ES256' };
    const authentication = oauth.PrivateKeyJwt(keyOf('ES256'), {
      [oauth.modifyAssertion](header, payload) {
        header['typ'] = 'client-authentication+jwt';
        payload['exp'] = Math.floor(Date.now() / 1000) + 300;
      },
    });
    const options = { [oauth.allowInsecureRequests]: true };
    const response = await oauth.clientCredentialsGrantRequest(server(), client, authentication, {}, options);
    await oauth.processClientCredentialsResponse(server(), client, response);
  });
});

describe('the metadata', () => {
  it('names the method and its algorithms', async () => {
    const metadata = (await send(service.url, '/.well-known/oauth-authorization-server')).json();
    expect(metadata).toMatchObject({
      token_endpoint_auth_methods_supported: ['private_key_jwt'],
      token_endpoint_auth_signing_alg_values_supported: expect.arrayContaining([...ALGORITHMS, 'Ed25519']),
    });
  });
});
