import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { compactJws, generateSigningKey } from '../support/assertions.ts';
import { DatabaseServer } from '../support/database-server.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { requestToken, send } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { runAt } from '../support/run-at.ts';
import { SEALED_KEYS } from '../support/sealed-keys.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const ISSUER = 'http://issuer.test';
const KEY = generateSigningKey('ES256');
const CLIENT = 'signing-client';

function assertion(jti: string): Readonly<Record<string, string>> {
  const now = Math.floor(Date.now() / 1_000);
  const claims = { iss: CLIENT, sub: CLIENT, aud: ISSUER, iat: now, exp: now + 300, jti };
  return {
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: compactJws({ alg: 'ES256', kid: 'the-key' }, claims, KEY.seal),
  };
}

/**
 * The first status that is not 503: after `/readyz` is 200, the service may still have a broken connection, or have
 * failed to read keys just before.
 */
async function decided(request: () => Promise<number>): Promise<number> {
  let status = 503;
  await until(async () => {
    status = await request();
    return status !== 503;
  }, 'the request is decided');
  return status;
}

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'failover-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('a failover to a standby that is promoted, behind a name that follows the primary', () => {
  it('loses nothing with synchronous replication: 503 until the name stands for it, and then tokens without a restart', async () => {
    await using primary = await DatabaseServer.create();
    const direct = primary.urlOf('postgres', 'postgres');
    await using standby = await primary.createStandby();
    await runAt(direct, `alter system set synchronous_standby_names = 'standby'`);
    await runAt(direct, 'select pg_reload_conf()');
    await using name = await FaultyProxy.to(primary.port);
    const DATABASE_URL = primary.urlOf('postgres', 'postgres', name.port);
    const run = async (program: string, args: readonly string[]) => {
      await using running = runProgram(`config/${program}.ts`, { DATABASE_URL }, args);
      expect([await running.ended(), running.stderr()]).toEqual([0, expect.anything()]);
      return running.stdout();
    };
    await run('migrate', []);
    const added = await run('clients', ['add', 'a', '--name', 'A', '--scope', 'read', '--cost', '4', '--json']);
    const form = {
      grant_type: 'client_credentials',
      client_id: 'a',
      client_secret: String(JSON.parse(added).client_secret),
    };
    const { program, url, managementUrl } = await startServiceProcess({
      CLIENT_REPOSITORY: 'postgres',
      ...SEALED_KEYS,
      KEY_PUBLICATION_SECONDS: '1',
      DATABASE_URL,
      BASE_URL: ISSUER,
    });
    await using _ = program;
    const token = String((await requestToken(url, form)).json()['access_token']);
    const use = async () =>
      (await send(url, '/v1/locations/NYC_USA', { headers: { authorization: `Bearer ${token}` } })).status;
    await run('clients', ['add', 'late', '--name', 'L', '--scope', 'read', '--cost', '4']);
    await run('keys', ['revoke', '--no-wait', String(decodeProtectedHeader(token).kid)]);
    await until(async () => (await use()) === 401, 'the token is refused');

    const statuses: number[] = [];
    let running = true;
    const load = (async () => {
      while (running) statuses.push((await requestToken(url, form)).status);
    })();
    await until(() => statuses.includes(200), 'there is load');
    await primary.kill();
    await until(() => statuses.includes(503), 'the primary is missed');
    await standby.promote();
    name.target = standby.port;
    await until(async () => (await send(managementUrl, '/readyz')).status === 200, 'it is ready');
    // With the one that is in progress.
    const before = statuses.length + 1;
    await until(() => statuses.length > before + 20, 'it serves');
    running = false;
    await load;
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect(statuses.slice(before).every((status) => status === 200)).toBe(true);
    expect(await decided(use)).toBe(401);
    expect(program.process.exitCode).toBeNull();
    expect(await run('clients', ['list'])).toContain('late');
  }, 300_000);
});

describe('a failover to a standby that lacks the last seconds', () => {
  it('takes back what was written in them but a revocation, as docs/runbook.md says, and the service goes on without a restart', async () => {
    await using server = await DatabaseServer.create();
    const DATABASE_URL = server.urlOf('postgres', 'postgres');
    /** Runs one of our programs, and returns what it prints. */
    const run = async (program: string, args: readonly string[]) => {
      await using running = runProgram(`config/${program}.ts`, { DATABASE_URL }, args);
      running.process.stdin?.end();
      expect([await running.ended(), running.stderr()]).toEqual([0, expect.anything()]);
      return running.stdout();
    };
    await run('migrate', []);
    const { program, url, managementUrl } = await startServiceProcess({
      CLIENT_REPOSITORY: 'postgres',
      ...SEALED_KEYS,
      KEY_PUBLICATION_SECONDS: '1',
      DATABASE_URL,
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt',
      BASE_URL: ISSUER,
    });
    await using _ = program;
    const untilReady = () => until(async () => (await send(managementUrl, '/readyz')).status === 200, 'it is ready');
    const add = async (id: string) => {
      const printed = await run('clients', ['add', id, '--name', 'A', '--scope', 'read', '--cost', '4', '--json']);
      const client_secret = String(JSON.parse(printed).client_secret);
      return { grant_type: 'client_credentials', client_id: id, client_secret };
    };
    const status = async (form: Readonly<Record<string, string>>) => (await requestToken(url, form)).status;

    const early = await add('early');
    const jwks = join(folder, 'keys.json');
    await writeFile(jwks, JSON.stringify({ keys: [{ ...KEY.jwk, kid: 'the-key' }] }));
    const signing = ['add', CLIENT, '--name', 'S', '--scope', 'read', '--method', 'private_key_jwt', '--jwks', jwks];
    await run('clients', signing);
    await server.keepCopy();
    await untilReady();

    const used = assertion('one');
    expect([await status(used), await status(used)]).toEqual([200, 401]);
    const late = await add('late');
    expect(await status(late)).toBe(200);
    const token = String((await requestToken(url, early)).json()['access_token']);
    const use = async () =>
      (await send(url, '/v1/locations/NYC_USA', { headers: { authorization: `Bearer ${token}` } })).status;
    expect(await use()).toBe(200);
    await run('clients', ['disable', 'early']);
    expect(await status(early)).toBe(401);
    const kid = String(decodeProtectedHeader(token).kid);
    await run('keys', ['revoke', '--no-wait', kid]);
    await until(async () => (await use()) === 401, 'the token is refused');

    await server.failOver();
    await untilReady();
    await until(async () => (await status(early)) === 200, 'the client that was disabled gets tokens');
    expect(await decided(() => status(late))).toBe(401);
    expect([await decided(() => status(used)), await decided(() => status(used))]).toEqual([200, 401]);
    // The service has seen the revocation. One that starts has not.
    expect(await decided(use)).toBe(401);
    await run('keys', ['revoke', '--no-wait', kid]);
    expect(await server.query('select kid from key_ring where kid = $1 and sealed is null', [kid])).toHaveLength(1);
  }, 300_000);
});
