import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inspectDatabase } from '../../support/inspect-database.ts';
import { isInstalled, where } from '../../support/installed.ts';
import { losingStatements, startPgBouncer } from '../../support/pg-bouncer.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const PARAMETERS = { ignore_startup_parameters: 'statement_timeout,lock_timeout' };

let database: TestDatabase;
let role: { readonly name: string; readonly url: string };
beforeAll(async () => {
  database = await createTestDatabase();
  role = await database.createRole();
  await database.query(`create table clients (id bigint primary key, client_id text not null unique,
    client_secret text not null, client_name text not null, scope text not null)`);
  await database.query(`grant select on clients to ${role.name}`);
}, 120_000);
afterAll(() => database.drop());

async function problemsAt(url: string) {
  const findings = await inspectDatabase(url);
  return findings.filter(({ state }) => state === 'problem');
}

const place = (url: string) => new URL(url).host;

where(isInstalled('pgbouncer'), describe)('the doctor behind PgBouncer', () => {
  it('names the setting that lets its start-up parameters pass', async () => {
    await using pooler = await startPgBouncer(role.url, { pool_mode: 'session' });
    expect(await problemsAt(pooler.url)).toEqual([
      {
        state: 'problem',
        text: `${place(pooler.url)}: the proxy in front of it refuses what the service sends when it connects (08P01)`,
        fix: 'set ignore_startup_parameters = statement_timeout,lock_timeout in the settings of PgBouncer',
      },
    ]);
  });

  it('finds that transaction pooling loses prepared statements, each time', async () => {
    await using pooler = await startPgBouncer(role.url, {
      pool_mode: 'transaction',
      ...losingStatements(),
      ...PARAMETERS,
    });
    for (const _ of [1, 2]) {
      expect(await problemsAt(pooler.url)).toEqual([
        {
          state: 'problem',
          text: expect.stringMatching(/: the proxy in front of it loses prepared statements \((42P05|26000)\)$/),
          fix: expect.stringContaining('max_prepared_statements'),
        },
      ]);
    }
  });

  it('finds no problem with session pooling', async () => {
    await using pooler = await startPgBouncer(role.url, { pool_mode: 'session', ...PARAMETERS });
    expect(await problemsAt(pooler.url)).toEqual([]);
  });
});
