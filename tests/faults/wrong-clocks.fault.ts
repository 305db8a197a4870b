import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { compactJws, generateSigningKey } from '../support/assertions.ts';
import { JWT_BEARER } from '../support/forged-assertion.ts';
import { requestToken, send } from '../support/http.ts';
import { runProgram } from '../support/program.ts';
import { sealedKeysIn } from '../support/sealed-keys.ts';
import { shiftDatabaseClock } from '../support/shift-database-clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { ReplicaWithClocks } from './replica-with-clocks.ts';

const PUBLICATION_SECONDS = 2;
const TOKENS = 20;

let database: TestDatabase;
let shared: Readonly<Record<string, string>>;
beforeAll(async () => {
  database = await createTestDatabase();
  const publication = String(PUBLICATION_SECONDS);
  shared = { ...(await sealedKeysIn(database)), KEY_PUBLICATION_SECONDS: publication };
}, 120_000);
afterAll(() => database.drop());
beforeEach(() => database.query('drop table if exists key_ring'));

const kidOf = (token: string) => String(decodeProtectedHeader(token).kid);

describe('replicas that share their keys', () => {
  it.each([7_200, -7_200])(
    'are not disturbed by another one whose clock is %s s off',
    async (offset) => {
      await using one = await ReplicaWithClocks.start(shared);
      await one.untilReady();
      await using other = await ReplicaWithClocks.start(shared);
      await other.untilReady();
      const kids = (await one.kids()).toSorted();

      await using wrong = await ReplicaWithClocks.start({ ...shared }, offset);
      await until(() => wrong.program.stdout().includes('"event":"clock_wrong"'), 'it notices');
      await wrong.program.printed(/"event":"started"/);
      for (let time = 0; time < TOKENS; time += 1) {
        const [token, second] = [await one.getToken(), await other.getToken()];
        expect([await other.use(token), await one.use(second)]).toEqual([200, 200]);
        // It refuses no valid token either, although it would seem expired or not yet valid.
        expect(await wrong.use(token)).toBe(503);
      }
      expect((await wrong.askToken()).status).toBe(503);
      const reason = /7\d\d\d\.\d s (ahead of|behind) that of the key directory/;
      await until(async () => reason.test((await wrong.readiness()).text), 'the reason is there');
      const metrics = (await send(wrong.managementUrl, '/metrics')).text;
      expect(Math.abs(Number(/^auth_clock_offset_seconds (\S+)$/m.exec(metrics)?.[1]) - offset)).toBeLessThan(5);
      expect((await one.kids()).toSorted()).toEqual(expect.arrayContaining(kids));
      // Each replica publishes a key on standby at its own time, and reads those of the others a moment later.
      await until(async () => {
        const rows = await database.query('select kid from key_ring');
        return rows.length === (await one.kids()).length;
      }, 'the replica knows every key of the directory');

      wrong.shift({ wallSeconds: 0 });
      await wrong.untilReady();
      const token = await wrong.getToken();
      expect([await one.use(token), await other.use(token)]).toEqual([200, 200]);
    },
    60_000,
  );

  it('a replica that was stopped while its key was revoked signs nothing with it, and accepts none of its tokens', async () => {
    await using one = await ReplicaWithClocks.start(shared);
    await using stopped = await ReplicaWithClocks.start(shared);
    await Promise.all([one.untilReady(), stopped.untilReady()]);
    const token = await stopped.getToken();
    const pid = stopped.program.process.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    await using revoking = runProgram('config/keys.ts', { DATABASE_URL: database.url }, [
      'revoke',
      '--no-wait',
      '--',
      kidOf(token),
    ]);
    expect(await revoking.ended()).toBe(0);
    await until(async () => (await one.use(token)) === 401, 'the other replica refuses it');
    stopped.shift({ monotonicSeconds: 11 });
    process.kill(pid, 'SIGCONT');
    const [used, fresh] = [await stopped.use(token), await stopped.getToken()];
    expect([used, kidOf(fresh) === kidOf(token), await one.use(fresh)]).toEqual([401, false, 200]);
  }, 60_000);
});

describe('a clock that is set back', () => {
  it.each([
    ['by 8 s, with a shared ring', 'database', -8],
    ['by an hour, without one', 'memory', -3_600],
  ])(
    '%s interrupts nothing',
    async (_how, directory, wallSeconds) => {
      await using service = await ReplicaWithClocks.start({ ...shared, KEY_DIRECTORY: directory });
      await service.untilReady();
      service.shift({ wallSeconds });
      const until_ = performance.now() + 3_000;
      const statuses = new Set<number>();
      while (performance.now() < until_) {
        const response = await service.askToken();
        statuses.add(response.status);
        if (response.status === 200) statuses.add(await service.use(String(response.json()['access_token'])));
      }
      expect([...statuses]).toEqual([200]);
    },
    60_000,
  );
});

describe('the clock of the database that jumps ahead by two hours, and back', () => {
  it('makes no assertion work again that a client has used', async () => {
    await migrateDatabase(database.url);
    const key = generateSigningKey('ES256');
    await database.query(
      `insert into clients (client_id, client_secret, client_name, scope, credentials)
        values ('signing', '*', 'name', 'read', $1)`,
      [{ jwks: { keys: [key.jwk] } }],
    );
    await using replica = await ReplicaWithClocks.start({
      ...shared,
      CLIENT_AUTHENTICATION_METHODS: 'client_secret_post,private_key_jwt',
    });
    await replica.untilReady();
    const claims = { iss: 'signing', sub: 'signing', aud: 'http://issuer.test', jti: 'once' };
    const exp = Math.floor(Date.now() / 1_000) + 300;
    const client_assertion = compactJws({ alg: 'ES256' }, { ...claims, exp }, key.seal);
    const form = { grant_type: 'client_credentials', client_assertion_type: JWT_BEARER, client_assertion };
    const present = async () => (await requestToken(replica.url, form)).status;
    expect(await present()).toBe(200);
    expect(await present()).toBe(401);

    await shiftDatabaseClock(database, 7_200);
    await database.query(`insert into used_assertions values ('swept', 'signing', 1, '')`);
    await until(async () => {
      return (await database.query(`select from used_assertions where digest = 'swept'`)).length === 0;
    }, 'the table is swept');
    await shiftDatabaseClock(database, 0);
    await replica.untilReady();
    expect((await replica.askToken()).status).toBe(200);
    expect(await present()).toBe(401);
  }, 120_000);
});
