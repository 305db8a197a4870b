import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { clientsTable } from '../support/clients-table.ts';
import { documentedMetrics } from '../support/documented-metrics.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { requestToken, send } from '../support/http.ts';
import { readSamples, type Sample, total } from '../support/read-samples.ts';
import { REGISTERED_CLIENT, REGISTERED_SECRET } from '../support/registered-client.ts';
import { type ServiceUnderTest, startServiceUnderTest } from '../support/running-service.ts';
import { SEALED_KEYS } from '../support/sealed-keys.ts';
import { asOperator, OPERATOR_TOKEN, readStatusPage } from '../support/status.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const DURATION = 'auth_database_statement_duration_seconds';
const CLIENTS = { dependency: 'client repository' };
const FORM = {
  grant_type: 'client_credentials',
  client_id: REGISTERED_CLIENT.clientId,
  client_secret: REGISTERED_SECRET,
};

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());

describe('the metrics of a service on PostgreSQL', () => {
  let service: ServiceUnderTest;
  let url: string;
  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    service = await startServiceUnderTest({
      environment: {
        CLIENT_REPOSITORY: 'postgres',
        ...SEALED_KEYS,
        DATABASE_URL: database.url,
        DATABASE_POOL_SIZE: '2',
        DATABASE_DEADLINE_MS: '2000',
        MANAGEMENT_PORT: String(port),
      },
    });
    await clientsTable(database).add(REGISTERED_CLIENT);
  });
  afterAll(() => service.stop());

  const samples = async (): Promise<readonly Sample[]> => readSamples((await send(url, '/metrics')).text);
  const statements = (now: readonly Sample[], outcome: string, dependency = 'client repository') =>
    total(now, `${DURATION}_count`, { dependency, outcome });
  const token = async () => (await requestToken(service.url, FORM)).status;

  it('are all documented', async () => {
    const names = (await samples()).map(({ name }) => name.replace(/_(bucket|sum|count)$/, ''));
    const documented = documentedMetrics();
    expect(names.filter((name) => !documented.includes(name))).toEqual([]);
  });

  it('count each statement of a request with its duration, and no probe', async () => {
    expect(await token()).toBe(200);
    const before = await samples();
    for (let time = 0; time < 3; time += 1) expect(await token()).toBe(200);
    const after = await samples();
    // A client that is cached needs one look-up.
    expect(statements(after, 'answered')).toBe(statements(before, 'answered') + 3);
    expect(statements(after, 'failed')).toBe(0);
    expect(total(after, `${DURATION}_sum`, { ...CLIENTS, outcome: 'answered' })).toBeLessThan(60);
    expect(statements(after, 'answered', 'key directory')).toBeGreaterThan(0);
  });

  it('show the connections of each use, the most, and the idle ones', async () => {
    await token();
    const now = await samples();
    const pool = (name: string) => total(now, `auth_database_${name}`, CLIENTS);
    expect(pool('connections')).toBeGreaterThanOrEqual(1);
    expect(pool('connections_idle')).toBeLessThanOrEqual(pool('connections'));
    expect(pool('connections_max')).toBe(2);
    expect(pool('statements_waiting')).toBe(0);
    expect(total(now, 'auth_database_connections_max', { dependency: 'key directory' })).toBe(2);
  });

  it('show the clock offset, and the age of what was read from the directory', async () => {
    const now = await samples();
    expect(now.filter(({ name }) => name === 'auth_clock_offset_seconds')).toHaveLength(1);
    expect(Math.abs(total(now, 'auth_clock_offset_seconds'))).toBeLessThan(2);
    expect(total(now, 'auth_key_directory_age_seconds')).toBeLessThan(60);
  });

  it('show statements that wait for a connection, that fail at the deadline, and the state of the database', async () => {
    const severity = (now: readonly Sample[]) => total(now, 'auth_check_severity', { check: 'client repository' });
    const isHealthy = async () => severity(await samples()) === 0;
    await until(isHealthy, 'the database is available');
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      await client.query('begin; lock table clients');
      const answers = Array.from({ length: 6 }, token);
      await until(
        async () => total(await samples(), 'auth_database_statements_waiting', CLIENTS) > 0,
        'statements wait for one of the two connections',
      );
      expect(await Promise.all(answers)).toEqual(Array.from({ length: 6 }, () => 503));
      await until(async () => severity(await samples()) === 2, 'the lock has lasted');
      const during = await samples();
      expect(total(during, 'auth_ready')).toBe(0);
      expect(statements(during, 'failed')).toBeGreaterThanOrEqual(6);
      // Half of the deadline, after which PostgreSQL gives up to wait for the lock.
      expect(total(during, `${DURATION}_bucket`, { ...CLIENTS, outcome: 'failed', le: '0.1' })).toBe(0);
    } finally {
      await client.end();
    }
    await until(isHealthy, 'the database is available again');
    expect(await token()).toBe(200);
    expect(total(await samples(), 'auth_database_statements_waiting', CLIENTS)).toBe(0);
  });
});

describe('the status of a service with a database', () => {
  it('says that the database is unavailable, what to do, and that requests are refused for it', async () => {
    const through = new URL(database.url);
    const proxy = await FaultyProxy.to(Number(through.port));
    through.host = `127.0.0.1:${proxy.port}`;
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    await using service = await startServiceUnderTest({
      environment: {
        CLIENT_REPOSITORY: 'postgres',
        DATABASE_URL: through.href,
        ...PATIENT,
        MANAGEMENT_PORT: String(port),
        MANAGEMENT_TOKEN: OPERATOR_TOKEN,
      },
    });
    expect((await requestToken(service.url, FORM)).status).toBe(200);
    expect(await readStatusPage(url)).toContain(' Ready ');

    await proxy[Symbol.asyncDispose]();
    const refused = await requestToken(service.url, FORM);
    expect(refused.status).toBe(503);
    const record = await readStatusPage(url, `?request=${refused.headers['x-request-id']}`);
    expect(record).toMatch(
      /dependency_unavailable .* Response 503 temporarily_unavailable .* Unavailable client repository/,
    );
    await until(async () => (await readStatusPage(url)).includes(' Not ready '), 'the fault has lasted');
    const { text } = await asOperator(url, '/status');
    expect(text).toMatch(
      /client repository.*database unavailable.* Fix: (start PostgreSQL|npm run doctor|correct host)/,
    );
    expect(text).not.toContain(`:${through.password}@`);
  });
});
