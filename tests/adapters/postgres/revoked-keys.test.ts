import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SIGNING_KEY_STATES, SIGNING_KEYS } from '../../../adapters/postgres/key-directory/key-tables.ts';
import { PostgresKeyDirectory } from '../../../adapters/postgres/key-directory/postgres-key-directory.ts';
import { PostgresKeyRecords } from '../../../adapters/postgres/keys-program/postgres-key-records.ts';
import { type OpenTable, openTable } from '../../../adapters/postgres/table.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { aKey, kidsIn } from '../../contracts/key-directory.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const DAY = 86_400;

let database: TestDatabase;
let tables: OpenTable[];
let records: PostgresKeyRecords;
let directory: PostgresKeyDirectory;

beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());

beforeEach(async () => {
  await database.query('drop table if exists signing_keys, signing_key_states');
  tables = [];
  directory = await open();
  records = await PostgresKeyRecords.open(database.url);
});
afterEach(async () => {
  await records.close();
  await Promise.all(tables.map((table) => table.close()));
});

async function open(url = database.url): Promise<PostgresKeyDirectory> {
  const options = { url, poolSize: 2, deadlineMs: 10_000 };
  const table = await openTable('key directory', SIGNING_KEYS, options, () => {}, undefined, SIGNING_KEY_STATES);
  tables.push(table);
  return new PostgresKeyDirectory(table.runner);
}

async function pass(seconds: number): Promise<void> {
  await database.query('update signing_keys set trusted_until = trusted_until - $1', [seconds]);
  await database.query('update signing_key_states set kept_until = kept_until - $1', [seconds]);
}

const tombstones = async () => (await database.query('select kid from signing_key_states')).map(({ kid }) => kid);

describe('the records of the key directory', () => {
  it('list every key with its replica and its times, by the clock of the database', async () => {
    await directory.publish([aKey('two', 300), aKey('one', 100)]);
    const now = Date.now() / 1000;
    const listed = await records.list();
    expect(listed.map(({ kid }) => kid)).toEqual(['one', 'two']);
    for (const [record, seconds] of [
      [listed[0], 100],
      [listed[1], 300],
    ] as const) {
      expect(record).toMatchObject({ replica: expect.stringContaining(`:${process.pid}`), revokedAt: undefined });
      expect(Math.abs((record?.publishedAt ?? 0) - now)).toBeLessThan(15);
      expect(Math.abs((record?.trustedUntil ?? 0) - now - seconds)).toBeLessThan(15);
    }
    // A second more: the directory rounds up.
    await pass(101);
    expect((await records.list()).map(({ kid }) => kid)).toEqual(['two']);
  });

  it('keep the time of the first publication', async () => {
    await directory.publish([aKey('one')]);
    await database.query('update signing_key_states set published_at = published_at - 1000');
    const [before] = await records.list();
    await directory.publish([aKey('one')]);
    expect((await records.list())[0]?.publishedAt).toBe(before?.publishedAt);
  });

  it('revoke no key that the directory does not know', async () => {
    await directory.publish([aKey('one')]);
    expect(await records.revoke('other')).toBeUndefined();
    expect(await kidsIn(directory)).toEqual(['one']);
    expect(await tombstones()).toEqual(['one']);
  });

  it.each([["key'"], ["'); delete from signing_keys; --"], ['caf\u00e9 \u{1F511}'], ['-x']])(
    'revoke exactly the key %s',
    async (kid) => {
      await directory.publish([aKey(kid), aKey('other')]);
      expect(await records.revoke(kid)).toMatchObject({ kid, revokedAt: expect.any(Number), trustedUntil: undefined });
      expect(await kidsIn(directory)).toEqual(['other']);
    },
  );

  it('report that the tables are missing, and create none', async () => {
    await database.query('drop table signing_keys, signing_key_states');
    await expect(records.list()).rejects.toThrow(DependencyUnavailable);
    await expect(records.revoke('one')).rejects.toMatchObject({
      cause: { message: 'table signing_keys does not exist' },
    });
    expect(await database.query(`select to_regclass('signing_keys') as found`)).toEqual([{ found: null }]);
  });
});

describe('a revoked key', () => {
  it('is not published again, and its publisher is told so', async () => {
    await directory.publish([aKey('leaked'), aKey('other')]);
    await records.revoke('leaked');
    const answer = await directory.publish([aKey('leaked'), aKey('other')]);
    expect(answer.revoked).toEqual(['leaked']);
    expect(answer.keys.map(({ jwk }) => jwk.kid)).toEqual(['other']);
    expect(await kidsIn(await open())).toEqual(['other']);
    expect((await directory.publish([aKey('other')])).revoked).toEqual([]);
  });

  it('never comes back, however many replicas publish while it is revoked', async () => {
    const directories = await Promise.all(Array.from({ length: 6 }, () => open()));
    for (let round = 0; round < 5; round += 1) {
      const kid = `leaked-${round}`;
      await directory.publish([aKey(kid)]);
      const publishing = directories.map(async (publisher) => {
        for (let time = 0; time < 5; time += 1) await publisher.publish([aKey(kid)]);
      });
      await records.revoke(kid);
      expect(await kidsIn(directory)).toEqual([]);
      await Promise.all(publishing);
      expect(await kidsIn(directory)).toEqual([]);
    }
  });

  it('is not trusted when a replica of an older version publishes it again, and its row is deleted', async () => {
    await directory.publish([aKey('leaked')]);
    await records.revoke('leaked');
    await database.query(`insert into signing_keys values ('leaked', 'n', 'AQAB', 4000000000)`);
    expect(await kidsIn(directory)).toEqual([]);
    expect((await records.list()).map(({ kid, trustedUntil }) => [kid, trustedUntil])).toEqual([['leaked', undefined]]);
    await directory.publish([aKey('other')]);
    expect(await database.query('select kid from signing_keys')).toEqual([{ kid: 'other' }]);
  });

  it('of a replica of an older version can be revoked too', async () => {
    await directory.publish([]);
    await database.query(`insert into signing_keys values ('older', 'n', 'AQAB', 4000000000)`);
    expect(await kidsIn(directory)).toEqual(['older']);
    expect(await records.list()).toMatchObject([{ kid: 'older', replica: undefined, publishedAt: undefined }]);
    await records.revoke('older');
    expect(await kidsIn(directory)).toEqual([]);
    expect(await records.list()).toMatchObject([{ kid: 'older', revokedAt: expect.any(Number) }]);
  });

  it('keeps the time of its revocation when it is revoked again', async () => {
    await directory.publish([aKey('leaked')]);
    const first = await records.revoke('leaked');
    await database.query('update signing_key_states set revoked_at = revoked_at - 1000');
    expect((await records.revoke('leaked'))?.revokedAt).toBe((first?.revokedAt ?? 0) - 1000);
  });

  it('is forgotten 30 days after the last attempt to publish it, and not earlier', async () => {
    await directory.publish([aKey('leaked')]);
    await records.revoke('leaked');
    await pass(29 * DAY);
    await directory.publish([aKey('leaked')]);
    await pass(29 * DAY);
    expect((await directory.publish([aKey('leaked')])).revoked).toEqual(['leaked']);
    await pass(31 * DAY);
    await directory.publish([aKey('other')]);
    expect(await tombstones()).toEqual(['other']);
  });
});

describe('the table signing_key_states', () => {
  it('is created beside an existing table signing_keys, which stays as it is', async () => {
    await database.query('drop table signing_key_states');
    await database.query(`insert into signing_keys values ('older', 'n', 'AQAB', 4000000000)`);
    const definition = `select column_name, data_type from information_schema.columns where table_name = 'signing_keys'`;
    const before = await database.query(definition);
    const upgraded = await open();
    expect(await kidsIn(upgraded)).toEqual(['older']);
    expect(await database.query(definition)).toEqual(before);
  });

  it('prevents the start if it is missing and the role may not create it', async () => {
    await database.query('drop table signing_key_states');
    const role = await database.createRole();
    await database.query(`grant select, insert, update, delete on signing_keys to ${role.name}`);
    await expect(open(role.url)).rejects.toThrow(
      'table signing_key_states does not exist, and the database role may not create it',
    );
  });

  it('does not grow: rows of keys that ended are deleted, with a margin', async () => {
    await directory.publish([aKey('old', 100)]);
    await pass(100 + 3_000);
    await directory.publish([]);
    expect(await tombstones()).toEqual(['old']);
    await pass(700);
    await directory.publish([]);
    expect(await tombstones()).toEqual([]);
  });
});
