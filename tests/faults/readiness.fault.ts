import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { clientsTable } from '../support/clients-table.ts';
import { DatabaseServer } from '../support/database-server.ts';
import { freePort } from '../support/free-port.ts';
import { requestToken, send } from '../support/http.ts';
import { type Program, runProgram } from '../support/program.ts';
import { GOOD_CLIENT, GOOD_SECRET } from '../support/running-service.ts';
import { until } from '../support/until.ts';

const LOCK_MS = 6_000;
const REQUEST_EVERY_MS = 2_000;

let server: DatabaseServer;
let service: Program;
let url: string;
let management: string;

beforeAll(async () => {
  server = await DatabaseServer.create();
  const [port, managementPort] = [await freePort(), await freePort()];
  url = `http://127.0.0.1:${port}`;
  management = `http://127.0.0.1:${managementPort}`;
  service = runProgram('config/main.ts', {
    CLIENT_REPOSITORY: 'postgres',
    CLIENT_SECRET_COST: '4',
    DATABASE_URL: server.urlOf('postgres', 'postgres'),
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    WORKERS: '1',
  });
  await service.printed(/"event":"started"/);
  const { client_id, client_secret, client_name, scope } = GOOD_CLIENT;
  const table = clientsTable({ query: (text, values) => server.query(text, values) });
  await table.add({ clientId: client_id, clientSecret: client_secret, clientName: client_name, scope });
}, 60_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await server.stop();
});

describe('a lock on the table for six seconds, with a request every two seconds', () => {
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
      for (let sent = 0; sent < LOCK_MS / REQUEST_EVERY_MS; sent += 1) {
        statuses.push((await ask()).status);
        if (sent < 2) await delay(REQUEST_EVERY_MS - 1_000);
      }
      return statuses;
    })();
    const end = delay(LOCK_MS).then(() => {
      locked = false;
    });
    await until(async () => (await readiness()) === 503, 'the lock is noticed');
    const probes: number[] = [];
    while (locked) {
      probes.push(await readiness());
      await delay(30);
    }
    await end;
    expect(new Set(probes)).toEqual(new Set([503]));
    expect(await answers).toEqual([503, 503, 503]);
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
