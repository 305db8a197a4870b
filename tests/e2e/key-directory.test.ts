import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Backend } from '../support/balancer.ts';
import { DatabaseServer } from '../support/database-server.ts';
import { getAccessToken, type HttpAnswer, requestToken, send } from '../support/http.ts';
import type { Program } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST, freeBackend, startReplica } from '../support/replica.ts';
import { startProblems } from '../support/start-problems.ts';
import { until } from '../support/until.ts';

const PASSWORD = 'database-password';

let server: DatabaseServer;
let backend: Backend;

beforeAll(async () => {
  server = await DatabaseServer.create();
  await server.query(`create role service login password '${PASSWORD}'`);
  await server.query('grant create on schema public to service');
});
afterAll(() => server.stop());
beforeEach(async () => {
  await server.query('drop table if exists signing_keys');
  backend = await freeBackend();
});

describe('a single service with KEY_DIRECTORY=postgres', () => {
  it('starts while the directory is unavailable, and answers 503 until its key is published', async () => {
    await server.kill();
    await using service = start();
    await service.printed(/"event":"started"/);
    const answer = await requestToken(url(), DEMO_TOKEN_REQUEST);
    expect([answer.status, answer.json()['error']]).toEqual([503, 'temporarily_unavailable']);
    expect((await askReadiness()).text).toContain('no key is published yet');
    await server.start();
    await untilReady();
    expect((await askLocation(await getToken())).status).toBe(200);
    expectNoSecret(service);
  });

  it('keeps working with the keys that it knows, and stays ready, while the directory is unavailable', async () => {
    await using service = start();
    await untilReady();
    const token = await getToken();
    await server.kill();
    await until(() => service.stdout().includes('key_directory_unavailable'), 'the service notices the outage');
    expect((await askLocation(token)).status).toBe(200);
    expect((await askLocation(await getToken())).status).toBe(200);
    await until(async () => (await askReadiness()).text.includes('"note"'), 'the outage has lasted');
    const readiness = await askReadiness();
    expect(readiness.status).toBe(200);
    expect(readiness.json()['checks']).toContainEqual({
      name: 'key directory',
      ready: true,
      note: expect.stringContaining('unavailable'),
    });
    await server.start();
    await until(
      () => service.stdout().includes('key_directory_available'),
      'the service notices that the directory is back',
    );
    expectNoSecret(service);
  });

  it('does not start on a table that it cannot use: prints the reason and opens no port', async () => {
    await server.query('create table signing_keys (kid text primary key, n text, e text)');
    await server.query('grant select, insert, update, delete on signing_keys to service');
    await using service = start();
    expect(await service.ended()).toBe(1);
    expect(service.stderr()).toBe(startProblems('table signing_keys lacks the column trusted_until'));
  });
});

function start(): Program {
  return startReplica(backend, {
    DATABASE_URL: server.urlOf('service', PASSWORD),
    KEY_DIRECTORY: 'postgres',
    KEY_PUBLICATION_SECONDS: '1',
    SHUTDOWN_GRACE_MS: '0',
  });
}

function url(): string {
  return `http://127.0.0.1:${backend.port}`;
}

function askReadiness(): Promise<HttpAnswer> {
  return send(`http://127.0.0.1:${backend.managementPort}`, '/readyz');
}

async function untilReady(): Promise<void> {
  await until(
    () =>
      askReadiness()
        .then(({ status }) => status === 200)
        .catch(() => false),
    'the service is ready',
  );
}

function getToken(): Promise<string> {
  return getAccessToken(url(), DEMO_TOKEN_REQUEST.client_id, DEMO_TOKEN_REQUEST.client_secret);
}

function askLocation(token: string): Promise<HttpAnswer> {
  return send(url(), '/v1/locations/NYC_USA', { headers: { authorization: `Bearer ${token}` } });
}

function expectNoSecret(service: Program): void {
  expect(service.stderr()).toBe('');
  expect(service.stdout()).not.toContain(PASSWORD);
  expect(service.stdout()).not.toContain('PRIVATE');
}
