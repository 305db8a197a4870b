import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { send } from '../support/http.ts';
import { ReplicaWithClocks } from '../support/replica-with-clocks.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const PUBLICATION_SECONDS = 2;
const TOKENS = 20;

let database: TestDatabase;
let shared: Readonly<Record<string, string>>;
beforeAll(async () => {
  database = await createTestDatabase();
  const publication = String(PUBLICATION_SECONDS);
  shared = { DATABASE_URL: database.url, KEY_DIRECTORY: 'postgres', KEY_PUBLICATION_SECONDS: publication };
}, 120_000);
afterAll(() => database.drop());
beforeEach(() => database.query('drop table if exists signing_keys, signing_key_states'));

const kidOf = (token: string) => String(decodeProtectedHeader(token).kid);

describe('replicas that share their public keys', () => {
  it.each([7_200, -7_200])(
    'are not disturbed by another one whose clock is %s s off',
    async (offset) => {
      await using one = await ReplicaWithClocks.start(shared);
      await one.untilReady();
      await using other = await ReplicaWithClocks.start(shared);
      await other.untilReady();
      const kids = (await one.kids()).toSorted();

      await using wrong = await ReplicaWithClocks.start({ ...shared, WORKERS: '2' }, offset);
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
      // Each replica publishes a key on standby at a time of its own, and reads those of the others a moment later.
      await until(async () => {
        const rows = await database.query('select kid from signing_keys');
        return rows.length === (await one.kids()).length;
      }, 'the replica knows every key of the directory');

      wrong.shift({ wallSeconds: 0 });
      await wrong.untilReady();
      const token = await wrong.getToken();
      expect([await one.use(token), await other.use(token)]).toEqual([200, 200]);
    },
    60_000,
  );

  it('a replica that was stopped for longer than the lease issues no token that a cached key set cannot verify', async () => {
    await using one = await ReplicaWithClocks.start(shared);
    await one.untilReady();
    await using other = await ReplicaWithClocks.start({ ...shared, WORKERS: '2' });
    await other.untilReady();
    const kid = kidOf(await other.getToken());
    const stopped = [other.program.process.pid ?? 0];
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    // An hour and a half passes: the key leaves the directory and the key sets of its peers.
    await database.query('delete from signing_keys where kid = $1', [kid]);
    await until(async () => !(await one.kids()).includes(kid), 'its peer forgets the key');
    const cached = await one.kids();
    const cachedAt = performance.now();
    other.shift({ monotonicSeconds: 5_400 });
    for (const pid of stopped) process.kill(pid, 'SIGCONT');

    const statuses = new Set<number>();
    while (performance.now() - cachedAt < (PUBLICATION_SECONDS * 1000) / 2) {
      const answer = await other.askToken();
      statuses.add(answer.status);
      if (answer.status === 200) expect(cached).toContain(kidOf(String(answer.json()['access_token'])));
    }
    expect(statuses).toContain(503);
    await other.untilReady();
    const token = await other.getToken();
    expect(kidOf(token)).toBe(kid);
    expect(await one.kids()).toContain(kid);
    expect(await one.use(token)).toBe(200);
  }, 60_000);
});

describe('a clock that is set back', () => {
  it.each([
    ['by 8 s, with a shared directory', 'postgres', -8],
    ['by an hour, without one', 'memory', -3_600],
  ])(
    '%s interrupts nothing',
    async (_how, directory, wallSeconds) => {
      await using service = await ReplicaWithClocks.start({ ...shared, KEY_DIRECTORY: directory, WORKERS: '2' });
      await service.untilReady();
      service.shift({ wallSeconds });
      const until_ = performance.now() + 3_000;
      const statuses = new Set<number>();
      while (performance.now() < until_) {
        const answer = await service.askToken();
        statuses.add(answer.status);
        if (answer.status === 200) statuses.add(await service.use(String(answer.json()['access_token'])));
      }
      expect([...statuses]).toEqual([200]);
    },
    60_000,
  );
});
