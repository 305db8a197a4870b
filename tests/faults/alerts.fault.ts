import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import type { Backend } from '../support/balancer.ts';
import { clientsTable } from '../support/clients-table.ts';
import { DatabaseServer } from '../support/database-server.ts';
import { requestToken, send } from '../support/http.ts';
import { isInstalled, where } from '../support/installed.ts';
import { environmentOfPrograms, followProgram, type Program } from '../support/program.ts';
import { Prometheus } from '../support/prometheus.ts';
import { freeBackend } from '../support/replica.ts';
import { GOOD_CLIENT, GOOD_SECRET } from '../support/running-service.ts';
import { SEALED_KEYS } from '../support/sealed-keys.ts';
import { until } from '../support/until.ts';

// What pages somebody, with a real Prometheus, two replicas and PostgreSQL. Each time of the rules, and
// KEY_PUBLICATION_SECONDS, is a tenth of what it is, so a restart counts for more than it does. ALERTS_FASTER=1 takes
// the real times, and half an hour.
const FASTER = Number(process.env['ALERTS_FASTER'] ?? 10);
const minutes = (count: number) => (count * 60_000) / FASTER;

const JOB = 'authorization-service';
const FORM = { grant_type: 'client_credentials', client_id: GOOD_CLIENT.client_id, client_secret: GOOD_SECRET };
const GUESSED = 'guessed-client';
const GUESSERS = 60;

interface World extends AsyncDisposable {
  readonly database: DatabaseServer;
  readonly backends: readonly Backend[];
  readonly prometheus: Prometheus;
  restart(index: number): Promise<void>;
  /** The critical alerts that have fired since startup, and how many at the same time. */
  critical(): Promise<readonly string[]>;
}

const urlOf = ({ port }: Backend) => `http://127.0.0.1:${port}`;

async function isReady({ managementPort }: Backend): Promise<boolean> {
  const response = await send(`http://127.0.0.1:${managementPort}`, '/readyz').catch(() => undefined);
  return response?.status === 200;
}

async function startWorld(): Promise<World> {
  const database = await DatabaseServer.create();
  await migrateDatabase(database.urlOf('postgres', 'postgres'));
  const backends = [await freeBackend(), await freeBackend()];
  const start = ({ port, managementPort }: Backend) =>
    followProgram(
      spawn(process.execPath, ['config/main.ts'], {
        env: {
          ...environmentOfPrograms(),
          CLIENT_REPOSITORY: 'postgres',
          DATABASE_URL: database.urlOf('postgres', 'postgres'),
          ...SEALED_KEYS,
          KEY_PUBLICATION_SECONDS: String(60 / FASTER),
          CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt',
          BASE_URL: 'http://issuer.test',
          TRUSTED_PROXIES: '127.0.0.1/32',
          PORT: String(port),
          MANAGEMENT_PORT: String(managementPort),
          SHUTDOWN_GRACE_MS: '500',
        },
      }),
    );
  const replicas: Program[] = backends.map(start);
  const allReady = () =>
    until(async () => (await Promise.all(backends.map(isReady))).every(Boolean), 'the replicas are ready', 180_000);
  await allReady();
  const table = clientsTable({ query: (text, values) => database.query(text, values) });
  for (const clientId of [GOOD_CLIENT.client_id, GUESSED]) {
    const { client_secret: clientSecret, client_name: clientName, scope } = GOOD_CLIENT;
    await table.add({ clientId, clientSecret, clientName, scope });
  }
  const prometheus = await Prometheus.start({
    job: JOB,
    targets: backends.map(({ managementPort }) => `127.0.0.1:${managementPort}`),
    faster: FASTER,
  });
  return {
    database,
    backends,
    prometheus,
    async restart(index) {
      const backend = backends[index];
      if (backend === undefined) throw new Error('there is no such replica');
      replicas[index]?.process.kill('SIGTERM');
      expect(await replicas[index]?.ended()).toBe(0);
      replicas[index] = start(backend);
      await allReady();
    },
    async critical() {
      const fired = await prometheus.query('max_over_time(ALERTS{severity="critical",alertstate="firing"}[1h])');
      return fired.map(({ metric }) => String(metric['alertname'])).toSorted();
    },
    async [Symbol.asyncDispose]() {
      await prometheus[Symbol.asyncDispose]();
      for (const replica of replicas) await replica[Symbol.asyncDispose]();
      await database.stop();
    },
  };
}

/** A client that asks each replica for tokens all the time. */
async function askWhile(backends: readonly Backend[], running: Promise<unknown>): Promise<Record<string, number>> {
  const answers: Record<string, number> = {};
  let isRunning = true;
  const stop = () => {
    isRunning = false;
  };
  running.then(stop, stop);
  while (isRunning) {
    for (const backend of backends) {
      const status = await requestToken(urlOf(backend), FORM).then(
        (response) => response.status,
        () => 0,
      );
      answers[status] = (answers[status] ?? 0) + 1;
    }
    await delay(50);
  }
  return answers;
}

const withPrometheus = where(isInstalled('prometheus'), describe);

withPrometheus('deploy/prometheus-alerts.yml, in a real Prometheus beside two replicas', () => {
  it('fires no critical alert in a flood of guesses at one client from many addresses, while another client is served', async () => {
    await using world = await startWorld();
    const [backend] = world.backends;
    if (backend === undefined) throw new Error('there is no replica');
    expect((await requestToken(urlOf(backend), FORM)).status).toBe(200);
    const guesses: Record<string, number> = {};
    const ends = performance.now() + minutes(6);
    const flood = Promise.all(
      Array.from({ length: GUESSERS }, async (_, address) => {
        for (let count = 0; performance.now() < ends; count += 1) {
          const response = await requestToken(
            urlOf(backend),
            { ...FORM, client_id: GUESSED, client_secret: `guess-${count}` },
            { 'X-Forwarded-For': `198.51.100.${address}` },
          );
          guesses[response.status] = (guesses[response.status] ?? 0) + 1;
        }
      }),
    );
    const served = await askWhile([backend], flood);
    process.stderr.write(`flood: guesses ${JSON.stringify(guesses)}, the other client ${JSON.stringify(served)}\n`);
    expect(guesses['503']).toBeGreaterThan(GUESSERS);
    expect(Object.keys(served)).toEqual(['200']);
    const counted = 'sum by (reason) (auth_requests_total{status="503"}) > 0';
    const reasons = (await world.prometheus.query(counted)).map(({ metric }) => metric['reason']);
    expect(reasons).toEqual(['slots_exhausted']);
    expect(await world.critical()).toEqual([]);
  }, 3_600_000);

  it('fires exactly one critical alert when the database stops, and none more when it is back', async () => {
    await using world = await startWorld();
    const scenario = (async () => {
      await delay(minutes(1));
      await world.database.kill();
      await delay(minutes(5));
      await world.database.start();
      await delay(minutes(8));
    })();
    const answers = await askWhile(world.backends, scenario);
    process.stderr.write(`database stopped: answers ${JSON.stringify(answers)}\n`);
    await scenario;
    expect(answers['503']).toBeGreaterThan(0);
    expect(answers['200']).toBeGreaterThan(0);
    expect(await world.critical()).toEqual(['AuthNotReady']);
    expect(await world.prometheus.query('ALERTS{severity="critical",alertstate="firing"}')).toEqual([]);
  }, 3_600_000);

  it('fires nothing while the replicas are restarted one after the other', async () => {
    await using world = await startWorld();
    for (const index of [0, 1, 0]) {
      await world.restart(index);
      await delay(minutes(0.5));
    }
    expect(await world.critical()).toEqual([]);
    const fired = await world.prometheus.query('max_over_time(ALERTS{alertstate="firing"}[1h])');
    expect(fired.map(({ metric }) => metric['alertname'])).toEqual([]);
  }, 3_600_000);
});
