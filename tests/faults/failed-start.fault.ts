import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { requestToken } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { SEALED_KEYS, sealedKeysIn } from '../support/sealed-keys.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

/**
 * Runs the service, whose start fails, and asks it for tokens all the time. Returns the tokens that it issued and its
 * errors.
 */
async function failToStart(settings: Readonly<Record<string, string>>, port: number) {
  const program = runProgram('config/main.ts', {
    PORT: String(port),
    ...SEALED_KEYS,
    SHUTDOWN_GRACE_MS: '0',
    ...settings,
  });
  await using _program = program;
  let isRunning = true;
  const ended = program.ended().finally(() => {
    isRunning = false;
  });
  let tokens = 0;
  while (isRunning) {
    const response = await requestToken(`http://127.0.0.1:${port}`, DEMO_TOKEN_REQUEST).catch(() => undefined);
    if (response?.status === 200) tokens += 1;
    await delay(2);
  }
  expect(await ended).toBe(1);
  return { tokens, errors: program.stderr() };
}

describe('a start that fails', () => {
  let database: TestDatabase;
  let taken: { readonly server: Server; readonly port: number };
  beforeAll(async () => {
    database = await createTestDatabase();
    const port = await freePort();
    const server = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1');
    await once(server, 'listening');
    taken = { server, port };
  });
  afterAll(async () => {
    taken.server.close();
    await database.drop();
  });

  const publishedKeys = async () => {
    const [table] = await database.query(`select to_regclass('key_ring') as name`);
    return table?.['name'] === null ? [] : database.query('select kid from key_ring');
  };

  it('publishes no key and issues no token if the management port is in use', async () => {
    const settings = await sealedKeysIn(database);
    const { tokens, errors } = await failToStart({ ...settings, MANAGEMENT_PORT: `${taken.port}` }, await freePort());
    expect(errors).toContain(`MANAGEMENT_PORT: another program uses port ${taken.port} (EADDRINUSE)`);
    expect({ tokens, keys: await publishedKeys() }).toEqual({ tokens: 0, keys: [] });
  });

  it('publishes no key and issues no token if the public port is in use', async () => {
    const settings = await sealedKeysIn(database);
    const { tokens, errors } = await failToStart({ ...settings, MANAGEMENT_PORT: '0' }, taken.port);
    expect(errors.match(/ PORT: another program uses port \d+ \(EADDRINUSE\)/g)).toHaveLength(1);
    expect({ tokens, keys: await publishedKeys() }).toEqual({ tokens: 0, keys: [] });
  });

  it('publishes no key and issues no token if the table of the clients cannot be used', async () => {
    await database.query('drop table clients; create table clients (id bigint primary key)');
    const settings = { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: database.url };
    const { tokens, errors } = await failToStart({ ...settings, MANAGEMENT_PORT: '0' }, await freePort());
    expect(errors).toContain('client_id');
    expect({ tokens, keys: await publishedKeys() }).toEqual({ tokens: 0, keys: [] });
  });
});
