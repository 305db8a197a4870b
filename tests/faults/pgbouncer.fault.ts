import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { compactJws, generateSigningKey } from '../support/assertions.ts';
import { requestToken, send } from '../support/http.ts';
import { where } from '../support/installed.ts';
import { keepsStatements, startPgBouncer } from '../support/pg-bouncer.ts';
import { runProgram } from '../support/program.ts';
import { SEALED_KEYS } from '../support/sealed-keys.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const ISSUER = 'http://issuer.test';
const KEY = generateSigningKey('ES256');
const SERVER_CONNECTIONS = 3;
const TRANSACTION_MODE = {
  pool_mode: 'transaction',
  default_pool_size: String(SERVER_CONNECTIONS),
  max_prepared_statements: '100',
  ignore_startup_parameters: 'statement_timeout,lock_timeout',
};

type Form = Readonly<Record<string, string>>;

function assertion(): Form {
  const now = Math.floor(Date.now() / 1_000);
  const claims = { iss: 'signing', sub: 'signing', aud: ISSUER, iat: now, exp: now + 60, jti: randomUUID() };
  return {
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: compactJws({ alg: 'ES256', kid: 'the-key' }, claims, KEY.seal),
  };
}

/** Runs one of our programs, which has to succeed, and returns what it prints. */
async function run(DATABASE_URL: string, program: string, ...args: readonly string[]) {
  await using running = runProgram(`config/${program}.ts`, { DATABASE_URL }, args);
  running.process.stdin?.end();
  expect([await running.ended(), running.stderr()]).toEqual([0, expect.anything()]);
  return running.stdout();
}

where(keepsStatements(), describe)('a service behind PgBouncer in transaction mode', () => {
  let database: TestDatabase;
  let role: { readonly name: string; readonly url: string };
  let folder: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    role = await database.createRole();
    folder = await mkdtemp(join(tmpdir(), 'pgbouncer-service-'));
    await writeFile(join(folder, 'keys.json'), JSON.stringify({ keys: [{ ...KEY.jwk, kid: 'the-key' }] }));
    await run(database.url, 'migrate', '--grant-to', role.name);
  }, 120_000);
  afterAll(async () => {
    await database.query(`drop owned by ${role.name}`);
    await database.drop();
    await rm(folder, { recursive: true });
  });

  it('issues tokens by secrets and assertions, sees each change at the next request, and survives a restart of it', async () => {
    // The programs have a pooler with the role of an operator.
    await using operators = await startPgBouncer(database.url, TRANSACTION_MODE);
    const clients = (...args: readonly string[]) => run(operators.url, 'clients', ...args);
    const registered = await clients('add', 'a', '--name', 'A', '--scope', 'read', '--cost', '4', '--json');
    const keys = ['--method', 'private_key_jwt', '--jwks', join(folder, 'keys.json')];
    await clients('add', 'signing', '--name', 'S', '--scope', 'read', ...keys);
    const form = {
      grant_type: 'client_credentials',
      client_id: 'a',
      client_secret: String(JSON.parse(registered).client_secret),
    };

    await using first = await startPgBouncer(role.url, TRANSACTION_MODE);
    const { program, url, managementUrl } = await startServiceProcess({
      CLIENT_REPOSITORY: 'postgres',
      DATABASE_URL: first.url,
      DATABASE_POOL_SIZE: '10',
      ...SEALED_KEYS,
      KEY_PUBLICATION_SECONDS: '1',
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt',
      BASE_URL: ISSUER,
    });
    await using _ = program;
    const status = async (request: Form) => (await requestToken(url, request)).status;
    const statusesOf = (count: number) =>
      Promise.all(Array.from({ length: count }, (_, index) => status(index % 2 === 0 ? form : assertion())));
    expect(new Set(await statusesOf(400))).toEqual(new Set([200]));
    const sessions = await database.query(
      `select pid from pg_stat_activity where usename = '${role.name}' and backend_type = 'client backend'`,
    );
    expect(sessions.length).toBeGreaterThan(0);
    expect(sessions.length).toBeLessThanOrEqual(SERVER_CONNECTIONS);

    const used = assertion();
    expect([await status(used), await status(used)]).toEqual([200, 401]);
    for (let round = 0; round < 3; round += 1) {
      await clients('disable', 'a');
      expect(await Promise.all([form, form, form, form].map(status))).toEqual([401, 401, 401, 401]);
      await clients('enable', 'a');
      expect(await Promise.all([form, form, form, form].map(status))).toEqual([200, 200, 200, 200]);
    }
    expect(await clients('list')).toMatch(/\ba\b.*\bsigning\b/s);

    const token = String((await requestToken(url, form)).json()['access_token']);
    const headers = { authorization: `Bearer ${token}` };
    const use = async () => (await send(url, '/v1/locations/NYC_USA', { headers })).status;
    expect(await use()).toBe(200);
    await run(operators.url, 'keys', 'revoke', '--no-wait', String(decodeProtectedHeader(token).kid));
    await until(async () => (await use()) === 401, 'the token of a revoked key is refused');

    const listen_port = new URL(first.url).port;
    await first[Symbol.asyncDispose]();
    await until(async () => (await status(form)) === 503, 'the pooler is missed');
    await using _second = await startPgBouncer(role.url, { ...TRANSACTION_MODE, listen_port });
    const readiness = async () => (await send(managementUrl, '/readyz')).status;
    await until(async () => (await readiness()) === 200, 'it is ready');
    await until(async () => (await statusesOf(20)).every((response) => response === 200), 'all requests get tokens');
    expect(new Set(await statusesOf(400))).toEqual(new Set([200]));
    expect(program.process.exitCode).toBeNull();
  }, 300_000);
});
