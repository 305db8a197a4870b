import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { compactJws, generateSigningKey } from '../support/assertions.ts';
import { freePort } from '../support/free-port.ts';
import { type HttpAnswer, requestToken, send } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { readSamples, total } from '../support/read-samples.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

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

function ask(url: string, assertion = freshAssertion()): Promise<HttpAnswer> {
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

let folder: string;
let clientsFile: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'private-key-jwt-'));
  clientsFile = join(folder, 'clients.json');
  writeFileSync(clientsFile, JSON.stringify([CLIENT]));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('a service with clients in memory', () => {
  it('accepts an assertion once, and counts it', async () => {
    const service = await startServiceProcess({ ...METHOD, CLIENTS_FILE: clientsFile });
    await using program = service.program;
    expect(await replay(service.url)).toEqual(ONE_TOKEN);
    await program.printed(/"reason":"assertion_replayed"/);
    const { text } = await send(service.managementUrl, '/metrics');
    expect(total(readSamples(text), 'auth_used_assertions')).toBe(1);
    expect(total(readSamples(text), 'auth_used_assertions_max')).toBe(1_000_000);
    expect(program.stdout()).not.toMatch(/eyJ|one-/);
    expect(program.stderr()).toBe('');
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
    KEY_DIRECTORY: 'postgres',
    KEY_PUBLICATION_SECONDS: '1',
    DATABASE_URL: database.url,
    // No fault of this test is a slow machine.
    DATABASE_DEADLINE_MS: '30000',
  });

  it('do not start before the tables are there, and say which command makes them', async () => {
    await using program = runProgram('config/main.ts', {
      ...shared(),
      PORT: String(await freePort()),
      MANAGEMENT_PORT: '0',
    });
    expect(await program.ended()).toBe(1);
    expect(program.stderr()).toContain('table client_keys does not exist: run npm run migrate');
  });

  it('accept an assertion once between them, and answer 503 while the store is out of reach', async () => {
    await migrateDatabase(database.url);
    const services = await Promise.all([startServiceProcess(shared()), startServiceProcess(shared())]);
    await using first = services[0].program;
    await using second = services[1].program;
    await database.query(
      `with client as (insert into clients (client_id, client_secret, client_name, scope)
          values ($1, '*', 'name', 'read') returning client_id, id::text)
        insert into client_keys (client_id, registration_id, key_id, jwk) select client_id, id, 'k', $2 from client`,
      [CLIENT.client_id, JSON.stringify(CLIENT.jwks.keys[0])],
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
