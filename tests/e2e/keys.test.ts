import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { manageKeys } from '../../config/programs/keys-program.ts';
import { startFromEnvironment } from '../../config/service.ts';
import { inWords } from '../../domain/problem.ts';
import type { Backend } from '../support/balancer.ts';
import { DatabaseServer } from '../support/database-server.ts';
import { getAccessToken, type HttpResponse, requestToken, send } from '../support/http.ts';
import { inspectDatabase } from '../support/inspect-database.ts';
import { problemsIn } from '../support/problems.ts';
import type { Program } from '../support/program.ts';
import { DEMO_TOKEN_REQUEST, freeBackend, startReplica } from '../support/replica.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { PLAIN_CLIENT, type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { SEALED_KEYS, storeDemoClient } from '../support/sealed-keys.ts';
import { until } from '../support/until.ts';

describe('a service with KEY_DIRECTORY=database', () => {
  const PASSWORD = 'database-password';

  let server: DatabaseServer;
  let backend: Backend;

  beforeAll(async () => {
    server = await DatabaseServer.create();
    await storeDemoClient({ query: (text, values) => server.query(text, values) });
    await server.query(`create role service login password '${PASSWORD}'`);
    await server.query('grant create on schema public to service');
    await server.query('grant select on clients to service');
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    await server.query('drop table if exists key_ring');
    backend = await freeBackend();
  });

  function settings() {
    return {
      CLIENT_REPOSITORY: 'postgres',
      DATABASE_URL: server.urlOf('service', PASSWORD),
      ...SEALED_KEYS,
      PUBLIC_METADATA: 'true',
      SHUTDOWN_GRACE_MS: '0',
    };
  }

  function start(): Program {
    return startReplica(backend, { BASE_URL: 'http://issuer.test', ...settings() });
  }

  function url(): string {
    return `http://127.0.0.1:${backend.port}`;
  }

  function askReadiness(): Promise<HttpResponse> {
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

  function askLocation(token: string): Promise<HttpResponse> {
    return send(url(), '/v1/locations/NYC_USA', { headers: { authorization: `Bearer ${token}` } });
  }

  function ports() {
    return { PORT: String(backend.port), MANAGEMENT_PORT: String(backend.managementPort) };
  }

  /** In this process, for tests that send it no signal. */
  function startHere(more: Readonly<Record<string, string>> = {}): Promise<ServiceUnderTest> {
    return startServiceUnderTest({ environment: { ...settings(), ...ports(), ...more } });
  }

  /** Why it does not start. */
  async function problemsOf(more: Readonly<Record<string, string>>): Promise<readonly string[]> {
    const started = await startFromEnvironment({ BASE_URL: 'http://issuer.test', ...settings(), ...ports(), ...more });
    if (started.ok) throw new Error('it starts');
    return problemsIn(started);
  }

  function expectNoSecret(log: string): void {
    expect(log).not.toContain(PASSWORD);
    expect(log).not.toMatch(/PRIVATE|eyJhbGciOiJkaXIi/);
  }

  it('issues tokens as soon as it starts again, also after SIGKILL, and refuses none of those from before', async () => {
    const tokens: string[] = [];
    const issueAndVerify = async () => {
      await untilReady();
      tokens.push(await getToken());
      for (const token of tokens) expect((await askLocation(token)).status).toBe(200);
    };
    {
      await using service = start();
      await issueAndVerify();
      service.process.kill('SIGKILL');
      await service.ended();
      expect(service.stderr()).toBe('');
      expectNoSecret(service.stdout());
    }
    for (let restart = 0; restart < 2; restart += 1) {
      await using service = await startHere();
      await issueAndVerify();
      expectNoSecret(service.logText());
    }
    expect(new Set(tokens.map((token) => decodeProtectedHeader(token).kid)).size).toBe(1);
    expect(await server.query('select step from key_ring order by step')).toEqual([{ step: '0' }, { step: '1' }]);
  });

  it('shares its keys with a second replica, which is ready at once', async () => {
    await using first = await startHere();
    await untilReady();
    const [url, token] = [`http://127.0.0.1:${backend.port}`, await getToken()];
    backend = await freeBackend();
    await using second = await startHere();
    await untilReady();
    expect((await askLocation(token)).status).toBe(200);
    const other = await getToken();
    const headers = { authorization: `Bearer ${other}` };
    expect((await send(url, '/v1/locations/NYC_USA', { headers })).status).toBe(200);
    const keySets = () =>
      Promise.all([url, `http://127.0.0.1:${backend.port}`].map((base) => send(base, '/oauth2/jwks')));
    await until(async () => {
      const [one, two] = await keySets();
      const keys = (one?.json()['keys'] ?? []) as readonly unknown[];
      return one?.text === two?.text && keys.length === 2;
    }, 'both know the next key');
    expect((await keySets())[0]?.headers['cache-control']).toBe('public, max-age=30');
    for (const service of [first, second]) expectNoSecret(service.logText());
  });

  it('starts while the database is unavailable, and answers 503 until it can read the ring', async () => {
    await server.kill();
    await using service = await startHere();
    const response = await requestToken(url(), DEMO_TOKEN_REQUEST);
    expect([response.status, response.json()['error']]).toEqual([503, 'temporarily_unavailable']);
    expect((await askReadiness()).text).toContain('the key ring could not be read yet');
    await server.start();
    await untilReady();
    expect((await askLocation(await getToken())).status).toBe(200);
    expectNoSecret(service.logText());
  });

  it('verifies with the keys that it knows while the database is unavailable', async () => {
    await using service = await startHere();
    await untilReady();
    const token = await getToken();
    await server.kill();
    await until(() => service.logText().includes('key_directory_unavailable'), 'the service notices the outage');
    expect((await askLocation(token)).status).toBe(200);
    // The check of the signing key may say something first.
    const isNoted = async () => /"key directory","ready":true,"note"/.test((await askReadiness()).text);
    await until(isNoted, 'the outage has lasted');
    expect((await askReadiness()).json()['checks']).toContainEqual({
      name: 'key directory',
      ready: true,
      note: expect.stringContaining('unavailable'),
      fix: expect.stringMatching(/PostgreSQL/),
    });
    await server.start();
    await until(() => service.logText().includes('key_directory_available'), 'the service notices that it is back');
    expectNoSecret(service.logText());
  });

  it('does not start on a table that it cannot use, and says why', async () => {
    await server.query('create table key_ring (kid text primary key, sealed text)');
    await server.query('grant select, insert, update, delete on key_ring to service');
    await expect(problemsOf({})).rejects.toThrow('table key_ring has no column algorithm, step, created_at');
  });

  it('does not start without the secret of a key that is in use, until that is back or the key is revoked', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
    try {
      {
        await using _service = await startHere();
        await untilReady();
      }
      const [file, other] = [join(folder, 'secret'), Buffer.alloc(32, 9).toString('base64')];
      writeFileSync(file, `${other}\n`, { mode: 0o600 });
      const refused = await problemsOf({ KEY_SECRET_FILE: file }).then(String, ({ message }) => message as string);
      const kids = (await server.query('select kid from key_ring')).map(({ kid }) => String(kid));
      expect(refused).toMatch(
        /^KEY_SECRET_FILE: the key \S+ cannot be opened: its secret is missing, whose id is [\w-]{16}: compare the file of KEY_SECRET_FILE, .* only if that is lost everywhere, revoke the key with npm run keys, which ends all of its tokens$/,
      );
      expect(kids.some((kid) => refused.includes(kid))).toBe(true);
      expect(refused).not.toContain(other);
      // With another algorithm too, it leaves nothing behind that the others could not open.
      await expect(problemsOf({ KEY_SECRET_FILE: file, TOKEN_SIGNING_ALG: 'ES256' })).rejects.toThrow(
        'KEY_SECRET_FILE',
      );
      expect((await server.query('select kid from key_ring')).map(({ kid }) => String(kid))).toEqual(kids);
      {
        await using _service = await startHere();
        await untilReady();
      }
      const { CLIENT_REPOSITORY: _storage, DATABASE_URL, ...more } = settings();
      const found = await inspectDatabase(DATABASE_URL, { ...more, KEY_SECRET_FILE: file });
      const problems = found.filter(({ state }) => state === 'problem');
      expect(problems.map(inWords)).toEqual([refused]);
      expect(await runInProcess(manageKeys, ['revoke', '--no-wait', '--all'], { DATABASE_URL })).toMatchObject({
        exitCode: 0,
      });
      await using _service = await startHere({ KEY_SECRET_FILE: file });
      await untilReady();
      expect(kids).not.toContain(decodeProtectedHeader(await getToken()).kid);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each([
    [
      'that others may write',
      0o622,
      Buffer.alloc(32, 1).toString('base64'),
      'must be writable only by its owner: chmod go-w',
    ],
    [
      'that is short',
      0o600,
      'c2hvcnQ=',
      'must have one secret in each line, at least 32 random bytes in base64 or base64url, and nothing else: openssl rand -base64 32 (line 1 of those that are not empty)',
    ],
  ])('does not start with a secret %s', async (_what, mode, text, problem) => {
    const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
    try {
      writeFileSync(join(folder, 'secret'), text);
      chmodSync(join(folder, 'secret'), mode);
      expect(await problemsOf({ KEY_SECRET_FILE: join(folder, 'secret') })).toEqual([`KEY_SECRET_FILE: ${problem}`]);
    } finally {
      rmSync(folder, { recursive: true });
    }
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
    const start = () => startServiceUnderTest({ environment: { KEY_FILE: file } });
    const before = await start();
    const token = await getAccessToken(before.url, PLAIN_CLIENT.client_id, 'plain-secret');
    await before.stop();

    await using after = await start();
    const response = await send(after.url, '/v1/locations/NYC_USA', { headers: { authorization: `Bearer ${token}` } });
    expect(response.status).toBe(200);
  });

  it.each([
    ['its group', 0o620],
    ['others', 0o602],
  ])('prevents the start if %s can write to the file', async (_who, mode) => {
    await chmod(file, mode);
    expect(problemsIn(await startFromEnvironment({ ...ENVIRONMENT, KEY_FILE: file, TOKEN_TYPO: '1' }))).toEqual([
      'TOKEN_TYPO: is not a setting of this service',
      'KEY_FILE: must be writable only by its owner: chmod go-w',
    ]);
    await chmod(file, 0o600);
  });
});
