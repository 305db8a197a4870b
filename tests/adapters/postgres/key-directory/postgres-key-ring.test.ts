import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DatabaseLine } from '../../../../adapters/postgres/database-log.ts';
import { DependencyUnavailable } from '../../../../application/ports/dependency-unavailable.ts';
import type { KeyRingChange } from '../../../../application/ports/key-ring-records.ts';
import type { SealedKey } from '../../../../application/ports/key-ring-store.ts';
import { describeKeyRingRecords, describeKeyRingStore } from '../../../contracts/key-ring-store.ts';
import { CREATE_CLIENTS } from '../../../support/clients-table.ts';
import { postgresKeyRing, postgresKeyRingRecords } from '../../../support/key-rings.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/test-database.ts';

let database: TestDatabase;
let closables: { close(): Promise<void> }[];

beforeAll(async () => {
  database = await createTestDatabase();
  await database.query(CREATE_CLIENTS);
}, 120_000);
afterAll(() => database.drop());
beforeEach(async () => {
  await database.query('drop table if exists key_ring');
  closables = [];
});
afterEach(() => closeAll());

const closeAll = () => Promise.all(closables.splice(0).map((part) => part.close()));

async function open(url = database.url) {
  const lines: DatabaseLine[] = [];
  const { store, dependency } = await postgresKeyRing({ url, deadlineMs: 2_000 }, (line) => lines.push(line));
  closables.push(dependency);
  return { store, dependency, lines };
}

async function openRecords(record?: (change: readonly KeyRingChange[], role: string | undefined) => void) {
  const recorder = record && { record, unconfirmed: () => {} };
  const records = await postgresKeyRingRecords(database.url, recorder);
  closables.push(records);
  return records;
}

function aKey(kid = 'one'): SealedKey {
  const [signsFrom, verifiesUntil, addedBefore] = [0, 1e10, 1e10];
  return {
    algorithm: 'RS256',
    kid,
    step: 0,
    sealed: 'x',
    publicationSeconds: 1,
    signsFrom,
    verifiesUntil,
    addedBefore,
  };
}

async function fresh() {
  const [{ store }, { store: other }] = [await open(), await open()];
  const records = await openRecords();
  return { store, other, records, now: () => Date.now() / 1_000, plant, close: async () => void (await closeAll()) };
}

async function plant(rows: number): Promise<void> {
  await database.query(`insert into key_ring (kid, created_at, known_at, signs_from, verifies_until)
    select 'planted-' || n, 0, 0, 0, 10000000000 from generate_series(1, ${rows}) as n`);
}

describeKeyRingStore('SqlKeyRing on PostgreSQL', fresh);
describeKeyRingRecords('SqlKeyRingRecords on PostgreSQL', fresh);

describe('the table key_ring', () => {
  it('is created if it is missing, with one key for each algorithm and step', async () => {
    expect((await open()).lines).toEqual([expect.objectContaining({ event: 'table_created' })]);
    const columns = await database.query(
      `select column_name, data_type, is_nullable, collation_name from information_schema.columns
        where table_name = 'key_ring' order by ordinal_position`,
    );
    expect(columns.map((column) => Object.values(column))).toEqual([
      ['kid', 'text', 'NO', 'C'],
      ['algorithm', 'text', 'YES', 'C'],
      ['step', 'bigint', 'YES', null],
      ['sealed', 'text', 'YES', null],
      ['created_at', 'bigint', 'NO', null],
      ['known_at', 'bigint', 'NO', null],
      ['signs_from', 'bigint', 'NO', null],
      ['verifies_until', 'bigint', 'NO', null],
      ['ended_at', 'bigint', 'YES', null],
      ['revoked_at', 'bigint', 'YES', null],
    ]);
    const insert = (kid: string) =>
      database.query(
        `insert into key_ring (kid, algorithm, step, created_at, known_at, signs_from, verifies_until)
          values ($1, 'RS256', 0, 0, 0, 0, 0)`,
        [kid],
      );
    await insert('one');
    await expect(insert('two')).rejects.toThrow('duplicate key');
  });

  it('is created once by replicas that start at the same moment', async () => {
    await Promise.all(Array.from({ length: 4 }, () => open()));
    await expect(database.query('select from key_ring')).resolves.toEqual([]);
  });

  it('serves a role that may only write this table', async () => {
    await open();
    const role = await database.createRole();
    await database.query(`grant select, insert, update, delete on key_ring to ${role.name}`);
    const { store } = await open(role.url);
    await store.add(aKey());
    expect((await store.read()).rows).toHaveLength(1);
  });

  it('is read from a database that is read-only, whose ring is ready with a note', async () => {
    const { store } = await open();
    await store.add(aKey());
    await database.query(
      `alter database ${new URL(database.url).pathname.slice(1)} set default_transaction_read_only = on`,
    );
    try {
      const readOnly = await open();
      expect((await readOnly.store.read()).rows).toHaveLength(1);
      await expect(readOnly.store.add(aKey('two'))).rejects.toThrow(DependencyUnavailable);
      expect(readOnly.dependency.readiness()).toMatchObject({ ready: true, note: { code: '25006' } });
    } finally {
      await database.query(
        `set default_transaction_read_only = off; alter database ${new URL(database.url).pathname.slice(1)} reset default_transaction_read_only`,
      );
    }
  });

  it('changes only what is recorded, with the role of the operator', async () => {
    await (await open()).store.add(aKey());
    const changes: unknown[] = [];
    const records = await openRecords((change, role) => changes.push(...change, role));
    await records.end('one', 5);
    await records.revoke({ kid: 'one' });
    await records.revoke({ kid: 'one' });
    await records.revoke({ kid: 'lost' });
    const [{ role } = { role: '' }] = (await database.query('select session_user::text as role')) as { role: string }[];
    expect(changes).toEqual([
      { change: 'ended', kid: 'one', endsAt: 5 },
      role,
      { change: 'revoked', kid: 'one', verifiesUntil: 1e10 },
      role,
      { change: 'revoked', kid: 'lost', verifiesUntil: undefined },
      role,
    ]);
    const refusing = await openRecords(() => {
      throw new Error('the disk is full');
    });
    await expect(refusing.revoke('all')).resolves.toEqual([]);
    await expect(refusing.revoke({ kid: 'two' })).rejects.toThrow(DependencyUnavailable);
    expect((await records.list()).rows).toHaveLength(2);
  });
});
