import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clientsInProcess, type RunClients } from '../adapters/cli/clients-program.ts';
import { freshTables } from '../support/details-tables.ts';
import { requestToken } from '../support/http.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let service: ServiceProcess;
let clients: RunClients;

beforeAll(async () => {
  database = await createTestDatabase();
  await freshTables(database);
  clients = clientsInProcess(database.url);
  const settings = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: database.url, CLIENT_SECRET_COST: '4' };
  service = await startServiceProcess(settings);
}, 120_000);
afterAll(async () => {
  await service.program[Symbol.asyncDispose]();
  await database.drop();
});

async function secretOf(...args: readonly string[]): Promise<string> {
  const run = await clients([...args, '--cost', '4', '--json']);
  if (run.exitCode !== 0) throw new Error(run.stderr);
  return String(run.json()['client_secret']);
}

/** A client that requests tokens without a pause, with the secret that it has at that moment. */
function busyClient(secret: string) {
  const statuses: number[] = [];
  let [current, stopped] = [secret, false];
  const run = async () => {
    while (!stopped) statuses.push(await statusOf(current));
  };
  const running = Promise.all([run(), run()]);
  return {
    statuses,
    /** Resolves after several requests with the secret. */
    async use(next: string) {
      current = next;
      const before = statuses.length;
      await until(() => statuses.length > before + 8, 'the client has used its secret');
    },
    async stop() {
      stopped = true;
      await running;
    },
  };
}

async function statusOf(client_secret: string): Promise<number> {
  const form = { grant_type: 'client_credentials', client_id: 'billing', client_secret };
  return (await requestToken(service.url, form)).status;
}

describe('the rotation of a secret, with registrations in PostgreSQL', () => {
  it('fails no request while two clients change over one after the other, and then refuses the old secret', async () => {
    const first = await secretOf('add', 'billing', '--name', 'Billing', '--scope', 'read');
    const [one, two] = [busyClient(first), busyClient(first)];
    const second = await secretOf('secrets', 'add', 'billing', '--name', 'second');
    await one.use(second);
    await two.use(second);
    expect((await clients(['secrets', 'remove', 'billing', '--without-id'])).exitCode).toBe(0);
    const third = await secretOf('rotate', 'billing', '--keep-old-for', '1h');
    await two.use(third);
    await one.use(third);
    await Promise.all([one.stop(), two.stop()]);
    expect(new Set([...one.statuses, ...two.statuses])).toEqual(new Set([200]));
    expect([await statusOf(first), await statusOf(second), await statusOf(third)]).toEqual([401, 200, 200]);

    await database.query(`update clients set credentials = jsonb_set(credentials, '{secrets,0,expires_at}', '1')`);
    expect([await statusOf(second), await statusOf(third)]).toEqual([401, 200]);
    await clients(['disable', 'billing']);
    expect(await statusOf(third)).toBe(401);
    await clients(['enable', 'billing']);
    expect(await statusOf(third)).toBe(200);
    await clients(['remove', 'billing']);
    expect(await statusOf(third)).toBe(401);
  });
});
