import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import * as openid from 'openid-client';
import { GRANT_NAMES } from '../../domain/grant-type.ts';
import { type FormFields, requestToken, send } from '../../tests/support/http.ts';
import { ISSUER, type ServiceUnderTest, startServiceUnderTest } from '../../tests/support/running-service.ts';
import { platformOf, ruleOf, WorkloadIssuer } from '../../tests/support/workload-issuer.ts';

const GRANT = GRANT_NAMES['jwt-bearer'];
const CLUSTER = platformOf('kubernetes');

let issuer: WorkloadIssuer;
let service: ServiceUnderTest;
let key: openid.CryptoKey;
beforeAll(async () => {
  issuer = await WorkloadIssuer.start('kubernetes');
  const pair = await generateKeyPair('ES256');
  key = pair.privateKey;
  service = await startServiceUnderTest({
    environment: { GRANT_TYPES: 'client_credentials,jwt-bearer', CLIENT_ASSERTION_ISSUERS_FILE: 'issuers.json' },
    files: { 'issuers.json': JSON.stringify([issuer.entry()]) },
    clients: [
      { client_id: 'billing', client_name: 'A pod', scope: 'read', federated_subjects: [ruleOf(CLUSTER)] },
      {
        client_id: 'reports',
        client_name: 'A client with a key',
        scope: 'read',
        jwks: { keys: [{ ...(await exportJWK(pair.publicKey)), alg: 'ES256' }] },
      },
    ],
  });
});
afterAll(async () => {
  await service.stop();
  await issuer[Symbol.asyncDispose]();
});

const ask = (assertion: string, form: FormFields = {}) =>
  requestToken(service.url, { grant_type: GRANT, assertion, ...form });

describe('the grant jwt-bearer, whose keys come from a cluster', () => {
  // The workload extension of MCP (SEP-1933): the token of the pod, and nothing that names a client.
  it('gives a pod a token for its mounted token alone', async () => {
    const response = await ask(issuer.mint(ISSUER), { scope: 'read' });
    expect(response.json()).toMatchObject({ token_type: 'Bearer', expires_in: 300 });
    const authorization = `Bearer ${response.json()['access_token']}`;
    expect((await send(service.url, '/v1/locations/NYC_USA', { headers: { authorization } })).status).toBe(200);
  });

  it('gives a client with a key a token through genericGrantRequest of openid-client', async () => {
    const server = { issuer: ISSUER, token_endpoint: `${service.url}/oauth2/token` };
    const config = new openid.Configuration(server, 'reports', undefined, openid.None());
    openid.allowInsecureRequests(config);
    const assertion = await new SignJWT({ jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: 'ES256', typ: 'JWT' })
      .setIssuer('reports')
      .setSubject('reports')
      .setAudience(ISSUER)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(key);
    const tokens = await openid.genericGrantRequest(config, GRANT, { assertion, scope: 'read' });
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 300, scope: 'read' });
    await expect(openid.genericGrantRequest(config, GRANT, { assertion })).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });
});
