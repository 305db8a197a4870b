import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { ClientCredentials } from 'simple-oauth2';
import { send } from '../../tests/support/http.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  ISSUER,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../tests/support/running-service.ts';

const ID = GOOD_CLIENT.client_id;

let service: ServiceUnderTest;

beforeAll(async () => {
  service = await startServiceUnderTest();
});

afterAll(() => service.stop());

async function expectValidToken(token: unknown): Promise<void> {
  const authorization = `Bearer ${token}`;
  expect((await send(service.url, '/v1/locations/NYC_USA', { headers: { authorization } })).status).toBe(200);
}

describe('openid-client', () => {
  function configuration(secret: string): openid.Configuration {
    const server = { issuer: ISSUER, token_endpoint: `${service.url}/oauth2/token` };
    const config = new openid.Configuration(server, ID, undefined, openid.ClientSecretPost(secret));
    openid.allowInsecureRequests(config);
    return config;
  }

  it('gets a token', async () => {
    const answer = await openid.clientCredentialsGrant(configuration(GOOD_SECRET));
    expect(answer).toMatchObject({ token_type: 'bearer', expires_in: 300 });
    expect(answer.scope).toBeUndefined();
    expect(answer.expiresIn()).toBeGreaterThan(290);
    await expectValidToken(answer.access_token);
  });

  it('gets a token with the scope that it requests', async () => {
    const answer = await openid.clientCredentialsGrant(configuration(GOOD_SECRET), { scope: 'read' });
    expect(answer.scope).toBe('read');
  });

  it('reports invalid_client for a wrong secret', async () => {
    const answer = openid.clientCredentialsGrant(configuration('bad-secret'));
    await expect(answer).rejects.toMatchObject({ name: 'ResponseBodyError', error: 'invalid_client', status: 401 });
  });
});

describe('oauth4webapi', () => {
  const client: oauth.Client = { client_id: ID };
  const server = (): oauth.AuthorizationServer => ({ issuer: ISSUER, token_endpoint: `${service.url}/oauth2/token` });

  async function grant(secret: string, parameters: Record<string, string> = {}) {
    const authentication = oauth.ClientSecretPost(secret);
    const response = await oauth.clientCredentialsGrantRequest(server(), client, authentication, parameters, {
      [oauth.allowInsecureRequests]: true,
    });
    return oauth.processClientCredentialsResponse(server(), client, response);
  }

  it('gets a token', async () => {
    const answer = await grant(GOOD_SECRET);
    expect(answer).toMatchObject({ token_type: 'bearer', expires_in: 300 });
    await expectValidToken(answer.access_token);
  });

  it('gets a token with the scope that it requests', async () => {
    expect((await grant(GOOD_SECRET, { scope: 'write read' })).scope).toBe('write read');
  });

  it('reports invalid_client for a wrong secret', async () => {
    const answer = grant('bad-secret');
    await expect(answer).rejects.toMatchObject({ name: 'ResponseBodyError', error: 'invalid_client', status: 401 });
  });

  it('reports invalid_scope for a scope that the client is not registered for', async () => {
    await expect(grant(GOOD_SECRET, { scope: 'admin' })).rejects.toMatchObject({ error: 'invalid_scope', status: 400 });
  });
});

describe('simple-oauth2', () => {
  const client = (secret: string) =>
    new ClientCredentials({
      client: { id: ID, secret },
      auth: { tokenHost: service.url, tokenPath: '/oauth2/token' },
      options: { authorizationMethod: 'body' },
    });

  it('gets a token', async () => {
    const answer = await client(GOOD_SECRET).getToken({});
    expect(answer.token).toMatchObject({ token_type: 'Bearer', expires_in: 300 });
    expect(answer.expired()).toBe(false);
    await expectValidToken(answer.token['access_token']);
  });

  it('gets a token with the scopes that it requests', async () => {
    const answer = await client(GOOD_SECRET).getToken({ scope: ['read', 'write'] });
    expect(answer.token['scope']).toBe('read write');
  });

  it('reports invalid_client for a wrong secret', async () => {
    const answer = client('bad-secret').getToken({});
    await expect(answer).rejects.toMatchObject({
      output: { statusCode: 401 },
      data: { payload: { error: 'invalid_client' } },
    });
  });
});
