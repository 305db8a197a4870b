import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { compactJws, generateSigningKey } from '../support/assertions.ts';
import { DatabaseServer } from '../support/database-server.ts';
import { requestToken, send } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { runAt } from '../support/run-at.ts';
import { SEALED_KEYS } from '../support/sealed-keys.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { WorkloadKey } from '../support/workload-issuer.ts';

const ISSUER = 'http://issuer.test';
const KEY = generateSigningKey('ES256');
const PLATFORM = { issuer: 'https://platform.test', key: new WorkloadKey('platform', 'ES256') };
const RESOURCE = 'https://resource.test/';
const FIX = 'name the primary in DATABASE_URL';

type Form = Readonly<Record<string, string>>;

const claimsOf = (iss: string, sub: string) => {
  const now = Math.floor(Date.now() / 1_000);
  return { iss, sub, aud: ISSUER, iat: now, exp: now + 60, jti: randomUUID() };
};
const formOf = (client_assertion: string): Form => ({
  grant_type: 'client_credentials',
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  client_assertion,
});
const assertion = () => formOf(compactJws({ alg: 'ES256', kid: 'the-key' }, claimsOf('signing', 'signing'), KEY.seal));
const workload = (name: string) => formOf(PLATFORM.key.mint({ claims: claimsOf(PLATFORM.issuer, name) }));

/** Runs a program, and returns its exit code and what it prints. */
async function run(url: string, program: string, args: readonly string[] = [], more: Form = {}) {
  await using running = runProgram(`config/${program}.ts`, { DATABASE_URL: url, ...more }, args);
  running.process.stdin?.end();
  return { code: await running.ended(), stdout: running.stdout(), stderr: running.stderr() };
}

let opened: AsyncDisposableStack;
let primary: DatabaseServer;
let standby: DatabaseServer;
let urls: Readonly<Record<'primary' | 'standby', string>>;
/** The request of a client with a secret. */
let form: Form;
let issuersFile: string;

beforeEach(async () => {
  opened = new AsyncDisposableStack();
  primary = opened.use(await DatabaseServer.create());
  const url = primary.urlOf('postgres', 'postgres');
  const add = async (...args: readonly string[]) => {
    const added = await run(url, 'clients', ['add', ...args, '--name', 'A', '--scope', 'read', '--json']);
    expect([added.code, added.stderr]).toEqual([0, expect.anything()]);
    return String(JSON.parse(added.stdout).client_secret);
  };
  expect((await run(url, 'migrate')).code).toBe(0);
  const secret = await add('a', '--cost', '4', '--resource', RESOURCE);
  form = { grant_type: 'client_credentials', client_id: 'a', client_secret: secret };
  const folder = await mkdtemp(join(tmpdir(), 'read-replica-'));
  opened.defer(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'keys.json'), JSON.stringify({ keys: [{ ...KEY.jwk, kid: 'the-key' }] }));
  issuersFile = join(folder, 'issuers.json');
  const trusted = { issuer: PLATFORM.issuer, jwks: { keys: [PLATFORM.key.jwk()] }, preset: 'none' };
  await writeFile(issuersFile, JSON.stringify([trusted]), { mode: 0o600 });
  await runAt(url, `update clients set credentials = credentials || $1 where client_id = 'a'`, [
    { federated_subjects: [{ issuer: PLATFORM.issuer, subject: 'workload', claims: {} }] },
  ]);
  await add('signing', '--method', 'private_key_jwt', '--jwks', join(folder, 'keys.json'));
  standby = opened.use(await primary.createStandby());
  urls = { primary: url, standby: standby.urlOf('postgres', 'postgres') };
}, 120_000);
afterEach(() => opened.disposeAsync());

async function startOnStandby(more: Form = {}) {
  const service = await startServiceProcess({
    CLIENT_REPOSITORY: 'postgres',
    DATABASE_URL: urls.standby,
    CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt,federated_jwt',
    CLIENT_ASSERTION_ISSUERS_FILE: issuersFile,
    KEY_PUBLICATION_SECONDS: '1',
    BASE_URL: ISSUER,
    ...more,
  });
  opened.use(service.program);
  const readiness = async () => (await send(service.managementUrl, '/readyz')).json() as { readonly status: string };
  const untilReady = () => until(async () => (await readiness()).status === 'ready', 'it is ready');
  const status = async (request: Form) => (await requestToken(service.url, request)).status;
  return { ...service, readiness, untilReady, status };
}

const setLock = (lock: '!' | '') =>
  runAt(
    urls.primary,
    `update clients set client_secret = $1 || pg_catalog.ltrim(client_secret, '!') where client_id = 'a'`,
    [lock],
  );

describe('a service whose DATABASE_URL names a streaming standby', () => {
  it('looks up secrets, keys, resources and identities there, and no assertion works, since its use cannot be recorded', async () => {
    const { untilReady, status } = await startOnStandby();
    await untilReady();
    expect(await status(form)).toBe(200);
    expect(await status({ ...form, resource: RESOURCE })).toBe(200);
    expect(await status({ ...form, resource: 'https://other.test/' })).toBe(400);
    expect(await status({ ...form, client_secret: 'wrong' })).toBe(401);
    const signed = assertion();
    expect(await status(signed)).toBe(503);
    expect([await status(workload('workload')), await status(workload('other'))]).toEqual([200, 401]);
  }, 120_000);

  it('sees a change when the standby has applied it, and at the next request with synchronous_commit = remote_apply', async () => {
    const { untilReady, status } = await startOnStandby();
    await untilReady();
    expect(await status(form)).toBe(200);
    await standby.query('select pg_wal_replay_pause()');
    await setLock('!');
    for (let request = 0; request < 20; request += 1) expect(await status(form)).toBe(200);
    await standby.query('select pg_wal_replay_resume()');
    await until(async () => (await status(form)) === 401, 'the change has arrived');

    await runAt(urls.primary, `alter system set synchronous_standby_names = 'standby'`);
    await runAt(urls.primary, `alter system set synchronous_commit = 'remote_apply'`);
    await runAt(urls.primary, 'select pg_reload_conf()');
    await until(async () => {
      const rows = await primary.query(`select from pg_stat_replication where sync_state = 'sync'`);
      return rows.length === 1;
    }, 'the standby is synchronous');
    for (let change = 0; change < 20; change += 1) {
      const isLocked = change % 2 === 1;
      await setLock(isLocked ? '!' : '');
      expect(await status(form)).toBe(isLocked ? 401 : 200);
    }
  }, 120_000);

  it('goes on while the standby is promoted: no request fails, and what the new primary changes counts', async () => {
    const { untilReady, status } = await startOnStandby();
    await untilReady();
    const statuses: number[] = [];
    let isRunning = true;
    const load = (async () => {
      while (isRunning) statuses.push(await status(form), await status(workload('workload')));
    })();
    await until(() => statuses.length > 20, 'there is load');
    await primary.kill();
    await standby.promote();
    const before = statuses.length;
    await until(() => statuses.length > before + 20, 'it serves');
    isRunning = false;
    await load;
    expect(new Set(statuses)).toEqual(new Set([200]));
    const disabled = await run(urls.standby, 'clients', ['disable', 'a']);
    expect([disabled.code, await status(form)]).toEqual([0, 401]);
  }, 120_000);

  it('is not ready with a shared key directory, names the fix, and is ready when the standby is promoted', async () => {
    const { program, readiness, untilReady, status } = await startOnStandby({ ...SEALED_KEYS });
    const isReadOnly = expect.objectContaining({ note: expect.stringContaining('(25006)') });
    await until(async () => JSON.stringify(await readiness()).includes('25006'), 'the standby is noticed');
    expect(await readiness()).toMatchObject({
      status: 'not_ready',
      checks: expect.arrayContaining([
        isReadOnly,
        expect.objectContaining({ reason: 'no key of the ring may sign any more, and none could be added' }),
      ]),
    });
    for (const dependency of ['key directory', 'used assertions']) {
      await program.printed(new RegExp(`"dependency":"${dependency}","event":"database_unavailable".*${FIX}`));
    }
    await standby.promote();
    await untilReady();
    expect([await status(form), await status(assertion())]).toEqual([200, 200]);
  }, 120_000);

  it('has programs that read there, and that name the fix if they have to write', async () => {
    expect(await run(urls.standby, 'clients', ['list'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('signing'),
    });
    expect(await run(urls.standby, 'clients', ['show', 'a'])).toMatchObject({ code: 0 });
    expect(await run(urls.standby, 'keys', ['list'])).toMatchObject({ code: 0 });
    const postgres = { CLIENT_REPOSITORY: 'postgres' };
    expect(await run(urls.standby, 'doctor', [], postgres)).toMatchObject({ code: 0 });
    const shared = { ...postgres, ...SEALED_KEYS };
    const doctor = await run(urls.standby, 'doctor', [], shared);
    expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringContaining(FIX)]);
    for (const args of [
      ['disable', 'a'],
      ['add', 'b', '--name', 'B', '--scope', 'read', '--cost', '4'],
    ]) {
      expect(await run(urls.standby, 'clients', args)).toMatchObject({
        code: 3,
        stderr: expect.stringContaining(FIX),
      });
    }
    const migrated = await run(urls.standby, 'migrate');
    expect([migrated.code, migrated.stderr]).toEqual([3, expect.stringContaining('during recovery')]);
  }, 120_000);
});

describe('a standby without the tables', () => {
  it('makes the service wait with the fix in the log, and it is ready when the tables arrive', async () => {
    await runAt(urls.primary, 'create database empty');
    await until(
      async () => (await standby.query(`select from pg_database where datname = 'empty'`)).length === 1,
      'it arrives',
    );
    const inEmpty = (url: string) => url.replace(/postgres$/, 'empty');
    const { program, readiness, untilReady } = await startOnStandby({
      DATABASE_URL: inEmpty(urls.standby),
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post',
    });
    expect(await readiness()).toMatchObject({ status: 'not_ready' });
    await program.printed(new RegExp(FIX));
    expect((await run(inEmpty(urls.primary), 'migrate')).code).toBe(0);
    await untilReady();
  }, 120_000);
});
