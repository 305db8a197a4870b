import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { openRepository } from '../adapters/postgres/open-repository.ts';
import { clientsTable } from '../support/clients-table.ts';
import { DatabaseServer } from '../support/database-server.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { type HttpResponse, requestToken, send } from '../support/http.ts';
import { GOOD_CLIENT, GOOD_SECRET } from '../support/running-service.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const ROLE = 'service';
const PASSWORD = 'database-password';
const DEADLINE_MS = 800;
/** Enough for a busy machine. A request that waits for a database without a deadline takes far longer, or for ever. */
const SLACK_MS = 10_000;

/** The program as `npm start` runs it, so that a crash or an unhandled rejection cannot hide. */
interface Service extends ServiceProcess {
  ask(): Promise<HttpResponse>;
  /** A token that it issued while the database was available. */
  token?: string;
}

let server: DatabaseServer;
let service: Service;

beforeAll(async () => {
  server = await DatabaseServer.create('-c', 'max_connections=20', '-c', 'superuser_reserved_connections=5');
  await server.query(`create role ${ROLE} login password '${PASSWORD}'`);
  await server.query(`grant create on schema public to ${ROLE}`);
}, 60_000);
afterAll(() => server.stop());

beforeEach(async () => {
  await server.query('drop table if exists clients, key_ring');
  const opened = await openRepository({ url: url(), poolSize: 1, deadlineMs: 5_000 });
  await opened.close();
  await addGoodClient();
});

afterEach(async () => {
  // After every fault: the process still runs, standard error is empty, and the log has no secret.
  service.program.process.kill('SIGTERM');
  expect(await service.program.ended()).toBe(0);
  expect(service.program.stderr()).toBe('');
  expect(service.program.stdout()).not.toContain(PASSWORD);
  expect(service.program.stdout()).not.toContain(GOOD_CLIENT.client_secret);
});

describe('a database that is down when the service starts', () => {
  it('is probed until it is up: 503 before, and tokens afterwards', async () => {
    await server.kill();
    service = await startService(url());
    await expectUnavailable();
    await server.start();
    await untilAvailable();
    await until(() => events().includes('database_available'), 'the log says so');
    expect(events()).toEqual(['database_unavailable', 'database_available']);
  });

  it('comes up with an unusable table: 503 until the table is repaired', async () => {
    await server.query('alter table clients rename column scope to scopes');
    await server.kill();
    service = await startService(url());
    await server.start();
    await until(() => events().includes('table_unusable'), 'the log names the problem');
    await expectUnavailable();
    await service.program.printed(/table clients has no column scope as the service needs it/);
    await server.query('alter table clients rename column scopes to scope');
    await untilAvailable();
  });

  it('may refuse the password at first', async () => {
    service = await startService(url('another-password'));
    await expectUnavailable();
    await service.program.printed(/"code":"28P01"/);
    await server.query(`alter role ${ROLE} password 'another-password'`);
    await untilAvailable();
    await server.query(`alter role ${ROLE} password '${PASSWORD}'`);
  });

  it('may have no free connection at first', async () => {
    const connections = await takeAllConnections();
    service = await startService(url());
    await expectUnavailable();
    await service.program.printed(/"code":"53300"/);
    await Promise.all(connections.map((connection) => connection.end()));
    await untilAvailable();
  });

  it('may be a read-only copy that has the table', async () => {
    await server.restartAsStandby();
    service = await startService(url());
    await untilAvailable();
    await server.restartAsPrimary();
    await untilAvailable();
  });
});

describe('a database that fails while the service runs', () => {
  it('is killed and restarted under load', async () => {
    await startAndGetToken();
    let loaded = true;
    const answers: HttpResponse[] = [];
    const load = Array.from({ length: 4 }, async () => {
      while (loaded) answers.push(await askInTime());
    });
    await until(() => answers.length > 20, 'there is load');
    await server.kill();
    await until(() => answers.at(-1)?.status === 503, 'it is noticed');
    await server.start();
    await until(() => answers.at(-1)?.status === 200, 'it is back');
    loaded = false;
    await Promise.all(load);
    answers.forEach(expectTokenOrUnavailable);
    await untilAvailable();
  });

  it('is frozen: 503 until it responds again', async () => {
    await startAndGetToken();
    await server.freeze();
    await Promise.all([
      expectUnavailable(),
      expectUnavailable(),
      expectUnavailable(),
      expectUnavailable(),
      expectUnavailable(),
    ]);
    await expectUnavailable();
    await server.thaw();
    await untilAvailable();
  });

  it('is frozen, and the service stops on SIGTERM all the same', async () => {
    await startAndGetToken();
    await server.freeze();
    await expectUnavailable();
    const asked = service.ask();
    service.program.process.kill('SIGTERM');
    await service.program.ended();
    await asked.catch(() => 'refused, since the service stopped listening first');
    await server.thaw();
  });

  it('is behind a network that drops every packet', async () => {
    await using proxy = await FaultyProxy.to(server.port);
    await startAndGetToken(url(PASSWORD, proxy.port));
    await fillPool(proxy);
    proxy.network = { kind: 'silent' };
    await expectUnavailable();
    proxy.network = { kind: 'well' };
    // The idle connections are broken too, like the one that was used. No request may get one of them now.
    const answers = await Promise.all(Array.from({ length: 4 }, askInTime));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);

    proxy.network = { kind: 'silent' };
    await Promise.all(Array.from({ length: 8 }, expectUnavailable));
    await expectUnavailable();
    proxy.network = { kind: 'well' };
    await untilAvailable();
  });

  it('is behind a slow network: tokens as long as the response comes within the deadline', async () => {
    await using proxy = await FaultyProxy.to(server.port);
    await startAndGetToken(url(PASSWORD, proxy.port));
    proxy.network = { kind: 'slow', delayMs: 50 };
    expect((await askInTime()).status).toBe(200);
    proxy.network = { kind: 'slow', delayMs: DEADLINE_MS };
    await expectUnavailable();
    proxy.network = { kind: 'well' };
    await untilAvailable();
  });

  it('closes its connections again and again', async () => {
    await startAndGetToken();
    let ending = true;
    const terminator = (async () => {
      while (ending)
        await server.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [ROLE]);
    })();
    for (let round = 0; round < 40; round += 1) {
      for (const response of await Promise.all([askInTime(), askInTime()])) expectTokenOrUnavailable(response);
    }
    ending = false;
    await terminator;
    await untilAvailable();
  });

  it('is asked again on a new connection if the old one broke unnoticed', async () => {
    await using proxy = await FaultyProxy.to(server.port);
    await startAndGetToken(url(PASSWORD, proxy.port));
    await fillPool(proxy);
    proxy.forgetConnections();
    expect((await askInTime()).status).toBe(200);
    expect(events()).toEqual([]);
  });

  it('has no free connection', async () => {
    await startAndGetToken();
    await server.query(`alter role ${ROLE} connection limit 0`);
    await server.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [ROLE]);
    await expectUnavailable();
    await service.program.printed(/"code":"53300"/);
    await server.query(`alter role ${ROLE} connection limit -1`);
    await untilAvailable();
  });

  it('fails over to a read-only standby', async () => {
    await startAndGetToken();
    await server.restartAsStandby();
    await untilAvailable();
    await server.restartAsPrimary();
    await untilAvailable();
  });

  it('has its table locked', async () => {
    await startAndGetToken();
    const locker = await connectAsOwner();
    await locker.query('begin');
    await locker.query('lock table clients in access exclusive mode');
    await Promise.all([expectUnavailable(), expectUnavailable()]);
    await locker.query('rollback');
    await locker.end();
    await untilAvailable();
  });

  it('has its table locked while no client asks: it is not ready until the lock ends, with a line for each change', async () => {
    await startAndGetToken();
    await until(async () => (await readiness()) === 200, 'it is ready');
    const before = events().length;
    const locker = await connectAsOwner();
    await locker.query('begin');
    await locker.query('lock table clients in access exclusive mode');
    await until(async () => (await readiness()) === 503, 'the lock is noticed');
    await expectUnavailable();
    // In the second half with a request now and then, after which nothing looks well either.
    for (let probe = 0; probe < 300; probe += 1) {
      expect(await readiness()).toBe(503);
      if (probe > 150 && probe % 50 === 0) await expectUnavailable();
    }
    await locker.query('rollback');
    await locker.end();
    await untilAvailable();
    await until(async () => (await readiness()) === 200, 'it is ready again');
    await until(() => events().slice(before).includes('database_available'), 'the log says so');
    expect(events().slice(before)).toEqual(['database_unavailable', 'database_available']);
  });

  it('loses its table: no client is refused as unknown, and the table is not created again', async () => {
    await startAndGetToken();
    await server.query('alter table clients rename to clients_elsewhere');
    await expectUnavailable();
    await until(() => events().includes('table_unusable'), 'the log names the problem');
    await expectUnavailable();
    const { text } = await send(service.managementUrl, '/readyz');
    expect(text).toContain('"reason":"table clients does not exist","fix":"bring it back');
    expect(text).not.toContain('migrate');
    expect(await server.query(`select to_regclass('clients') as found`)).toEqual([{ found: null }]);
    await server.query('alter table clients_elsewhere rename to clients');
    await untilAvailable();
  });

  it('revokes the privilege to read', async () => {
    await startAndGetToken();
    await server.query('alter table clients owner to postgres');
    await expectUnavailable();
    await server.query(`grant select on clients to ${ROLE}`);
    await untilAvailable();
  });
});

async function readiness(): Promise<number> {
  return (await send(service.managementUrl, '/readyz')).status;
}

function url(password = PASSWORD, port = server.port): string {
  return server.urlOf(ROLE, password, port);
}

/** Sends look-ups that are slow enough to need one connection each. */
async function fillPool(proxy: FaultyProxy): Promise<void> {
  proxy.network = { kind: 'slow', delayMs: 5 };
  await Promise.all(Array.from({ length: 4 }, () => service.ask()));
  proxy.network = { kind: 'well' };
}

function addGoodClient(): Promise<void> {
  const { client_id, client_secret, client_name, scope } = GOOD_CLIENT;
  const table = clientsTable({ query: (text, values) => server.query(text, values) });
  return table.add({ clientId: client_id, clientSecret: client_secret, clientName: client_name, scope });
}

async function startService(databaseUrl: string): Promise<Service> {
  const started = await startServiceProcess({
    CLIENT_REPOSITORY: 'postgres',
    CLIENT_SECRET_COST: '4',
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: '4',
    DATABASE_DEADLINE_MS: String(DEADLINE_MS),
  });
  return {
    ...started,
    ask: () =>
      requestToken(started.url, {
        grant_type: 'client_credentials',
        client_id: GOOD_CLIENT.client_id,
        client_secret: GOOD_SECRET,
      }),
  };
}

async function startAndGetToken(databaseUrl = url()): Promise<void> {
  service = await startService(databaseUrl);
  let response: HttpResponse | undefined;
  // On a busy machine, the first connection can take longer than this deadline.
  await until(async () => {
    response = await service.ask();
    return response.status === 200;
  }, 'the first token');
  service.token = String(response?.json()['access_token']);
}

/** Sends a token request, and expects a response within the deadline in every case. */
async function askInTime(): Promise<HttpResponse> {
  const begin = performance.now();
  const response = await service.ask();
  expect(performance.now() - begin).toBeLessThan(DEADLINE_MS + SLACK_MS);
  return response;
}

async function expectUnavailable(): Promise<void> {
  const response = await askInTime();
  expect(response.status).toBe(503);
  expectTokenOrUnavailable(response);
  expect((await askLocation()).status).toBe(service.token === undefined ? 401 : 200);
}

/** A path that needs no database. */
function askLocation(): Promise<HttpResponse> {
  const headers: Record<string, string> =
    service.token === undefined ? {} : { authorization: `Bearer ${service.token}` };
  return send(service.url, '/v1/locations/NYC_USA', { headers });
}

/** Never `invalid_client`, because a valid client could then discard its credentials. */
function expectTokenOrUnavailable(response: HttpResponse): void {
  if (response.status === 200) return;
  expect([response.status, response.json()['error']]).toEqual([503, 'temporarily_unavailable']);
  expect(response.headers['retry-after']).toMatch(/^\d+$/);
}

async function untilAvailable(): Promise<void> {
  await until(async () => {
    const response = await askInTime();
    expectTokenOrUnavailable(response);
    return response.status === 200;
  }, 'tokens are issued again');
}

/** The log's events that are about the database, oldest first. */
function events(): readonly string[] {
  return service.program
    .stdout()
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => String((JSON.parse(line) as Record<string, unknown>)['event']))
    .filter((event) => /^(database|table)_/.test(event));
}

async function connectAsOwner(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server.urlOf('postgres', 'postgres') });
  await client.connect();
  return client;
}

/** Opens connections of the service's role until the server refuses. */
async function takeAllConnections(): Promise<readonly pg.Client[]> {
  const connections: pg.Client[] = [];
  for (;;) {
    const connection = new pg.Client({ connectionString: url() });
    connection.on('error', () => {});
    try {
      await connection.connect();
      connections.push(connection);
    } catch {
      return connections;
    }
  }
}
