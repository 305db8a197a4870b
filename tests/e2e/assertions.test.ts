import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { manageClients } from '../../config/programs/clients-program.ts';
import { startFromEnvironment } from '../../config/service.ts';
import { compactJws, generateSigningKey } from '../support/assertions.ts';
import { addWorkload } from '../support/client-subjects.ts';
import { CREATE_CLIENTS, clientsTable } from '../support/clients-table.ts';
import { freePort } from '../support/free-port.ts';
import { type HttpResponse, requestToken, send } from '../support/http.ts';
import { keySetResponse } from '../support/key-set-server.ts';
import { problemsIn } from '../support/problems.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { SEALED_KEYS } from '../support/sealed-keys.ts';
import { startServiceProcess } from '../support/service-process.ts';
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

describe('private_key_jwt', () => {
  const ISSUER = 'http://issuer.test';
  const KEY = generateSigningKey('ES256');
  const CLIENT = {
    client_id: 'signing-client',
    client_name: 'A client without a secret',
    scope: 'read',
    jwks: { keys: [{ ...KEY.jwk, kid: 'the-key' }] },
  };
  const METHOD = { CLIENT_AUTHENTICATION_METHODS: 'private_key_jwt', BASE_URL: ISSUER };

  const REPLAYS = 24;

  let lastId = 0;
  function freshAssertion(): string {
    lastId += 1;
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: CLIENT.client_id, sub: CLIENT.client_id, aud: ISSUER, iat: now, exp: now + 300 };
    return compactJws({ alg: 'ES256', kid: 'the-key' }, { ...claims, jti: `one-${lastId}` }, KEY.seal);
  }

  function ask(url: string, assertion = freshAssertion()): Promise<HttpResponse> {
    return requestToken(url, {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    });
  }

  /** Sends one assertion many times at once, to these services by turns, each time on a new connection. */
  async function replay(...urls: readonly string[]): Promise<readonly number[]> {
    const assertion = freshAssertion();
    const answers = Array.from({ length: REPLAYS }, (_, index) => ask(urls[index % urls.length] ?? '', assertion));
    return (await Promise.all(answers)).map(({ status }) => status).toSorted();
  }

  const ONE_TOKEN = [200, ...Array<number>(REPLAYS - 1).fill(401)];

  describe('a service with clients in memory', () => {
    it('accepts an assertion once, and counts it', async () => {
      const port = String(await freePort());
      await using service = await startServiceUnderTest({
        environment: { ...METHOD, MANAGEMENT_PORT: port },
        clients: [CLIENT],
      });
      expect(await replay(service.url)).toEqual(ONE_TOKEN);
      const { text } = await send(`http://127.0.0.1:${port}`, '/metrics');
      expect(total(readSamples(text), 'auth_used_assertions')).toBe(1);
      expect(total(readSamples(text), 'auth_used_assertions_max')).toBe(1_000_000);
      expect(service.logText()).toContain('"reason":"assertion_replayed"');
      expect(service.logText()).not.toMatch(/eyJ|one-/);
    });
  });

  describe('two replicas with PostgreSQL', () => {
    let database: TestDatabase;
    beforeAll(async () => {
      database = await createTestDatabase();
    }, 120_000);
    afterAll(() => database.drop());

    const shared = () => ({
      ...METHOD,
      CLIENT_REPOSITORY: 'postgres',
      ...SEALED_KEYS,
      KEY_PUBLICATION_SECONDS: '1',
      DATABASE_URL: database.url,
      // No fault of this test is a slow machine.
      DATABASE_DEADLINE_MS: '30000',
    });

    it('accept an assertion once between them, and answer 503 while the store is out of reach', async () => {
      await migrateDatabase(database.url);
      const services = await Promise.all([startServiceProcess(shared()), startServiceProcess(shared())]);
      await using first = services[0].program;
      await using second = services[1].program;
      await database.query(
        `insert into clients (client_id, client_secret, client_name, scope, credentials) values ($1, '*', 'name', 'read', $2)`,
        [CLIENT.client_id, { jwks: CLIENT.jwks }],
      );
      const [one, two] = services.map(({ url }) => url);
      await until(async () => (await ask(String(one))).status === 200, 'the first replica issues tokens');
      await until(async () => (await ask(String(two))).status === 200, 'the second replica issues tokens');
      await until(async () => {
        expect(await replay(String(one), String(two))).toEqual(ONE_TOKEN);
        return services.every(({ program }) => program.stdout().includes('"reason":"assertion_replayed"'));
      }, 'both replicas refused a replay');

      await database.query('alter table used_assertions rename to moved');
      const assertion = freshAssertion();
      const unavailable = await ask(String(one), assertion);
      expect([unavailable.status, unavailable.json()['error']]).toEqual([503, 'temporarily_unavailable']);
      expect(unavailable.headers['retry-after']).toBeDefined();
      await database.query('alter table moved rename to used_assertions');
      expect((await ask(String(two), assertion)).status).toBe(200);
      await until(async () => (await ask(String(one))).status === 200, 'the first replica issues tokens again');
      for (const program of [first, second]) {
        expect(program.stdout()).not.toMatch(/eyJ|one-/);
        expect(program.stderr()).toBe('');
      }
    });
  });
});

describe('federated_jwt', () => {
  type Service = ServiceUnderTest & { readonly managementUrl: string };

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

  /** In this process, with the files that its settings name. */
  async function start(environment: Readonly<Record<string, string>>): Promise<Service> {
    const port = await freePort();
    const { CLIENTS_FILE, CLIENT_ASSERTION_ISSUERS_FILE } = environment;
    const paths = [CLIENTS_FILE, CLIENT_ASSERTION_ISSUERS_FILE].flatMap((path) => path || []);
    const service = await startServiceUnderTest({
      environment: { ...environment, MANAGEMENT_PORT: String(port) },
      files: Object.fromEntries(paths.map((path) => [path, readFileSync(path, 'utf8')])),
    });
    opened.push(() => service.stop());
    return Object.assign(service, { managementUrl: `http://127.0.0.1:${port}` });
  }

  const lastReason = (service: Service) => service.logLines().findLast(({ reason }) => reason)?.['reason'];

  function present({ url }: Service, assertion: string) {
    return requestToken(url, {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    });
  }

  async function statusOf(service: Service, issuer: WorkloadIssuer): Promise<number> {
    return (await present(service, issuer.mint(AUDIENCE))).status;
  }

  /** `npm run clients -- explain`, in this process. */
  function explain(environment: Readonly<Record<string, string>>, assertion: string) {
    return runInProcess(manageClients, ['explain'], environment, assertion);
  }

  const isServed = (service: Service, issuer: WorkloadIssuer) => async () => (await statusOf(service, issuer)) === 200;

  async function metric({ managementUrl }: Service, name: string): Promise<readonly string[]> {
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

      const outages = () => service.logLines().filter(({ event }) => event === 'key_set_unavailable').length;
      const outagesBefore = outages();
      await kubernetes.keySet.leave();
      await until(() => outages() > outagesBefore, 'the service notices that the issuer is down');
      expect(await statusOf(service, kubernetes)).toBe(200);
      // A key that the set does not have may be newer than the set: nobody can tell whether the token is good.
      expect((await present(service, kubernetes.mint(AUDIENCE, {}, { kid: 'new' }))).status).toBe(503);
      expect(await metric(service, 'auth_issuer_key_sets{state="stale"}')).toEqual([
        'auth_issuer_key_sets{state="stale"} 1',
      ]);
      expect(service.logText()).not.toMatch(/eyJ/);
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
      expect(lastReason(service)).toBe('assertion_key_unknown');
      issuer.keySet.answer = keySetResponse(issuer.keySetOf(next.jwk()));
      await until(async () => (await present(service, assertion())).status === 200, 'the set is fetched again');
      expect(await statusOf(service, issuer)).toBe(200);
    });

    it('does not start with rules that are too weak or with issuers that are wrong, and names every one', async () => {
      const weak = { ...ruleOf(platformOf('github-actions')), claims: {} };
      const entries = PLATFORMS.slice(0, 2).map((platform) =>
        entryOf(platform, { jwks_uri: 'http://127.0.0.1:9/keys' }),
      );
      const environment = async (trusted: unknown, federated_subjects: unknown) => ({
        ...(await settings([])),
        CLIENT_REPOSITORY: 'memory',
        CLIENT_ASSERTION_ISSUERS_FILE: await write('issuers.json', trusted),
        CLIENTS_FILE: await write('clients.json', [
          { client_id: 'c', client_name: 'C', scope: 's', federated_subjects },
        ]),
      });
      const problems = async (given: Readonly<Record<string, string>>) => {
        const started = await startFromEnvironment(given);
        return problemsIn(started).join('\n');
      };
      const rules = await problems(await environment(entries, [weak, { ...weak, issuer: 'https://other.test' }]));
      expect(rules).toContain(
        'CLIENTS_FILE: entry 0: client c: federated_subjects entry 0 claims must have /repository_id',
      );
      expect(rules).toContain('federated_subjects entry 1 issuer is not a trusted issuer');
      const wrong = await problems(
        await environment([{ issuer: 'a', jwks_uri: 'http://issuer.test/keys' }, { issuer: 'b' }], []),
      );
      expect(wrong).toContain('CLIENT_ASSERTION_ISSUERS_FILE: entry 0: jwks_uri must be an https URL');
      expect(wrong).toContain('CLIENT_ASSERTION_ISSUERS_FILE: entry 1: it must have either jwks_uri or jwks');
      await chmod(join(folder, 'issuers.json'), 0o622);
      const other = await problems({
        ...(await settings([])),
        CLIENT_REPOSITORY: 'memory',
        CLIENTS_FILE: 'config/demo/clients.json',
      });
      expect(other).toContain('CLIENT_ASSERTION_ISSUERS_FILE: must be writable only by its owner');
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

    it('starts on a table with the five columns alone, and uses the others as soon as migrate has added them', async () => {
      await database.query(`${CREATE_CLIENTS}; alter table clients drop column credentials, drop column details`);
      await database.query(
        `insert into clients (client_id, client_secret, client_name, scope) values ('plain', '*', 'A name', 'read')`,
      );
      const { managementUrl } = await start(await onPostgres());
      const notes = async () => (await send(managementUrl, '/readyz')).text;
      expect(await notes()).toContain('npm run migrate adds the others');
      await migrateDatabase(database.url);
      await until(async () => !(await notes()).includes('npm run migrate adds the others'), 'the note has ended');
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
      const { setDetails } = clientsTable(database);
      const rule = ruleOf(github.platform);
      await setDetails('github-actions', { federated_subjects: [{ ...rule, claims: {} }] });
      expect(await statusOf(service, github)).toBe(401);
      expect(lastReason(service)).toBe('federated_rule_refused');
      expect(service.logLines().at(-1)).toMatchObject({
        detail: expect.stringMatching(/^claims must have \/repository_id/),
      });
      const { stderr } = await explain(await onPostgres(), github.mint(AUDIENCE));
      expect(stderr).toMatch(/^Detail: claims must have \/repository_id/m);
      await setDetails('github-actions', { federated_subjects: [rule] });
      expect(await statusOf(service, github)).toBe(200);

      await database.query(`update clients set client_secret = '!*' where client_id = 'github-actions'`);
      expect(await statusOf(service, github)).toBe(401);
      expect(lastReason(service)).toBe('client_disabled');
      await database.query(`update clients set client_secret = '*' where client_id = 'github-actions'`);
      expect(await statusOf(service, github)).toBe(200);
      await setDetails('github-actions', {});
      expect(await statusOf(service, github)).toBe(401);
    });
  });
});
