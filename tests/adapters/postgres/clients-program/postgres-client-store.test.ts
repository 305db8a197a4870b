import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readDetails } from '../../../../adapters/files/clients-file.ts';
import { openClientsDatabase } from '../../../../adapters/postgres/clients-program/postgres-clients-database.ts';
import { migrateDatabase } from '../../../../adapters/postgres/migrate-database.ts';
import { grantOf } from '../../../../adapters/postgres/own-tables.ts';
import { CLIENTS } from '../../../../adapters/postgres/tables.ts';
import { SqlClientStore } from '../../../../adapters/sql/sql-client-store.ts';
import { ClientPlan } from '../../../../application/clients-program/client-plan.ts';
import type { ChangeRecorder } from '../../../../application/ports/change-recorder.ts';
import { type ClientChange, type PlannedClient, ValueRefused } from '../../../../application/ports/client-store.ts';
import type { DependencyUnavailable } from '../../../../application/ports/dependency-unavailable.ts';
import { NO_DETAILS } from '../../../../domain/client-details.ts';
import { success } from '../../../../domain/result.ts';
import { lock } from '../../../../domain/stored-secret.ts';
import { A_CLIENT } from '../../../contracts/client-repository.ts';
import { A_SOURCE, describeClientStore, NONE } from '../../../contracts/client-store.ts';
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

describeClientStore('SqlClientStore on PostgreSQL', async (recorder) => {
  await freshTables(database);
  const stores: SqlClientStore[] = [];
  const another = async () => {
    const store = await open(database.url, recorder);
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

describe('SqlClientStore on PostgreSQL without the column of details', () => {
  const details = { ...NO_DETAILS, resources: ['https://api.example/'] };
  let empty: TestDatabase;
  beforeAll(async () => {
    empty = await createTestDatabase();
    await empty.query(`${CREATE_CLIENTS}; alter table clients drop column credentials, drop column details`);
  });
  afterAll(() => empty.drop());

  it('manages clients that have none', async () => {
    await using store = await open(empty.url);
    await store.add({ ...A_CLIENT, details: NO_DETAILS });
    expect((await store.find('client-1'))?.details).toEqual(NO_DETAILS);
    const changed = await store.change('client-1', (stored) => success({ ...stored, clientSecret: '$2b$new' }));
    expect(changed).toMatchObject({ ok: true, value: { clientSecret: '$2b$new' } });
    expect(await store.remove('client-1')).toMatchObject({ clientId: 'client-1' });
  });

  it('stores nothing of a client with details, and says what to do', async () => {
    await using store = await open(empty.url);
    const said = { cause: { message: expect.stringContaining('run npm run migrate first') } };
    await expect(store.add({ ...A_CLIENT, details })).rejects.toMatchObject(said);
    expect(await store.find('client-1')).toBeUndefined();
    await store.add(A_CLIENT);
    const change = store.change('client-1', () => success({ clientSecret: '$2b$new', details }));
    await expect(change).rejects.toMatchObject(said);
    expect(await store.find('client-1')).toMatchObject({ clientSecret: A_CLIENT.clientSecret });
  });
});

describe('SqlClientStore on PostgreSQL', () => {
  it('lists and removes many clients', async () => {
    const latin = await createTestDatabase();
    await latin.query(`${CREATE_CLIENTS}; insert into clients (client_id, client_secret, client_name, scope, details)
      select 'é' || md5(n::text), '$2b$', 'x', 'read', case when n % 3 > 0 then '{"owner": "team-a"}' else '{}' end::jsonb
      from generate_series(1, 5000) as n`);
    const store = await open(latin.url);
    const listed = async (prefix: string) => (await collect(store.list({ prefix }))).length;
    expect([await listed('é'), await listed('e'), await listed('ÿ')]).toEqual([5_000, 0, 0]);
    const plan = new ClientPlan(store);
    const details = { ...NO_DETAILS, owner: 'team-a' };
    plan.add([{ ...A_CLIENT, details, plan: { action: 'added', version: undefined, changes: [] } }]);
    await plan.prune('team-a');
    expect(await plan.apply(A_SOURCE, 'team-a')).toEqual(success({ ...NONE, added: 1, removed: 3_334 }));
    expect(await listed('')).toBe(1_667);
    await store.close();
    await latin.drop();
  }, 60_000);

  it('reports details that another program has broken, and replaces nothing of them', async () => {
    await freshTables(database);
    await clientsTable(database).add(A_CLIENT);
    await database.query(`update clients set credentials = '{"secrets": 7, "mine": {}}'`);
    await using store = await open();
    expect(await store.find('client-1')).toMatchObject({
      problem: expect.stringContaining('secrets must be an array'),
    });
    const change = store.change('client-1', () => success({ details: NO_DETAILS }));
    expect(await change).toEqual({ ok: false, problem: 'details_unreadable' });
    expect(await store.change('client-1', secretEdit(lock))).toMatchObject({ ok: true });
    expect(await database.query('select credentials from clients')).toEqual([
      { credentials: { secrets: 7, mine: {} } },
    ]);
  });

  it.each<[string, (store: SqlClientStore) => Promise<unknown>]>([
    ['an addition', (store) => store.add({ ...A_CLIENT, clientId: 'client-2' })],
    ['a change', (store) => store.change('client-1', secretEdit(lock))],
    ['a change of details', (store) => store.change('client-1', () => success({ details: NO_DETAILS }))],
    ['a removal', (store) => store.remove('client-1')],
    [
      'a plan that changes it',
      async (store) => {
        const plan = new ClientPlan(store);
        const [{ version = '' } = {}] = await store.findAll(['client-1']);
        const [clientName, changes] = ['New', ['client_name']];
        plan.add([{ ...A_CLIENT, clientName, plan: { action: 'replaced', version, changes } }]);
        return plan.apply(A_SOURCE);
      },
    ],
    [
      'a plan that adds another',
      async (store) => {
        const plan = new ClientPlan(store);
        const added = { action: 'added', version: undefined, changes: [] } as const;
        plan.add([{ ...A_CLIENT, clientId: 'client-2', plan: added }]);
        return plan.apply(A_SOURCE);
      },
    ],
  ])('refuses %s that a trigger of the table leaves out, and records nothing', async (_name, change) => {
    await database.query(`drop table if exists clients; ${CREATE_CLIENTS}`);
    await clientsTable(database).add({ ...A_CLIENT, details: { ...NO_DETAILS, owner: 'team-a' } });
    const before = await database.query('select * from clients');
    await database.query(`create or replace function leave_out() returns trigger language plpgsql as 'begin return null; end';
      create trigger leave_out before insert or update or delete on clients for each row execute function leave_out()`);
    const recorded: ClientChange[] = [];
    const keep = (changed: ClientChange) => void recorded.push(changed);
    const recorder = { record: keep, unconfirmed: () => {} };
    await using store = await open(database.url, recorder);
    const cause = { message: expect.stringContaining('a trigger or a policy of the table') };
    await expect(change(store)).rejects.toMatchObject({ name: 'ValueRefused', cause });
    expect(await database.query('select * from clients')).toEqual(before);
    expect(recorded).toEqual([]);
  });

  it('never shows what a trigger says of a row', async () => {
    await database.query(`drop table if exists clients; ${CREATE_CLIENTS}`);
    await clientsTable(database).add(A_CLIENT);
    await database.query(`create or replace function complain() returns trigger language plpgsql as
      'begin raise exception ''%'', old; end'; create trigger complain before delete on clients for each row execute function complain()`);
    await using store = await open(database.url);
    const cause = { message: 'the database refused a value', code: 'P0001' };
    await expect(store.remove('client-1')).rejects.toMatchObject({ name: 'ValueRefused', cause });
  });

  it('replaces clients whose columns have different collations', async () => {
    await database.query(`drop table if exists clients; ${CREATE_CLIENTS};
      alter table clients alter client_name type text collate "POSIX", alter scope type text collate "C"`);
    await clientsTable(database).add(A_CLIENT);
    await using store = await open();
    const plan = new ClientPlan(store);
    const [{ version = '' } = {}] = await store.findAll(['client-1']);
    plan.add([{ ...A_CLIENT, clientName: 'New', plan: { action: 'replaced', version, changes: ['client_name'] } }]);
    expect(await plan.apply(A_SOURCE)).toMatchObject({ ok: true });
    expect(await store.find('client-1')).toMatchObject({ clientName: 'New' });
  });

  it('replaces clients of a large table by an index, and writes no row that stays as it is', async () => {
    await database.query(`drop table if exists clients; ${CREATE_CLIENTS}; insert into clients (client_id, client_secret, client_name, scope)
      select 'client-' || n, '${A_CLIENT.clientSecret}', 'A name', 'read' from generate_series(1, 60000) as n; analyze clients`);
    // To build an index is to read the whole table, which the server counts for this session at some later time.
    await database.query('select pg_stat_force_next_flush()');
    const before = await usage();
    await using store = await open();
    const found = await store.findAll(Array.from({ length: 2_000 }, (_, number) => `client-${number + 1}`));
    const plan = new ClientPlan(store);
    plan.add(
      found.map(({ version, ...client }, number): PlannedClient => {
        const changes = number < 10 ? ['client_name'] : [];
        return { ...client, clientName: 'Another name', plan: { action: 'replaced', version, changes } };
      }),
    );
    expect(await plan.apply(A_SOURCE)).toEqual(success({ ...NONE, replaced: 2_000 }));
    await store.close();
    await until(async () => (await usage()).updated === 10, 'what the plan did is counted');
    expect(await usage()).toMatchObject({ updated: 10, wholeReads: before.wholeReads });
  });

  it('names the constraint of the table that keeps a client out', async () => {
    await database.query(`drop table if exists clients; ${CREATE_CLIENTS}`);
    await database.query('alter table clients add constraint names_are_unique unique (client_name)');
    await using store = await open();
    await store.add(A_CLIENT);
    const refused = await store.add({ ...A_CLIENT, clientId: 'another' }).catch((fault: unknown) => fault);
    expect(refused).toBeInstanceOf(ValueRefused);
    expect(String((refused as ValueRefused).cause)).toContain('names_are_unique');
    expect(await store.add(A_CLIENT)).toBeUndefined();
  });

  it('says that a policy may hide all clients, instead of finding none', async () => {
    await database.query(`drop table if exists clients; ${CREATE_CLIENTS}`);
    await using owner = await open();
    await owner.add(A_CLIENT);
    const role = await database.createRole();
    await database.query(grantOf('clients', CLIENTS, role.name));
    await database.query('alter table clients enable row level security');
    await database.query('create policy others on clients using (scope = $$nobody$$)');
    await using store = await open(role.url);
    const listed = await collect(store.list({ prefix: '' })).catch((fault: unknown) => fault);
    expect(String((listed as DependencyUnavailable).cause)).toContain(
      'row-level security of table clients shows this role no row',
    );
    await database.query(`create policy all_rows on clients to ${role.name} using (true)`);
    await using again = await open(role.url);
    expect(await again.find(A_CLIENT.clientId)).toBeDefined();
    await database.query(`drop owned by ${role.name}`);
  });

  it('gives a role what it needs of the sequence of a serial id', async () => {
    await database.query(`drop table if exists clients; ${CREATE_CLIENTS}`);
    await database.query('alter table clients alter column id drop identity');
    await database.query('create sequence own_ids owned by clients.id');
    await database.query("alter table clients alter column id set default nextval('own_ids')");
    const role = await database.createRole();
    const done = await migrateDatabase(database.url, { grantTo: role.name, roleFor: 'clients' });
    expect(done.join('\n')).toMatch(/usage on sequence .*own_ids to/);
    await using store = await open(role.url);
    await store.add(A_CLIENT);
    expect(await store.find(A_CLIENT.clientId)).toBeDefined();
    expect((await migrateDatabase(database.url, { grantTo: role.name, roleFor: 'clients' })).join()).not.toContain(
      'sequence',
    );
    await database.query(`drop owned by ${role.name}`);
  });

  it('loses no change if the database isolates transactions more strictly by default', async () => {
    await database.query(`drop table if exists clients; ${CREATE_CLIENTS}`);
    await using owner = await open();
    await owner.add({ ...A_CLIENT, clientSecret: '' });
    const role = await database.createRole();
    await database.query(grantOf('clients', CLIENTS, role.name));
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
): Promise<SqlClientStore & AsyncDisposable> {
  const store = new SqlClientStore(await openClientsDatabase(url), readDetails, recorder);
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}

/** Whether all sessions of stores have ended: the server counts what a session did when it ends. */
/** What the server counts for the table: reads of all rows, and rows that were inserted and updated. */
async function usage() {
  const [row] = await database.query(
    `select seq_scan::int as "wholeReads", n_tup_upd::int as "updated"
      from pg_stat_user_tables where relname = 'clients'`,
  );
  return row as { readonly wholeReads: number; readonly updated: number };
}

async function secrets(): Promise<readonly unknown[]> {
  return (await database.query('select client_secret from clients')).map((row) => row['client_secret']);
}
