import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { manageClients } from '../../config/programs/clients-program.ts';
import { migrateTables } from '../../config/programs/migrate-tables.ts';
import { DatabaseServer } from '../support/database-server.ts';
import { type FormFields, getAccessToken, type HttpResponse, send } from '../support/http.ts';
import { DEMO_TOKEN_REQUEST } from '../support/replica.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { SEALED_KEYS, storeDemoClient } from '../support/sealed-keys.ts';
import { until } from '../support/until.ts';
import { ReplicaWithClocks } from './replica-with-clocks.ts';

const API = 'https://api.example.com';
const ROUNDS = 6;
const CALLERS = 4;

let server: DatabaseServer;
let apiSecret: string;
beforeAll(async () => {
  server = await DatabaseServer.create();
  await storeDemoClient({ query: (text, values) => server.query(text, values) });
  expect((await runInProcess(migrateTables, [], { DATABASE_URL: url() })).exitCode).toBe(0);
  apiSecret = await add('api', '--audiences', API);
}, 120_000);
afterAll(() => server.stop());

const url = () => server.urlOf('postgres', 'postgres');
const clients = (...args: readonly string[]) => runInProcess(manageClients, args, { DATABASE_URL: url() });

async function add(id: string, ...more: readonly string[]): Promise<string> {
  const added = await clients('add', id, '--name', id, '--scope', 'read', '--json', ...more);
  return String(JSON.parse(added.stdout).client_secret);
}

const start = (wallSeconds = 0) =>
  ReplicaWithClocks.start(
    {
      ...SEALED_KEYS,
      CLIENT_REPOSITORY: 'postgres',
      DATABASE_URL: url(),
      DATABASE_DEADLINE_MS: '2000',
      TOKEN_REVOCATION: 'true',
      TOKEN_AUDIENCE: API,
      INTROSPECTIONS_PER_SECOND: '0',
    },
    wallSeconds,
  );

const introspect = (replica: ReplicaWithClocks, token: string) =>
  post(replica, '/oauth2/introspect', { token, client_id: 'api', client_secret: apiSecret });

function post(replica: ReplicaWithClocks, path: string, form: FormFields): Promise<HttpResponse> {
  return send(replica.url, path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: String(new URLSearchParams(form)),
  });
}

const answerOf = ({ status, json }: HttpResponse) => (status === 200 ? json()['active'] : status);

/** Asks about good tokens at every replica until it is stopped, and keeps each response but `active: true`. */
function loadOn(replicas: readonly ReplicaWithClocks[]) {
  const others: unknown[] = [];
  let [isOver, asked] = [false, 0];
  const running = Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      while (!isOver) {
        const issuer = replicas[caller % replicas.length] as ReplicaWithClocks;
        const token = await issuer.getToken().catch(() => undefined);
        for (const replica of token === undefined ? [] : replicas) {
          const answer = await introspect(replica, token ?? '').then(answerOf, () => 'no response');
          asked += 1;
          if (answer !== true) others.push(answer);
        }
      }
    }),
  );
  const stop = async () => {
    isOver = true;
    await running;
    return others;
  };
  return { stop, asked: () => asked, others };
}

describe('two replicas whose clocks are 5 s apart, under load', () => {
  it('call no token of a client active once it is disabled, and none of another client inactive', async () => {
    const secret = await add('contractor');
    await using ahead = await start(5);
    await using behind = await start();
    const replicas = [ahead, behind];
    await Promise.all(replicas.map((replica) => replica.untilReady()));
    const load = loadOn(replicas);
    await until(() => load.asked() > 50, 'there is load');
    const askAll = async (token: string) =>
      (await Promise.all([...replicas, ...replicas].map((replica) => introspect(replica, token)))).map(answerOf);
    for (let round = 0; round < ROUNDS; round += 1) {
      const token = await getAccessToken((replicas[round % 2] as ReplicaWithClocks).url, 'contractor', secret);
      expect(new Set(await askAll(token))).toEqual(new Set([true]));
      const leaked = await getAccessToken((replicas[round % 2] as ReplicaWithClocks).url, 'contractor', secret);
      const form = { token: leaked, client_id: 'contractor', client_secret: secret };
      expect((await post(replicas[(round + 1) % 2] as ReplicaWithClocks, '/oauth2/revoke', form)).status).toBe(200);
      expect(new Set(await askAll(leaked))).toEqual(new Set([false]));
      expect(new Set(await askAll(token))).toEqual(new Set([true]));
      expect((await clients('disable', 'contractor')).exitCode).toBe(0);
      expect(new Set(await askAll(token))).toEqual(new Set([false]));
      expect((await clients('enable', 'contractor')).exitCode).toBe(0);
      expect(new Set(await askAll(token))).toEqual(new Set([false]));
      expect((await clients('revoke-tokens', 'contractor', '--yes')).exitCode).toBe(0);
    }
    expect(await load.stop()).toEqual([]);
  }, 120_000);

  it('say nothing of a token while the database is away, and the truth once it is back, also after one was killed', async () => {
    await using one = await start();
    await using two = await start();
    await Promise.all([one.untilReady(), two.untilReady()]);
    const load = loadOn([one, two]);
    await until(() => load.asked() > 50, 'there is load');
    const token = await one.getToken();
    await server.kill();
    await until(async () => answerOf(await introspect(two, token)) === 503, 'the database is away');
    await server.start();
    await until(async () => answerOf(await introspect(two, token)) === true, 'the database is back');
    const revoked = await one.getToken();
    const { client_id, client_secret } = DEMO_TOKEN_REQUEST;
    expect((await post(one, '/oauth2/revoke', { token: revoked, client_id, client_secret })).status).toBe(200);
    one.program.process.kill('SIGKILL');
    await one.program.ended();
    await using next = await start();
    await next.untilReady();
    for (const replica of [two, next]) {
      expect([answerOf(await introspect(replica, token)), answerOf(await introspect(replica, revoked))]).toEqual([
        true,
        false,
      ]);
      expect([await replica.use(token), await replica.use(revoked)]).toEqual([200, 401]);
    }
    expect(load.others).not.toContain(false);
    const { client_id: id } = DEMO_TOKEN_REQUEST;
    expect((await clients('disable', id)).exitCode).toBe(0);
    expect(answerOf(await introspect(two, token))).toBe(false);
    expect((await clients('enable', id)).exitCode).toBe(0);
    const others = new Set((await load.stop()).filter((answer) => answer !== false));
    for (const answer of others) expect([503, 'no response']).toContain(answer);
  }, 120_000);
});
