import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openConnection } from '../../../adapters/postgres/connection.ts';
import { runStatement } from '../../../adapters/postgres/runner.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const STATEMENTS = 12;

/** A URL that the driver cannot read: the password is not percent-encoded. */
const UNREADABLE = 'postgresql://role:p%ff@127.0.0.1/database';

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'connection-'));
}, 120_000);
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});

/**
 * A pool whose connections are all in use, with statements that wait for one, while `spoil` makes the next client
 * impossible.
 */
async function outcomes(url: () => string, spoil: () => Promise<void>, repair: () => Promise<void>) {
  const connection = await openConnection({ url, poolSize: 2, deadlineMs: 10_000 });
  connection.pool.on('error', () => {});
  const answers = async (text: string) => {
    const rows = await runStatement<{ readonly one: number }>(connection, { text }).catch(() => undefined);
    return rows?.[0]?.one;
  };
  try {
    const first = await answers('select 1 as one');
    await spoil();
    const ended = 'select 1 as one, pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid())';
    const broken = await Promise.all(Array.from({ length: STATEMENTS }, () => answers(ended)));
    await repair();
    return { first, broken, last: await answers('select 1 as one') };
  } finally {
    await connection.close();
  }
}

describe('a pool whose next connection cannot be made', () => {
  it('fails the statements that wait, and goes on when the URL can be read again', async () => {
    let url = database.url;
    const { first, broken, last } = await outcomes(
      () => url,
      async () => {
        url = UNREADABLE;
      },
      async () => {
        url = database.url;
      },
    );
    expect([first, last]).toEqual([1, 1]);
    expect(broken).toEqual(Array.from({ length: STATEMENTS }, () => undefined));
  });

  it('fails them when a file of the URL is missing, and goes on when it is there again', async () => {
    const file = join(folder, 'ca.pem');
    await writeFile(file, '');
    const url = new URL(database.url);
    url.searchParams.set('sslmode', 'disable');
    url.searchParams.set('sslrootcert', file);
    const { first, broken, last } = await outcomes(
      () => url.href,
      () => rename(file, `${file}.away`),
      () => rename(`${file}.away`, file),
    );
    expect([first, last]).toEqual([1, 1]);
    expect(broken).toEqual(Array.from({ length: STATEMENTS }, () => undefined));
  });
});

it('every connection of a pool reads what is committed, whatever the role has by default', async () => {
  await database.query(
    `do $$ begin execute format('alter database %I set default_transaction_isolation = serializable', current_database()); end $$`,
  );
  const connection = await openConnection({ url: database.url, poolSize: 2, deadlineMs: 10_000 });
  try {
    const text = `select pg_catalog.current_setting('transaction_isolation') as "isolation", pg_catalog.pg_sleep(0.1)`;
    const both = await Promise.all(
      [1, 2].map(() => runStatement<{ readonly isolation: string }>(connection, { text })),
    );
    expect(both.map(([row]) => row?.isolation)).toEqual(['read committed', 'read committed']);
  } finally {
    await connection.close();
  }
});
