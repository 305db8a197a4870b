import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { A_CLIENT } from '../contracts/client-repository.ts';
import { clientsTable } from '../support/clients-table.ts';
import { requestToken, send } from '../support/http.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

describe('the cost of refusals, with registrations in PostgreSQL', () => {
  let database: TestDatabase;
  let service: ServiceProcess;
  const environment = () => ({
    CLIENT_REPOSITORY: 'postgres',
    DATABASE_URL: database.url,
    ...PATIENT,
    CLIENT_SECRET_COST: '4',
    CLIENT_SECRET_COST_MAX: '7',
  });
  const add = async (clientId: string, cost: number) => {
    const clientSecret = await bcrypt.hash('its-secret', cost);
    await clientsTable(database).add({ ...A_CLIENT, clientId, clientSecret });
  };
  beforeAll(async () => {
    database = await createTestDatabase();
    // The first start creates the table.
    const first = await startServiceProcess(environment());
    await first.program[Symbol.asyncDispose]();
    await add('cost-5', 5);
    await clientsTable(database).add({ ...A_CLIENT, clientId: 'locked', clientSecret: '!' });
    service = await startServiceProcess(environment());
  }, 120_000);
  afterAll(async () => {
    await service.program[Symbol.asyncDispose]();
    await database.drop();
  });

  const ask = (client_id: string, client_secret: string) =>
    requestToken(service.url, { grant_type: 'client_credentials', client_id, client_secret });
  const refusalCost = async () => {
    const answer = await send(service.managementUrl, '/metrics');
    return total(readSamples(answer.text), 'auth_refusal_cost');
  };
  const costsFound = () =>
    [...service.program.stdout().matchAll(/"event":"secret_cost_found","cost":(\d+)/g)].map(([, cost]) => Number(cost));

  it('is the highest of the table when the service starts, in a metric and one log line', async () => {
    await until(() => costsFound().length > 0, 'the log has it');
    expect(await refusalCost()).toBe(5);
    expect(costsFound()).toEqual([5]);
  });

  it('rises with the first request for a more expensive secret, with one log line', async () => {
    await add('cost-7', 7);
    expect((await ask('cost-7', 'its-secret')).status).toBe(200);
    expect(await refusalCost()).toBe(7);
    await ask('cost-7', 'a-guess');
    await until(() => costsFound().includes(7), 'the log has it');
    expect(costsFound()).toEqual([5, 7]);
  });

  it('stops at CLIENT_SECRET_COST_MAX: a more expensive secret matches nothing', async () => {
    await add('cost-8', 8);
    expect((await ask('cost-8', 'its-secret')).status).toBe(401);
    expect(await refusalCost()).toBe(7);
    await until(() => /stored_secret_unusable/.test(service.program.stdout()), 'the log has the reason');
  });
});
