import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { startFromEnvironment } from '../../config/service.ts';
import { loadConfiguration } from '../../config/settings/load-configuration.ts';
import type { Backend } from '../support/balancer.ts';
import { DatabaseServer } from '../support/database-server.ts';
import { getAccessToken, type HttpAnswer, requestToken, send } from '../support/http.ts';
import { type Program, runProgram } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST, freeBackend, startReplica } from '../support/replica.ts';
import { startProblems } from '../support/start-problems.ts';
import { until } from '../support/until.ts';

describe('a single service with KEY_DIRECTORY=postgres', () => {
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

describe('KEY_FILE', () => {
  const ENVIRONMENT = {
    CLIENT_REPOSITORY: 'memory',
    CLIENTS_FILE: 'config/demo/clients.json',
    PORT: '0',
    MANAGEMENT_PORT: '0',
    SHUTDOWN_GRACE_MS: '0',
    BASE_URL: 'http://issuer.test',
  };

  let folder: string;
  let file: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'key-'));
    file = join(folder, 'key.pem');
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await writeFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('keeps tokens valid across a restart', async () => {
    const start = async () => {
      const program = runProgram('config/main.ts', { ...ENVIRONMENT, KEY_FILE: file });
      const [, port] = await program.printed(/"event":"started".*"port":(\d+)/);
      return { program, url: `http://127.0.0.1:${port}` };
    };
    const before = await start();
    const token = await getAccessToken(before.url, 'demo-client', 'demo-secret');
    before.program.process.kill('SIGTERM');
    expect(await before.program.ended()).toBe(0);

    const after = await start();
    await using _program = after.program;
    const answer = await send(after.url, '/v1/locations/NYC_USA', { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(200);
  });

  /** What prevents the start. */
  function problems(more: Readonly<Record<string, string>>): readonly string[] {
    const loaded = loadConfiguration({ ...ENVIRONMENT, ...more }, readTextFile);
    return loaded.ok ? [] : loaded.problem;
  }

  it.each([
    [
      'that is not a key',
      { KEY_FILE: 'package.json' },
      'KEY_FILE: must be a private key as PKCS#8 PEM without a passphrase, or as a JWK',
    ],
    [
      'that does not exist',
      { KEY_FILE: '/no-such-folder/key' },
      'KEY_FILE: cannot be read: there is no file /no-such-folder/key (ENOENT)',
    ],
  ])('prevents the start if it names a file %s', (_name, environment, problem) => {
    expect(problems(environment)).toEqual([problem]);
  });

  it.each([
    ['its group', 0o620],
    ['others', 0o602],
  ])('prevents the start if %s can write to the file', async (_who, mode) => {
    await chmod(file, mode);
    expect(await startFromEnvironment({ ...ENVIRONMENT, KEY_FILE: file, TOKEN_TYPO: '1' })).toEqual({
      ok: false,
      problem: [
        'TOKEN_TYPO: is not a setting of this service',
        'KEY_FILE: must be writable only by its owner (chmod go-w)',
      ],
    });
    await chmod(file, 0o600);
  });

  it('cannot be combined with a key rotation', () => {
    const found = problems({ KEY_FILE: file, KEY_ROTATION_SECONDS: '3600' });
    expect(found).toEqual([expect.stringContaining('KEY_ROTATION_SECONDS: must be 0 if KEY_FILE is set')]);
  });
});
