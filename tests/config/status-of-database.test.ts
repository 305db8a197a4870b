import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clientsTable } from '../support/clients-table.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { requestToken } from '../support/http.ts';
import { GOOD_CLIENT, GOOD_SECRET, startServiceUnderTest } from '../support/running-service.ts';
import { OPERATOR_TOKEN, readRefusal, readStatus } from '../support/status.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const FORM = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };

describe('the status of a service with a database', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  }, 120_000);
  afterAll(() => database.drop());

  it('says that it is available, then that it is not, and that requests are refused for it', async () => {
    const through = new URL(database.url);
    const proxy = await FaultyProxy.to(Number(through.port));
    through.host = `127.0.0.1:${proxy.port}`;
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    await using service = await startServiceUnderTest({
      environment: {
        CLIENT_REPOSITORY: 'postgres',
        DATABASE_URL: through.href,
        ...PATIENT,
        MANAGEMENT_PORT: String(port),
        MANAGEMENT_TOKEN: OPERATOR_TOKEN,
      },
    });
    await clientsTable(database).add({
      clientId: GOOD_CLIENT.client_id,
      clientSecret: GOOD_CLIENT.client_secret,
      clientName: GOOD_CLIENT.client_name,
      scope: GOOD_CLIENT.scope,
    });
    expect((await requestToken(service.url, FORM)).status).toBe(200);
    const { database: state } = await readStatus(url);
    expect(state).toEqual({ state: 'available', latency_seconds: expect.any(Number) });

    await proxy[Symbol.asyncDispose]();
    const refused = await requestToken(service.url, FORM);
    expect(refused.status).toBe(503);
    expect(await readRefusal(url, String(refused.headers['x-request-id']))).toMatchObject({
      reason: 'dependency_unavailable',
      dependency: 'client repository',
      status: 503,
    });
    await until(async () => !(await readStatus(url)).service.ready, 'the fault has lasted');
    const status = await readStatus(url);
    expect(status.database).toMatchObject({ state: 'unavailable' });
    expect(status.summary).toMatch(
      /^Not ready\. client repository: database unavailable.* \((start PostgreSQL|npm run doctor)/,
    );
    const lost = { subject: 'client repository', text: expect.stringMatching(/^not ready: database unavailable/) };
    await until(async () => (await readStatus(url)).events[0]?.subject === lost.subject, 'it is an event');
    expect((await readStatus(url)).events).toContainEqual({ at: expect.any(Number), ...lost });
    expect(status.totals.refusals).toEqual({ dependency_unavailable: 1 });
    expect(JSON.stringify(status)).not.toContain(`:${through.password}@`);
  });
});
