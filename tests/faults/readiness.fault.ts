import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { clientsTable } from '../support/clients-table.ts';
import { DatabaseServer } from '../support/database-server.ts';
import { requestToken, send } from '../support/http.ts';
import type { Program } from '../support/program.ts';
import { GOOD_CLIENT, GOOD_SECRET } from '../support/running-service.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const LOCK_MS = 6_000;
const REQUEST_EVERY_MS = 1_000;

let server: DatabaseServer;
let service: Program;
let url: string;
let management: string;

beforeAll(async () => {
  server = await DatabaseServer.create();
  ({
    program: service,
    url,
    managementUrl: management,
  } = await startServiceProcess({
    CLIENT_REPOSITORY: 'postgres',
    CLIENT_SECRET_COST: '4',
    DATABASE_URL: server.urlOf('postgres', 'postgres'),
  }));
  const { client_id, client_secret, client_name, scope } = GOOD_CLIENT;
  const table = clientsTable({ query: (text, values) => server.query(text, values) });
  await table.add({ clientId: client_id, clientSecret: client_secret, clientName: client_name, scope });
}, 60_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await server.stop();
});

describe('a lock on the table for six seconds, with a request every few seconds', () => {
  it('makes the service not ready from soon after its start until after its end, with two lines in the log', async () => {
    const ask = () =>
      requestToken(url, {
        grant_type: 'client_credentials',
        client_id: GOOD_CLIENT.client_id,
        client_secret: GOOD_SECRET,
      });
    expect((await ask()).status).toBe(200);
    expect(await readiness()).toBe(200);
    const locker = new pg.Client({ connectionString: server.urlOf('postgres', 'postgres') });
    await locker.connect();
    await locker.query('begin');
    await locker.query('lock table clients in access exclusive mode');
    let locked = true;
    const answers = (async () => {
      const statuses: number[] = [];
      while (locked) {
        statuses.push((await ask()).status);
        await delay(REQUEST_EVERY_MS);
      }
      return statuses;
    })();
    await until(async () => (await readiness()) === 503, 'the lock is noticed');
    const probes: number[] = [];
    const noticedAt = performance.now();
    while (performance.now() - noticedAt < LOCK_MS) {
      probes.push(await readiness());
      await delay(30);
    }
    locked = false;
    expect(new Set(probes)).toEqual(new Set([503]));
    expect(new Set(await answers)).toEqual(new Set([503]));
    await locker.query('rollback');
    await locker.end();
    await until(async () => (await readiness()) === 200, 'it is ready again');
    await until(() => service.stdout().includes('database_available'), 'the log says so');
    expect(service.stdout().match(/"event":"(database|table)_\w+"/g)).toEqual([
      '"event":"table_created"',
      '"event":"database_unavailable"',
      '"event":"database_available"',
    ]);
  });
});

async function readiness(): Promise<number> {
  return (await send(management, '/readyz')).status;
}
