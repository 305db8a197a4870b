import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clientsProgram, type RunClients } from '../adapters/cli/clients-program.ts';
import { type HttpAnswer, requestToken } from '../support/http.ts';
import { type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../support/test-database.ts';

let database: TestDatabase;
let service: ServiceUnderTest;
let clients: RunClients;

beforeAll(async () => {
  database = await createTestDatabase();
  clients = clientsProgram(database.url);
  const environment = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: database.url, ...PATIENT };
  service = await startServiceUnderTest({ environment });
}, 120_000);
afterAll(async () => {
  await service.stop();
  await database.drop();
});

function ask(clientSecret: string): Promise<HttpAnswer> {
  const form = { grant_type: 'client_credentials', client_id: 'billing', client_secret: clientSecret };
  return requestToken(service.url, form);
}

async function secretOf(...args: readonly string[]): Promise<string> {
  return String((await clients([...args, '--cost', '4', '--json'])).json()['client_secret']);
}

describe('a client that is managed with the program', () => {
  it('gets tokens from the running service, and each change takes effect at the next request', async () => {
    const first = await secretOf('add', 'billing', '--name', 'Billing', '--scope', 'read write');
    expect((await ask(first)).json()).toMatchObject({ token_type: 'Bearer', access_token: expect.any(String) });

    const second = await secretOf('rotate', 'billing');
    expect((await ask(first)).status).toBe(401);
    expect((await ask(second)).status).toBe(200);

    await clients(['disable', 'billing']);
    const refused = await ask(second);
    expect([refused.status, refused.text]).toEqual([401, '{"error":"invalid_client"}']);

    await clients(['enable', 'billing']);
    expect((await ask(second)).status).toBe(200);

    await clients(['remove', 'billing']);
    expect((await ask(second)).status).toBe(401);
  });
});
