import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { ReplicaWithClocks } from '../support/replica-with-clocks.ts';
import { OPERATOR_TOKEN, readStatus } from '../support/status.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

describe('the status of two replicas that share their keys', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    await migrateDatabase(database.url);
  }, 120_000);
  afterAll(() => database.drop());

  it('shows the other one with its clock offset, and its key', async () => {
    const settings = {
      DATABASE_URL: database.url,
      KEY_DIRECTORY: 'postgres',
      KEY_PUBLICATION_SECONDS: '1',
      MANAGEMENT_TOKEN: OPERATOR_TOKEN,
    };
    await using early = await ReplicaWithClocks.start(settings, 5);
    await early.untilReady();
    await using late = await ReplicaWithClocks.start({ ...settings });
    await late.untilReady();

    // Each replica registers itself, and reads who else has, every few seconds.
    const replicasOf = async () => (await readStatus(late.managementUrl)).replicas;
    await until(async () => (await replicasOf()).length > 1, 'the other replica is shown');
    const [own, other, ...more] = await replicasOf();
    expect(more).toEqual([]);
    expect(own).toEqual({
      name: expect.stringMatching(new RegExp(`:${late.program.process.pid}$`)),
      clock_offset_seconds: expect.any(Number),
      seen_at: null,
    });
    expect(Math.abs(own?.clock_offset_seconds ?? 9)).toBeLessThan(2);
    expect(other?.name).toMatch(new RegExp(`:${early.program.process.pid}$`));
    expect(Math.abs((other?.clock_offset_seconds ?? 0) - 5)).toBeLessThan(2);
    expect(Math.abs((other?.seen_at ?? 0) - Date.now() / 1_000)).toBeLessThan(60);

    const { keys, database: directory } = await readStatus(late.managementUrl);
    const signing = (await readStatus(early.managementUrl)).keys.find(({ state }) => state === 'signing');
    expect(keys.find(({ kid }) => kid === signing?.kid)).toMatchObject({ state: 'trusted', from: null });
    expect(directory?.state).toBe('available');
  });
});
