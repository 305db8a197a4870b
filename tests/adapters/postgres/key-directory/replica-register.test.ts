import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DatabaseLine } from '../../../../adapters/postgres/health.ts';
import { openKeyDirectory } from '../../../../adapters/postgres/key-directory/postgres-key-directory.ts';
import { migrateDatabase } from '../../../../adapters/postgres/migrate-database.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/test-database.ts';
import { until } from '../../../support/until.ts';

let database: TestDatabase;
let lines: DatabaseLine[];
let opened: { close(): Promise<void> }[];

beforeAll(async () => {
  database = await createTestDatabase();
  await migrateDatabase(database.url);
}, 120_000);
afterAll(() => database.drop());

beforeEach(async () => {
  await database.query('truncate service_replicas');
  lines = [];
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((dependency) => dependency.close()));
});

async function open(url = database.url) {
  const { replicas, dependency } = await openKeyDirectory({ url, deadlineMs: 10_000 }, (line) => lines.push(line));
  opened.push(dependency);
  return { replicas, dependency };
}

/** Another replica that reported itself so many seconds ago. */
async function addReplica(name: string, secondsAgo: number, offsetMs: number | null = 0): Promise<void> {
  await database.query(
    `insert into service_replicas values ($1, $2, floor(extract(epoch from clock_timestamp()))::bigint - $3)`,
    [name, offsetMs, secondsAgo],
  );
}

const rows = () =>
  database.query('select name, clock_offset_ms::int as offset, seen_at::int as at from service_replicas');

describe('the register of replicas', () => {
  it('has the row of this replica, with the offset of its clock, which each report replaces', async () => {
    const { replicas } = await open();
    let offset: number | undefined;
    await replicas.start(() => offset, 1);
    expect(await rows()).toEqual([
      { name: expect.stringMatching(new RegExp(`:${process.pid}$`)), offset: null, at: expect.any(Number) },
    ]);
    offset = -1.2345;
    await until(async () => (await rows())[0]?.['offset'] === -1_234, 'the offset is reported');
    expect(await rows()).toHaveLength(1);
    expect(replicas.latest).toEqual([]);
  });

  it('shows the others, the latest first, while they report', async () => {
    await addReplica('silent:1', 590, null);
    await addReplica('living:2', 3, 2_500);
    await addReplica('ended:3', 700);
    const { replicas } = await open();
    await replicas.start(() => 0);
    expect(replicas.latest).toEqual([
      { name: 'living:2', clock_offset_seconds: 2.5, seen_at: expect.any(Number) },
      { name: 'silent:1', clock_offset_seconds: null, seen_at: expect.any(Number) },
    ]);
    expect(Math.abs((replicas.latest[0]?.seen_at ?? 0) - Date.now() / 1_000)).toBeLessThan(60);
  });

  it('forgets replicas that ended an hour ago, and shows 100 at most', async () => {
    await addReplica('ended:3', 3_700);
    for (let number = 0; number < 105; number += 1) await addReplica(`replica:${number}`, number);
    const { replicas } = await open();
    await replicas.start(() => 0);
    expect(replicas.latest).toHaveLength(100);
    expect(replicas.latest[0]?.name).toBe('replica:0');
    expect((await rows()).map(({ name }) => name)).not.toContain('ended:3');
  });

  it.each([
    [
      'the table does not exist',
      async () => void (await database.query('alter table service_replicas rename to away')),
    ],
    ['the role may not write to it', async () => {}],
  ])('knows nobody if %s, which is no fault of the key directory', async (_why, prepare) => {
    await prepare();
    const role = await database.createRole();
    await database.query(`grant create, usage on schema public to ${role.name}`);
    await database.query('drop table if exists signing_keys, signing_key_states');
    const { replicas, dependency } = await open(role.url);
    await replicas.start(() => 0);
    expect(replicas.latest).toEqual([]);
    expect(dependency.readiness()).toEqual({ ready: true });
    expect(lines.map(({ event }) => event).filter((event) => event !== 'schema_shared')).toEqual([
      'table_created',
      'table_created',
    ]);
    await database.query('drop table signing_keys, signing_key_states');
    await database.query('alter table if exists away rename to service_replicas');
  });
});
