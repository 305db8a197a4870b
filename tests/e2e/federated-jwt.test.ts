import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { manageClients } from '../../config/capabilities/clients-program.ts';
import { loadConfiguration } from '../../config/settings/load-configuration.ts';
import { addWorkload } from '../support/client-subjects.ts';
import { requestToken } from '../support/http.ts';
import { keySetAnswer } from '../support/key-set-server.ts';
import { runProgram } from '../support/program.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import {
  entryOf,
  PLATFORMS,
  platformOf,
  ruleOf,
  tokenOf,
  WorkloadIssuer,
  WorkloadKey,
} from '../support/workload-issuer.ts';

const AUDIENCE = 'https://auth.test';

const opened: (() => PromiseLike<unknown>)[] = [];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'federated-jwt-'));
  opened.push(() => rm(folder, { recursive: true }));
});
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

async function write(name: string, value: unknown): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, JSON.stringify(value), { mode: 0o600 });
  return file;
}

let issuers: readonly WorkloadIssuer[];
beforeAll(async () => {
  issuers = await Promise.all(PLATFORMS.map(({ name }) => WorkloadIssuer.start(name)));
});
afterAll(async () => {
  for (const issuer of issuers) await issuer[Symbol.asyncDispose]();
});

async function settings(trusted: readonly WorkloadIssuer[], more: Readonly<Record<string, string>> = {}) {
  return {
    CLIENT_AUTHENTICATION_METHODS: 'federated_jwt',
    CLIENT_ASSERTION_ISSUERS_FILE: await write(
      'issuers.json',
      trusted.map((issuer) => issuer.entry()),
    ),
    CLIENT_ASSERTION_KEYS_REFRESH_SECONDS: '1',
    TOKEN_ISSUER: AUDIENCE,
    ...more,
  };
}

async function start(environment: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const service = await startServiceProcess(environment);
  opened.push(() => service.program[Symbol.asyncDispose]());
  return service;
}

function present({ url }: ServiceProcess, assertion: string) {
  return requestToken(url, {
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion,
  });
}

async function statusOf(service: ServiceProcess, issuer: WorkloadIssuer): Promise<number> {
  return (await present(service, issuer.mint(AUDIENCE))).status;
}

/** `npm run clients -- explain`, in this process. */
function explain(environment: Readonly<Record<string, string>>, assertion: string) {
  return runInProcess(manageClients, ['explain'], environment, assertion);
}

const isServed = (service: ServiceProcess, issuer: WorkloadIssuer) => async () =>
  (await statusOf(service, issuer)) === 200;

async function metric({ managementUrl }: ServiceProcess, name: string): Promise<readonly string[]> {
  const text = await (await fetch(`${managementUrl}/metrics`)).text();
  return text.split('\n').filter((line) => line.startsWith(name));
}

describe('federated_jwt with clients in memory', () => {
  const clients = PLATFORMS.map((platform) => {
    return { client_id: platform.name, client_name: 'W', scope: 'read', federated_subjects: [ruleOf(platform)] };
  });
  const inMemory = async () => settings(issuers, { CLIENTS_FILE: await write('clients.json', clients) });

  it('answers 503 until a key set was fetched, gives the workloads of five platforms tokens, and serves with the old keys while an issuer is down', async () => {
    const [kubernetes, github] = issuers;
    if (kubernetes === undefined || github === undefined) throw new Error('no issuers');
    await kubernetes.keySet.leave();
    const service = await start(await inMemory());
    await until(isServed(service, github), 'the other issuer');
    const refused = await present(service, kubernetes.mint(AUDIENCE));
    expect([refused.status, refused.json()]).toEqual([503, { error: 'temporarily_unavailable' }]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);

    // It needs no restart.
    await kubernetes.keySet.comeBack();
    for (const issuer of issuers) await until(isServed(service, issuer), issuer.platform.name);
    expect(await metric(service, 'auth_issuer_key_sets')).toEqual([
      'auth_issuer_key_sets{state="current"} 5',
      'auth_issuer_key_sets{state="stale"} 0',
      'auth_issuer_key_sets{state="absent"} 0',
    ]);
    const before = github.keySet.questions;
    await until(() => github.keySet.questions >= before + 2, 'two more fetches');

    const outages = () => service.program.stdout().match(/"event":"key_set_unavailable"/g)?.length ?? 0;
    const outagesBefore = outages();
    await kubernetes.keySet.leave();
    await until(() => outages() > outagesBefore, 'the service notices that the issuer is down');
    expect(await statusOf(service, kubernetes)).toBe(200);
    // A key that the set does not have may be newer than the set: nobody can tell whether the token is good.
    expect((await present(service, kubernetes.mint(AUDIENCE, {}, { kid: 'new' }))).status).toBe(503);
    expect(await metric(service, 'auth_issuer_key_sets{state="stale"}')).toEqual([
      'auth_issuer_key_sets{state="stale"} 1',
    ]);
    expect(service.program.stdout()).not.toMatch(/eyJ/);
    await kubernetes.keySet.comeBack();
  });

  it('refuses an assertion whose key the issuer has not published one refresh before, and then accepts it without a restart', async () => {
    const [issuer] = issuers;
    if (issuer === undefined) throw new Error('no issuer');
    const service = await start(await inMemory());
    await until(isServed(service, issuer), 'the issuer');
    const next = new WorkloadKey('next', issuer.platform.algorithm);
    const assertion = () => next.mint(tokenOf(issuer.platform, AUDIENCE));
    expect((await present(service, assertion())).status).toBe(401);
    await service.program.printed(/"reason":"assertion_key_unknown"/);
    issuer.keySet.answer = keySetAnswer(issuer.keySetOf(next.jwk()));
    await until(async () => (await present(service, assertion())).status === 200, 'the set is fetched again');
    expect(await statusOf(service, issuer)).toBe(200);
  });

  it('does not start with rules that are too weak or with issuers that are wrong, and names every one', async () => {
    const weak = { ...ruleOf(platformOf('github-actions')), claims: {} };
    const entries = PLATFORMS.slice(0, 2).map((platform) => entryOf(platform, { jwks_uri: 'http://127.0.0.1:9/keys' }));
    const environment = async (trusted: unknown, federated_subjects: unknown) => ({
      ...(await settings([])),
      CLIENT_REPOSITORY: 'memory',
      CLIENT_ASSERTION_ISSUERS_FILE: await write('issuers.json', trusted),
      CLIENTS_FILE: await write('clients.json', [{ client_id: 'c', client_name: 'C', scope: 's', federated_subjects }]),
    });
    /** What a start would print: the next one does. */
    const problems = (given: Readonly<Record<string, string>>) => {
      const loaded = loadConfiguration(given, readTextFile);
      return loaded.ok ? '' : loaded.problem.join('\n');
    };
    await using program = runProgram(
      'config/main.ts',
      await environment(entries, [weak, { ...weak, issuer: 'https://other.test' }]),
    );
    expect(await program.ended()).toBe(1);
    const rules = program.stderr();
    expect(rules).toContain('CLIENTS_FILE: entry 0: federated_subjects entry 0 claims must have /repository_id');
    expect(rules).toContain('federated_subjects entry 1 issuer is not a trusted issuer');
    const wrong = problems(
      await environment([{ issuer: 'a', jwks_uri: 'http://issuer.test/keys' }, { issuer: 'b' }], []),
    );
    expect(wrong).toContain('CLIENT_ASSERTION_ISSUERS_FILE: entry 0: jwks_uri must be an https URL');
    expect(wrong).toContain('CLIENT_ASSERTION_ISSUERS_FILE: entry 1: it must have either jwks_uri or jwks');
    await chmod(join(folder, 'issuers.json'), 0o622);
    await using other = runProgram('config/main.ts', {
      ...(await settings([])),
      CLIENT_REPOSITORY: 'memory',
      CLIENTS_FILE: 'config/demo/clients.json',
    });
    expect(await other.ended()).toBe(1);
    expect(other.stderr()).toContain('CLIENT_ASSERTION_ISSUERS_FILE: must be writable only by its owner');
    expect(rules + wrong).not.toMatch(/issuer\.test|other\.test/);
  });
});

describe('federated_jwt with clients in PostgreSQL', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  }, 120_000);
  afterAll(() => database.drop());

  const onPostgres = () =>
    settings(issuers, { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: database.url, CLIENTS_FILE: '', ...PATIENT });

  it('needs the tables of npm run migrate, and says so', async () => {
    const environment = {
      ...(await onPostgres()),
      PORT: '0',
      MANAGEMENT_PORT: '0',
      BASE_URL: AUDIENCE,
    };
    await using program = runProgram('config/main.ts', environment);
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toContain('table client_subjects does not exist: run npm run migrate');
    const { exitCode, stderr } = await explain(environment, 'x');
    expect([exitCode, stderr]).toEqual([
      3,
      'The database cannot be used: table client_subjects does not exist: run npm run migrate\n',
    ]);
  });

  it('gives the workloads of five platforms tokens, by the rules that are stored now', async () => {
    await migrateDatabase(database.url);
    const service = await start(await onPostgres());
    const github = issuers.find(({ platform }) => platform.name === 'github-actions');
    if (github === undefined) throw new Error('no issuer');
    for (const { platform } of issuers) await addWorkload(database, platform.name, [ruleOf(platform)]);
    for (const issuer of issuers) await until(isServed(service, issuer), issuer.platform.name);

    const explained = await explain(await onPostgres(), github.mint(AUDIENCE));
    expect(explained.stderr).toContain('The service accepts it for client github-actions.');

    // A row that was changed by hand and that the preset does not allow.
    await database.query(`update client_subjects set claims = '{}' where client_id = 'github-actions'`);
    expect(await statusOf(service, github)).toBe(401);
    await service.program.printed(/"reason":"federated_rule_refused"/);
    const { stderr } = await explain(await onPostgres(), github.mint(AUDIENCE));
    expect(stderr).toContain('rule of client github-actions: does not count, claims must have /repository_id');
    await database.query(`update client_subjects set claims = $1 where client_id = 'github-actions'`, [
      JSON.stringify(github.platform.conditions),
    ]);
    expect(await statusOf(service, github)).toBe(200);

    await database.query(`update clients set client_secret = '!*' where client_id = 'github-actions'`);
    expect(await statusOf(service, github)).toBe(401);
    await service.program.printed(/"reason":"client_disabled"/);
    await database.query(`update clients set client_secret = '*' where client_id = 'github-actions'`);
    expect(await statusOf(service, github)).toBe(200);
    await database.query(`delete from client_subjects where client_id = 'github-actions'`);
    expect(await statusOf(service, github)).toBe(401);
  });
});
