import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { migrateDatabase } from '../../../../adapters/postgres/migrate-database.ts';
import {
  openUsedAssertions,
  PostgresUsedAssertions,
} from '../../../../adapters/postgres/private-key-jwt/postgres-used-assertions.ts';
import { type OpenTable, openTable } from '../../../../adapters/postgres/table.ts';
import { USED_ASSERTIONS } from '../../../../adapters/postgres/tables.ts';
import { DependencyUnavailable } from '../../../../application/ports/dependency-unavailable.ts';
import type { UseOutcome } from '../../../../application/ports/used-assertions.ts';
import { describeUsedAssertions, SMALL_LIMITS } from '../../../contracts/used-assertions.ts';
import { CREATE_CLIENTS } from '../../../support/clients-table.ts';
import { FaultyProxy } from '../../../support/faulty-proxy.ts';
import { shiftDatabaseClock } from '../../../support/shift-database-clock.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/test-database.ts';
import { until } from '../../../support/until.ts';

const DEADLINE_MS = 30_000;

let database: TestDatabase;
/** The clock of the processes. */
const clock = { ahead: 0, now: () => Math.floor(Date.now() / 1_000) + clock.ahead };
let opened: { close(): Promise<void> }[];

beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());

beforeEach(() => {
  opened = [];
});
afterEach(() => closeAll());

async function closeAll(): Promise<void> {
  await Promise.all(opened.splice(0).map((table) => table.close()));
}

async function open(limits = SMALL_LIMITS, url = database.url): Promise<PostgresUsedAssertions> {
  const options = { url, poolSize: 4, deadlineMs: DEADLINE_MS };
  const table: OpenTable = await openTable('used assertions', USED_ASSERTIONS, options, () => {});
  opened.push(table);
  return new PostgresUsedAssertions(table.runner, clock, limits);
}

const useOf = (assertionId: string, clientId = 'a', keptSeconds = 300) => ({ clientId, assertionId, keptSeconds });

describe('a database without the table used_assertions', () => {
  it('gets it from the service, or from npm run migrate where the role of the service may create nothing', async () => {
    const role = await database.createRole();
    const options = { url: role.url, deadlineMs: DEADLINE_MS };
    await database.query(CREATE_CLIENTS);
    await expect(openUsedAssertions(options, clock, () => {})).rejects.toThrow(
      'table used_assertions does not exist, and the database role may not create it: npm run migrate',
    );
    const { dependency } = await openUsedAssertions({ ...options, url: database.url }, clock, () => {});
    await dependency.close();
    const indexes = await database.query(
      `select indexname from pg_indexes where tablename = 'used_assertions' order by 1`,
    );
    expect(indexes).toMatchObject([{ indexname: 'used_assertions_kept_until' }, { indexname: 'used_assertions_pkey' }]);
  });
});

describe('a database with the tables of the service', () => {
  beforeAll(async () => {
    await migrateDatabase(database.url);
  });
  beforeEach(() => database.query('delete from used_assertions'));

  describeUsedAssertions('PostgresUsedAssertions', async () => {
    const stores = [await open(), await open()] as const;
    const settle = async () => {
      for (const store of stores) await store.sweep();
    };
    // The clock of the database passes by itself; what it has passed is what rows lose.
    const wait = async (seconds: number) => {
      await database.query('update used_assertions set kept_until = kept_until - $1', [seconds]);
    };
    const setClocks = async (store: number, processes: number) => {
      clock.ahead = processes;
      await shiftDatabaseClock(database, store);
    };
    return { stores, wait, setClocks, settle };
  });

  it('stores digests only, with their end', async () => {
    const store = await open();
    await store.use([useOf('its-jti')]);
    const [row] = await database.query(
      `select digest, client_id, kept_until - extract(epoch from now()) as seconds from used_assertions`,
    );
    expect(row).toMatchObject({ digest: expect.stringMatching(/^[\w-]{43}$/), client_id: 'a' });
    expect(Math.round(Number(row?.['seconds']) / 10)).toBe(30);
  });

  it('deletes what has ended in batches, and counts the rest', async () => {
    const store = await open({ perClient: 10_000, total: 20_000 });
    await database.query(
      `insert into used_assertions select 'ended-' || n, 'a', 1, '' from generate_series(1, 12001) as n`,
    );
    await store.use([useOf('kept')]);
    await store.sweep();
    expect(store.load).toEqual({ used: 1, max: 20_000 });
    expect(await database.query('select count(*)::int as count from used_assertions')).toEqual([{ count: 1 }]);
  });

  it('goes on with what it knows while a count takes too long, and stays bounded', async () => {
    const options = { url: database.url, poolSize: 1, deadlineMs: DEADLINE_MS };
    const table = await openTable('used assertions', USED_ASSERTIONS, options, () => {});
    opened.push(table);
    const { runner } = table;
    const slow = { run: runner.run.bind(runner), tryRun: async () => undefined };
    const store = new PostgresUsedAssertions(slow, clock, { perClient: 2, total: 3 });
    await store.use([useOf('1'), useOf('2', 'b')]);
    await store.sweep();
    expect(store.load).toEqual({ used: 2, max: 3 });
    expect(await store.use([useOf('3')])).toEqual(['first']);
    expect(await store.use([useOf('4', 'c')])).toEqual(['full']);
    await database.query('update used_assertions set kept_until = 1');
    await store.sweep();
    expect(store.load).toEqual({ used: 0, max: 3 });
    expect(await store.use([useOf('5'), useOf('6', 'c')])).toEqual(['client_full', 'first']);
  });

  it('sweeps by itself as soon as it is open', async () => {
    await database.query(`insert into used_assertions values ('ended', 'a', 1, '')`);
    const { store, dependency } = await openUsedAssertions(
      { url: database.url, deadlineMs: DEADLINE_MS },
      clock,
      () => {},
    );
    opened.push(dependency);
    const isEmpty = async () => (await database.query('select from used_assertions')).length === 0;
    await until(isEmpty, 'the row is deleted');
    expect(store.load.used).toBe(0);
  });

  it('finds an assertion used for the first time if the response to the first statement was lost', async () => {
    const url = new URL(database.url);
    await using proxy = await FaultyProxy.to(Number(url.port));
    url.host = `127.0.0.1:${proxy.port}`;
    const store = await open(SMALL_LIMITS, url.href);
    await store.use([useOf('before')]);
    proxy.loseResponses();
    expect(await store.use([useOf('lost')])).toEqual(['first']);
    expect(await store.use([useOf('lost')])).toEqual(['replayed']);
    await closeAll();
  });

  it('throws DependencyUnavailable while the database is out of reach, and works again afterwards', async () => {
    const store = await open();
    await database.query('alter table used_assertions rename to moved');
    await expect(store.use([useOf('x')])).rejects.toThrow(DependencyUnavailable);
    await database.query('alter table moved rename to used_assertions');
    // A probe may have found that the table was missing. The next one finds it again.
    let outcomes: readonly UseOutcome[] = [];
    await until(async () => {
      outcomes = await store.use([useOf('x')]).catch(() => []);
      return outcomes.length > 0;
    }, 'the table is found again');
    expect(outcomes).toEqual(['first']);
  });
});
