import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { PostgresClientStore } from '../../../../adapters/postgres/clients-program/postgres-client-store.ts';
import { grantOf, tablesOf } from '../../../../adapters/postgres/privileges.ts';
import type { ChangeRecorder } from '../../../../application/ports/change-recorder.ts';
import type { ClientChange } from '../../../../application/ports/client-store.ts';
import { NO_DETAILS } from '../../../../domain/client-details.ts';
import { success } from '../../../../domain/result.ts';
import { lock, replaceSecret } from '../../../../domain/stored-secret.ts';
import { A_CLIENT } from '../../../contracts/client-repository.ts';
import { A_FILE, describeClientStore } from '../../../contracts/client-store.ts';
import { CREATE_CLIENTS, clientsTable } from '../../../support/clients-table.ts';
import { collect } from '../../../support/collect.ts';
import { freshTables } from '../../../support/details-tables.ts';
import { secretEdit } from '../../../support/secret-edit.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/test-database.ts';
import { until } from '../../../support/until.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());

describeClientStore('PostgresClientStore', async (recorder) => {
  await freshTables(database);
  const stores: PostgresClientStore[] = [];
  const another = async () => {
    const store = await PostgresClientStore.open(database.url, recorder);
    stores.push(store);
    return store;
  };
  return {
    store: await another(),
    another,
    async close() {
      await Promise.all(stores.map((store) => store.close()));
    },
  };
});

describe('PostgresClientStore without the tables of details', () => {
  const details = { ...NO_DETAILS, resources: ['https://api.example/'] };
  let empty: TestDatabase;
  beforeAll(async () => {
    empty = await createTestDatabase();
    await empty.query(CREATE_CLIENTS);
  });
  afterAll(() => empty.drop());

  it('manages clients that have none', async () => {
    await using store = await open(empty.url);
    await store.add({ ...A_CLIENT, details: NO_DETAILS });
    expect((await store.find('client-1')).details).toEqual(NO_DETAILS);
    const changed = await store.change('client-1', (stored) => success({ ...stored, clientSecret: '$2b$new' }));
    expect(changed).toMatchObject({ ok: true, value: { clients: [{ clientSecret: '$2b$new' }] } });
    expect(await store.remove('client-1')).toHaveLength(1);
  });

  it('stores nothing of a client with details, and says what to do', async () => {
    await using store = await open(empty.url);
    const said = { cause: { message: expect.stringContaining('run npm run migrate first') } };
    await expect(store.add({ ...A_CLIENT, details })).rejects.toMatchObject(said);
    expect((await store.find('client-1')).clients).toEqual([]);
    await store.add(A_CLIENT);
    const change = store.change('client-1', () => success({ clientSecret: '$2b$new', details }));
    await expect(change).rejects.toMatchObject(said);
    expect((await store.find('client-1')).clients).toMatchObject([{ clientSecret: A_CLIENT.clientSecret }]);
  });
});

describe('PostgresClientStore', () => {
  it('changes every row of an id that a table without a unique index has twice, each by its own lock', async () => {
    await database.query('drop table if exists clients');
    await database.query(
      'create table clients (id bigint, client_id text, client_secret text, client_name text, scope text)',
    );
    const { add } = clientsTable(database);
    await add(A_CLIENT);
    await add({ ...A_CLIENT, clientSecret: lock(A_CLIENT.clientSecret), clientName: 'Its double' });
    await using store = await open();
    await store.change(
      'client-1',
      secretEdit((stored) => replaceSecret(stored, '$2b$new')),
    );
    expect((await secrets()).toSorted()).toEqual(['!$2b$new', '$2b$new']);
    const clients = await store.startImport();
    await clients.add([{ ...A_CLIENT, clientSecret: '$2b$newer' }]);
    expect(await clients.save(A_FILE, 'replace')).toMatchObject({ value: { added: 0, replaced: 2, locked: 1 } });
    expect((await secrets()).toSorted()).toEqual(['!$2b$newer', '$2b$newer']);
  });

  it('records a change of each row of an id that is there twice, also if it changes only the second row', async () => {
    await freshTables(database);
    await database.query('drop table if exists clients');
    await database.query(
      'create table clients (id bigint, client_id text, client_secret text, client_name text, scope text)',
    );
    const locked = lock(A_CLIENT.clientSecret);
    await clientsTable(database).add({ ...A_CLIENT, clientSecret: locked });
    await clientsTable(database).add(A_CLIENT);
    await database.query('update clients set id = case when client_secret = $1 then 1 else 2 end', [locked]);
    const recorded: ClientChange[] = [];
    const recorder = { record: (change: ClientChange) => recorded.push(change), unconfirmed: () => {} };
    await using store = await open(database.url, recorder);
    const [first, second] = [
      { id: '1', clientSecret: locked },
      { id: '2', clientSecret: A_CLIENT.clientSecret },
    ];
    await store.change('client-1', secretEdit(lock));
    const changeOfSecond = { before: { client: second }, after: { client: { ...second, clientSecret: locked } } };
    expect(recorded.splice(0)).toMatchObject([{ kind: 'clients', clients: [changeOfSecond] }]);

    const resources = ['https://api.example/'];
    await store.change('client-1', ({ clientSecret, details }) =>
      success({ clientSecret, details: { ...details, resources } }),
    );
    const changeOf = (id: string) => ({
      before: { client: { id } },
      after: { client: { id }, details: { resources } },
    });
    expect(recorded.splice(0)).toMatchObject([{ kind: 'clients', clients: [changeOf('1'), changeOf('2')] }]);

    await store.remove('client-1');
    const removed = [first, { ...second, clientSecret: locked }].map((client) => ({
      before: { client, details: { resources } },
    }));
    expect(recorded).toMatchObject([{ kind: 'clients', clients: removed }]);
  });

  it('lists every row of a table in which an id has more rows than a page, and rows without an id', async () => {
    await database.query('drop table if exists clients');
    await database.query(
      'create table clients (id int generated always as identity, client_id text, client_secret text, client_name text, scope text)',
    );
    await database.query(`insert into clients (client_id)
      select case when n <= 300 then 'a' when n <= 1600 then 'b' when n <= 2200 then null else 'c' end
      from generate_series(1, 2300) as n`);
    await using store = await open();
    const ids = (await collect(store.list({ prefix: '' }))).map(({ id }) => Number(id));
    expect(new Set(ids).size).toBe(2_300);
    expect(ids.slice(-600)).toEqual(Array.from({ length: 600 }, (_, index) => 1_601 + index));
  });

  it('replaces clients by an index, whatever the size of the table, and writes no row that has the given values already', async () => {
    await database.query(`drop table if exists clients; ${CREATE_CLIENTS}`);
    // To build an index is to read the whole table, which the server counts for this session at some later time.
    await database.query('select pg_stat_force_next_flush()');
    const many = Array.from({ length: 6_000 }, (_, number) => ({ ...A_CLIENT, clientId: `client-${number}` }));
    const changed = many.map((client, number) => (number < 10 ? { ...client, clientName: 'Another name' } : client));
    const importAll = async (clients: typeof many) => {
      await using store = await open();
      const started = await store.startImport();
      await started.add(clients);
      await started.save(A_FILE, 'replace');
    };
    await importAll(many);
    await until(isCounted, 'what the first import did is counted');
    const before = await usage();
    await importAll(changed);
    await until(isCounted, 'what the second import did is counted');
    expect(await usage()).toMatchObject({ updated: 10, wholeReads: before.wholeReads });
  });

  it('repeats an import that the server ended because of a deadlock', async () => {
    await database.query(`drop table if exists clients; ${CREATE_CLIENTS}`);
    await using store = await open();
    const many = Array.from({ length: 10 }, (_, number) => ({ ...A_CLIENT, clientId: `client-${number}` }));
    await Promise.all(many.map((client) => store.add(client)));
    // Another program locks the last row first, and the first row when the import has it and waits for the last one.
    const rival = new pg.Client({ connectionString: database.url });
    await rival.connect();
    await rival.query('begin');
    // The server ends the transaction that notices the deadlock first: the import, which waits with the default of one second.
    await rival.query("set local deadlock_timeout = '1min'");
    await rival.query("select from clients where client_id = 'client-9' for update");
    const clients = await store.startImport();
    await clients.add(many.map((client) => ({ ...client, clientName: 'Imported' })));
    const saved = clients.save(A_FILE, 'replace');
    await until(async () => (await waiting()) === 1, 'the import waits');
    await rival.query("select from clients where client_id = 'client-0' for update");
    await rival.query('commit');
    await rival.end();
    expect(await saved).toMatchObject({ value: { added: 0, replaced: 10 } });
  });

  it('loses no change if the database isolates transactions more strictly by default', async () => {
    await database.query(`drop table if exists clients; ${CREATE_CLIENTS}`);
    await using owner = await open();
    await owner.add({ ...A_CLIENT, clientSecret: '' });
    const role = await database.createRole();
    for (const table of tablesOf('clients')) await database.query(grantOf('clients', table, role.name));
    await database.query(`alter role ${role.name} set default_transaction_isolation = 'serializable'`);
    await using one = await open(role.url);
    await using two = await open(role.url);
    await Promise.all([one, two].map((store) => collect(store.list({ prefix: '' }))));
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(
        [one, two].map((store) =>
          store.change(
            'client-1',
            secretEdit((stored) => `${stored}x`),
          ),
        ),
      );
    }
    expect(await secrets()).toEqual(['x'.repeat(20)]);
    await database.query(`revoke all on all tables in schema public from ${role.name}`);
  });
});

async function open(
  url = database.url,
  recorder?: ChangeRecorder<ClientChange>,
): Promise<PostgresClientStore & AsyncDisposable> {
  const store = await PostgresClientStore.open(url, recorder);
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}

/** How many sessions of this database wait for a lock. */
async function waiting(): Promise<number> {
  const [row] = await database.query(
    "select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return Number(row?.['count']);
}

/** Whether all sessions of stores have ended: the server counts what a session did when it ends. */
async function isCounted(): Promise<boolean> {
  const sessions = await database.query(
    `select from pg_stat_activity where datname = current_database()
      and application_name = 'client-credentials-authorization-service'`,
  );
  return sessions.length === 0;
}

/** What the server counts for the table: reads of all rows, and rows that were inserted and updated. */
async function usage() {
  const [row] = await database.query(
    `select seq_scan::int as "wholeReads", n_tup_ins::int as "inserted", n_tup_upd::int as "updated"
      from pg_stat_user_tables where relname = 'clients'`,
  );
  return row as { readonly wholeReads: number; readonly inserted: number; readonly updated: number };
}

async function secrets(): Promise<readonly unknown[]> {
  return (await database.query('select client_secret from clients')).map((row) => row['client_secret']);
}
