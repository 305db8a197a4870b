import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { migrateDatabase } from '../../../adapters/postgres/migrate-database.ts';
import { bcryptEncoder } from '../../../adapters/secrets/bcrypt-secret-verifier.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { PARTS } from '../../../config/parts.ts';
import { atOnce } from '../../support/at-once.ts';
import { clientsTable } from '../../support/clients-table.ts';
import { type HttpAnswer, requestToken, send } from '../../support/http.ts';
import { REGISTERED_CLIENT } from '../../support/registered-client.ts';
import {
  GOOD_CLIENT,
  GOOD_SECRET,
  PLAIN_CLIENT,
  type ServiceOptions,
  type ServiceUnderTest,
  startServiceUnderTest,
} from '../../support/running-service.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../../support/test-database.ts';
import { logLineOf, serviceForSuite } from './service-for-suite.ts';

const AUDIENCE = 'https://auth.example.com';
const API = 'https://api.example.com';
const FILES = 'https://files.example.com/v1';
const RESOURCES = [API, FILES, AUDIENCE];
const CLIENTS = [{ ...GOOD_CLIENT, resources: RESOURCES }, PLAIN_CLIENT];

/** A token request of the client with the resources, or of the one without. */
function ask({ url }: ServiceUnderTest, resources: readonly string[], client = GOOD_CLIENT.client_id) {
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: client });
  form.set('client_secret', client === GOOD_CLIENT.client_id ? GOOD_SECRET : 'plain-secret');
  for (const resource of resources) form.append('resource', resource);
  return requestToken(url, form.toString());
}

const tokenOf = (answer: HttpAnswer) => String(answer.json()['access_token']);
const audienceOf = (answer: HttpAnswer) => decodeJwt(tokenOf(answer)).aud;
const read = (service: ServiceUnderTest, token: string) =>
  send(service.url, '/v1/locations/NYC_USA', { headers: { authorization: `Bearer ${token}` } });

describe.each(['memory', 'postgres'] as const)('the parameter resource, with registrations in %s', (repository) => {
  let database: TestDatabase | undefined;
  let service: ServiceUnderTest;
  beforeAll(async () => {
    if (repository === 'postgres') database = await createTestDatabase();
    service = await startServiceUnderTest(await optionsFor(database));
  }, 120_000);
  afterAll(async () => {
    await service.stop();
    await database?.drop();
  });

  it('gives the token that resource as its audience, and changes nothing else of it', async () => {
    const answer = await ask(service, [API]);
    expect(answer.json()).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 300 });
    const names = Object.keys(decodeJwt(tokenOf(answer))).toSorted();
    expect(names).toEqual(['aud', 'exp', 'iat', 'iss', 'jti', 'nbf', 'sub']);
    expect(audienceOf(answer)).toBe(API);
  });

  it('gives the registered spelling if the request has a slash behind the origin', async () => {
    expect(audienceOf(await ask(service, [`${API}/`]))).toBe(API);
  });

  it('gives an array if the request names several, each once', async () => {
    expect(audienceOf(await ask(service, [FILES, API, `${API}/`, FILES]))).toEqual([FILES, API]);
  });

  it('leaves the audience as it is if the request names none, or only empty ones', async () => {
    expect(audienceOf(await ask(service, []))).toBe(GOOD_CLIENT.client_id);
    expect(audienceOf(await ask(service, ['', '']))).toBe(GOOD_CLIENT.client_id);
  });

  it.each([
    ['that is not registered', ['https://other.example.com']],
    ['that is not registered beside one that is', [API, 'https://other.example.com']],
    ['below a registered one', [`${API}/v1`]],
    ['with a slash behind its path', [`${FILES}/`]],
    ['in other case', ['https://API.example.com']],
  ])('refuses a resource %s', async (_what, resources) => {
    const answer = await ask(service, resources);
    expect([answer.status, answer.json()]).toEqual([
      400,
      { error: 'invalid_target', error_description: expect.stringContaining('not registered for a resource') },
    ]);
    expect(logLineOf(service, answer)).toMatchObject({ reason: 'resource_not_registered', client_id: 'good-client' });
  });

  it.each(['api', '/v1', `${API}#fragment`, `${API}#`, `${API}/ä`])(
    'refuses the malformed resource %s',
    async (text) => {
      const answer = await ask(service, [text]);
      expect([answer.status, answer.json()]).toEqual([
        400,
        { error: 'invalid_target', error_description: 'resource must be an absolute URI without a fragment' },
      ]);
      expect(logLineOf(service, answer)).toMatchObject({ reason: 'resource_malformed' });
    },
  );

  it('refuses every resource of a client that lists none', async () => {
    expect((await ask(service, [API], PLAIN_CLIENT.client_id)).json()['error']).toBe('invalid_target');
  });

  it('does not open the example resource with a token for another resource', async () => {
    const answer = await read(service, tokenOf(await ask(service, [API])));
    expect([answer.status, answer.text]).toEqual([401, '{"error":"invalid_token"}']);
    expect(logLineOf(service, answer)).toMatchObject({ reason: 'token_audience_foreign' });
    expect((await read(service, tokenOf(await ask(service, [API, FILES])))).status).toBe(401);
    expect((await read(service, tokenOf(await ask(service, [])))).status).toBe(200);
  });
});

describe('the parameter resource, with TOKEN_AUDIENCE', () => {
  const service = serviceForSuite({
    clients: CLIENTS,
    environment: { TOKEN_PROFILE: 'rfc9068', TOKEN_AUDIENCE: AUDIENCE },
  });

  it('replaces the audience, and without it the audience is that of the deployment', async () => {
    expect(audienceOf(await ask(service(), [API]))).toBe(API);
    expect(audienceOf(await ask(service(), []))).toBe(AUDIENCE);
  });

  it('opens the paths of the service only to a token that is for them too', async () => {
    expect((await read(service(), tokenOf(await ask(service(), [API])))).status).toBe(401);
    expect((await read(service(), tokenOf(await ask(service(), [API, AUDIENCE])))).status).toBe(200);
    expect((await read(service(), tokenOf(await ask(service(), [])))).status).toBe(200);
  });
});

describe('the parameter resource, if storage is unavailable', () => {
  const outage = new DependencyUnavailable('client repository', new Error('connection refused'));
  const service = serviceForSuite({
    clients: CLIENTS,
    override: (parts) => parts.registerInstance(PARTS.clientResources, { findResources: () => Promise.reject(outage) }),
  });

  it('is answered with 503 and Retry-After, and a request without it gets its token', async () => {
    const answer = await ask(service(), [API]);
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
    expect(answer.json()['error']).toBe('temporarily_unavailable');
    expect((await ask(service(), [])).status).toBe(200);
  });
});

/** The service with these clients: in memory, or in this database. */
async function optionsFor(database: TestDatabase | undefined): Promise<ServiceOptions> {
  if (database === undefined) return { clients: CLIENTS };
  await migrateDatabase(database.url);
  const environment = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: database.url, ...PATIENT };
  // The first start creates the table of the clients.
  await (await startServiceUnderTest({ environment })).stop();
  const table = clientsTable(database);
  await table.add(REGISTERED_CLIENT);
  await table.add({ ...REGISTERED_CLIENT, clientId: PLAIN_CLIENT.client_id, clientSecret: await plainHash() });
  await database.query(
    `insert into client_resources
      select client_id, id::text, unnest($2::text[]) from clients where client_id = $1`,
    [GOOD_CLIENT.client_id, RESOURCES],
  );
  return { environment };
}

function plainHash(): Promise<string> {
  return bcryptEncoder(atOnce)('plain-secret', 4);
}
