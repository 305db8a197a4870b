import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { runProgram } from '../support/program.ts';
import { ReplicaWithClocks } from '../support/replica-with-clocks.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const PUBLICATION_SECONDS = 2;
/** What docs/keys.md promises. */
const HONOURED_WITHIN_MS = 15_000;

/** A key directory of its own for each test, and the settings of replicas that share it. */
interface SharedDirectory extends AsyncDisposable {
  readonly database: TestDatabase;
  readonly shared: Readonly<Record<string, string>>;
}

async function createDirectory(): Promise<SharedDirectory> {
  const database = await createTestDatabase();
  const shared = {
    DATABASE_URL: database.url,
    KEY_DIRECTORY: 'postgres',
    KEY_PUBLICATION_SECONDS: String(PUBLICATION_SECONDS),
  };
  return { database, shared, [Symbol.asyncDispose]: () => database.drop() };
}

const kidOf = (token: string) => String(decodeProtectedHeader(token).kid);

async function revoke({ database }: SharedDirectory, kid: string): Promise<void> {
  await using program = runProgram('config/keys.ts', { DATABASE_URL: database.url }, ['revoke', '--', kid]);
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
  it.concurrent('makes a living replica switch to its standby key without a pause, and every replica refuse the revoked one for good', async () => {
    await using directory = await createDirectory();
    const { shared } = directory;
    await using one = await ReplicaWithClocks.start({ ...shared });
    await using other = await ReplicaWithClocks.start(shared);
    await Promise.all([one.untilReady(), other.untilReady()]);
    const leaked = await one.getToken();
    expect(await other.use(leaked)).toBe(200);
    const publishedAt = () =>
      [...one.program.stdout().matchAll(/"event":"key_published","at":(\d+)/g)].map(([, at]) => Number(at));
    await until(() => publishedAt().length === 2, 'the standby key is published');
    // Both times are whole seconds: the event's is rounded down, and that from which the key may sign is rounded up.
    const knownToAllAt = (publishedAt()[1] ?? 0) + PUBLICATION_SECONDS + 2;
    await until(() => Date.now() / 1000 > knownToAllAt, 'every verifier can know the standby key');

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
    // Several publications later it has not come back.
    await until(() => publishedAt().length === 3, 'the next standby key is published');
    expect(await directory.database.query('select kid from signing_keys where kid = $1', [kidOf(leaked)])).toEqual([]);
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

  it.concurrent('makes a replica with a KEY_FILE unready until it has another file, also after a restart', async () => {
    await using directory = await createDirectory();
    const { shared } = directory;
    const folder = await mkdtemp(join(tmpdir(), 'key-file-'));
    try {
      const file = join(folder, 'key.pem');
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      await writeFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
      const settings = { ...shared, KEY_FILE: file };
      await using service = await ReplicaWithClocks.start(settings);
      await service.untilReady();
      const leaked = await service.getToken();
      await revoke(directory, kidOf(leaked));
      await until(async () => (await service.use(leaked)) === 401, 'the token is refused');
      expect((await service.askToken()).status).toBe(503);
      const reason = `the key ${kidOf(leaked)} has been revoked, and there is no other`;
      expect(await service.readiness()).toMatchObject({ status: 503, text: expect.stringContaining(reason) });
      await service.program.printed(/"event":"key_revoked"/);
      expect(service.program.stdout().match(/"level":"?(50|error)"?,.*"event":"key_revoked"/g)).toHaveLength(1);

      await using restarted = await ReplicaWithClocks.start(settings);
      await restarted.program.printed(/"event":"started"/);
      await until(async () => (await restarted.readiness()).text.includes(reason), 'it learns that the key is revoked');
      expect([await restarted.use(leaked), (await restarted.askToken()).status]).toEqual([401, 503]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
