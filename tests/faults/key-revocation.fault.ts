import { describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { migrateTables } from '../../config/programs/migrate-tables.ts';
import { runProgram } from '../support/program.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { sealedKeysIn } from '../support/sealed-keys.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { ReplicaWithClocks } from './replica-with-clocks.ts';

const PUBLICATION_SECONDS = 2;
/** What docs/operate.md promises. */
const HONOURED_WITHIN_MS = 11_000;

/** A key directory of its own for each test, and the settings of replicas that share it. */
interface SharedDirectory extends AsyncDisposable {
  readonly database: TestDatabase;
  readonly shared: Readonly<Record<string, string>>;
}

async function createDirectory(): Promise<SharedDirectory> {
  const database = await createTestDatabase();
  const shared = {
    ...(await sealedKeysIn(database)),
    KEY_PUBLICATION_SECONDS: String(PUBLICATION_SECONDS),
  };
  return { database, shared, [Symbol.asyncDispose]: () => database.drop() };
}

const kidOf = (token: string) => String(decodeProtectedHeader(token).kid);

async function revoke({ database }: SharedDirectory, kid: string): Promise<void> {
  await using program = runProgram('config/keys.ts', { DATABASE_URL: database.url }, [
    'revoke',
    '--no-wait',
    '--',
    kid,
  ]);
  expect(await program.ended()).toBe(0);
}

/** Asserts that this replica refuses the token in time, and no longer publishes its key. */
async function expectDropped(replica: ReplicaWithClocks, token: string): Promise<void> {
  const begin = performance.now();
  await until(async () => (await replica.use(token)) === 401, 'the token is refused');
  await until(async () => !(await replica.kids()).includes(kidOf(token)), 'the key leaves the key set');
  expect(performance.now() - begin).toBeLessThan(HONOURED_WITHIN_MS);
}

// At the same time, since most of it is waiting.
describe('npm run keys -- revoke', () => {
  it.concurrent.each([
    [
      'lost again',
      1,
      "update key_ring set revoked_at = null where kid = 'leaked'",
      /The ring has lost the revocation of leaked\.\n.*Revoke the key again/,
    ],
    ['kept', 0, 'select 1', /Checked again after 10 s: still revoked/],
  ])(
    'looks again when every replica has dropped the key, and says that its change was %s',
    async (_what, code, sql, said) => {
      await using directory = await createDirectory();
      const { database } = directory;
      const settings = { DATABASE_URL: database.url };
      await runInProcess(migrateTables, [], settings);
      await using program = runProgram('config/keys.ts', settings, ['revoke', '--unknown', 'leaked']);
      await program.printed(/^state +revoked/m);
      await database.query(sql);
      expect(await program.ended()).toBe(code);
      expect(program.stderr()).toMatch(said);
    },
  );

  it.concurrent('makes every replica switch to the next key without a pause, and every replica refuse the revoked one for good', async () => {
    await using directory = await createDirectory();
    const { shared } = directory;
    await using one = await ReplicaWithClocks.start({ ...shared });
    await using other = await ReplicaWithClocks.start(shared);
    await Promise.all([one.untilReady(), other.untilReady()]);
    const leaked = await one.getToken();
    expect(await other.use(leaked)).toBe(200);
    await until(async () => (await one.kids()).length === 2, 'the next key is published');

    const statuses = new Set<number>();
    let asking = true;
    const asked = (async () => {
      while (asking) statuses.add((await one.askToken()).status);
    })();
    await revoke(directory, kidOf(leaked));
    await Promise.all([one, other].map((replica) => expectDropped(replica, leaked)));
    asking = false;
    await asked;
    expect([...statuses]).toEqual([200]);
    await one.program.printed(new RegExp(`"key_id":"${kidOf(leaked)}"`));

    const token = await one.getToken();
    expect(kidOf(token)).not.toBe(kidOf(leaked));
    expect([await one.use(token), await other.use(token)]).toEqual([200, 200]);
    await until(async () => (await one.kids()).length === 2, 'another next key is published');
    expect([await one.use(leaked), await other.use(leaked)]).toEqual([401, 401]);
  });

  it.concurrent('ends the trust in the key of a replica that was killed', async () => {
    await using directory = await createDirectory();
    const { shared } = directory;
    await using one = await ReplicaWithClocks.start(shared);
    await using killed = await ReplicaWithClocks.start(shared);
    await Promise.all([one.untilReady(), killed.untilReady()]);
    const leaked = await killed.getToken();
    killed.program.process.kill('SIGKILL');
    await killed.program.ended();
    expect(await one.use(leaked)).toBe(200);
    await revoke(directory, kidOf(leaked));
    await expectDropped(one, leaked);
  });

  it.concurrent('--all leaves a new key, which signs at once, and refuses every token from before', async () => {
    await using directory = await createDirectory();
    const { database, shared } = directory;
    await using one = await ReplicaWithClocks.start(shared);
    await using other = await ReplicaWithClocks.start(shared);
    await Promise.all([one.untilReady(), other.untilReady()]);
    const leaked = await one.getToken();
    await using program = runProgram('config/keys.ts', { DATABASE_URL: database.url }, [
      'revoke',
      '--no-wait',
      '--all',
    ]);
    expect(await program.ended()).toBe(0);
    await Promise.all([one, other].map((replica) => expectDropped(replica, leaked)));
    await until(async () => (await one.askToken()).status === 200, 'a new key signs');
    const token = await one.getToken();
    expect([await one.use(token), await other.use(token)]).toEqual([200, 200]);
  });

  it.concurrent("holds in a replica that runs, also when yesterday's backup is restored", async () => {
    await using directory = await createDirectory();
    const { database, shared } = directory;
    await using one = await ReplicaWithClocks.start(shared);
    await one.untilReady();
    await until(async () => (await one.kids()).length === 2, 'the next key is published');
    const leaked = await one.getToken();
    await database.query('create table backup as select * from key_ring');
    await revoke(directory, kidOf(leaked));
    await expectDropped(one, leaked);
    // In one transaction, as a restore is: a replica that reads an empty ring begins another one.
    await database.query('delete from key_ring; insert into key_ring select * from backup');
    const token = await one.getToken();
    await until(async () => (await one.use(token)) === 200, 'the ring is read again');
    for (let times = 0; times < 20; times += 1) expect(await one.use(leaked)).toBe(401);
    expect((await database.query('select from key_ring where revoked_at is not null')).length).toBe(0);
  });
});
