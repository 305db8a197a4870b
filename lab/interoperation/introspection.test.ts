import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { freePort } from '../../tests/support/free-port.ts';
import { getAccessToken } from '../../tests/support/http.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../tests/support/running-service.ts';

const API = 'https://api.example.com';

let service: ServiceUnderTest;
let issuer: URL;
let token: string;
beforeAll(async () => {
  const port = await freePort();
  issuer = new URL(`http://127.0.0.1:${port}`);
  service = await startServiceUnderTest({
    environment: {
      SERVICE_PROFILE: 'standard',
      TOKEN_AUDIENCE: API,
      TOKEN_REVOCATION: 'true',
      PORT: String(port),
      BASE_URL: issuer.origin,
    },
    clients: [GOOD_CLIENT, { ...GOOD_CLIENT, client_id: 'api', audiences: [API] }],
  });
  token = await getAccessToken(service.url, GOOD_CLIENT.client_id, GOOD_SECRET);
});
afterAll(() => service.stop());

describe('libraries find the introspection endpoint in the metadata, and understand its response:', () => {
  it('oauth4webapi', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true };
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
    const server = await oauth.processDiscoveryResponse(issuer, found);
    const client = { client_id: 'api' };
    const ask = async (asked: string) => {
      const secret = oauth.ClientSecretBasic(GOOD_SECRET);
      const response = await oauth.introspectionRequest(server, client, secret, asked, insecure);
      return oauth.processIntrospectionResponse(server, client, response);
    };
    expect(await ask(token)).toMatchObject({
      active: true,
      client_id: GOOD_CLIENT.client_id,
      aud: API,
      scope: 'read write',
    });
    expect(await ask('x')).toEqual({ active: false });
  });

  it('openid-client', async () => {
    const execute = [openid.allowInsecureRequests];
    const config = await openid.discovery(issuer, 'api', undefined, openid.ClientSecretPost(GOOD_SECRET), {
      algorithm: 'oauth2',
      execute,
    });
    expect(await openid.tokenIntrospection(config, token)).toMatchObject({ active: true, token_type: 'Bearer' });
    expect(await openid.tokenIntrospection(config, 'x')).toEqual({ active: false });
  });
});
