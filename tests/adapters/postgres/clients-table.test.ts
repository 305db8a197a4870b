import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DatabaseLine } from '../../../adapters/postgres/database-log.ts';
import { migrateDatabase } from '../../../adapters/postgres/migrate-database.ts';
import { A_CLIENT } from '../../contracts/client-repository.ts';
import { clientsTable } from '../../support/clients-table.ts';
import { inspectDatabase } from '../../support/inspect-database.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { until } from '../../support/until.ts';
import { type OpenRepository, openRepository } from './open-repository.ts';

const TABLE = `create table clients (id bigint generated always as identity, client_id text not null unique,
  client_secret text not null, client_name text not null, scope text not null)`;

/** What the administrator of the tests may do. */
const MAY_WRITE = {
  event: 'role_may_write_clients',
  role: expect.any(String),
  fix: 'give DATABASE_URL a role of its own: npm run migrate -- --grant-to <role>, which keeps this one for migrations',
};

let database: TestDatabase;
let lines: DatabaseLine[];
beforeEach(async () => {
  database = await createTestDatabase();
  lines = [];
}, 120_000);
afterEach(() => database.drop());

describe('a missing table clients', () => {
  it('is created with a generated row id and unique client ids that are compared byte by byte', async () => {
    await openAndClose();
    expect(await columns()).toEqual([
      ['id', 'bigint', 'NO', 'YES', null],
      ['client_id', 'text', 'NO', 'NO', 'C'],
      ['client_secret', 'text', 'NO', 'NO', null],
      ['credentials', 'jsonb', 'NO', 'NO', null],
      ['client_name', 'text', 'NO', 'NO', null],
      ['scope', 'text', 'NO', 'NO', null],
      ['details', 'jsonb', 'NO', 'NO', null],
    ]);
    const { add } = clientsTable(database);
    await add(A_CLIENT);
    await expect(add(A_CLIENT)).rejects.toMatchObject({ code: '23505' });
    expect(lines).toEqual([{ event: 'table_created' }, MAY_WRITE]);
  });

  it('is created once by many replicas that start at the same time, without an error', async () => {
    for (let round = 0; round < 5; round += 1) {
      lines = [];
      await database.query('drop table if exists clients');
      await Promise.all(Array.from({ length: 8 }, () => openAndClose()));
      expect(lines.filter(({ event }) => event === 'table_created')).toHaveLength(1);
    }
  });

  it.each([
    ['key_ring', 'sealed'],
    ['used_assertions', 'kept_until'],
  ])('prevents the start if %s is there with %s, since it was lost then, and is not created', async (other, column) => {
    await database.query(`create table ${other} (${column} text)`);
    await expect(open()).rejects.toThrow(`table clients does not exist, and ${other} does: bring it back`);
    await expect(migrateDatabase(database.url)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('bring it back') },
    });
    expect(await columns()).toEqual([]);
  });

  it('is created beside tables of another application that have the names of ours', async () => {
    await database.query('create table used_assertions (vendor text); create table key_ring (melody text)');
    await using opened = await open();
    expect(opened.readiness()).toMatchObject({ ready: true });
    expect(lines).toContainEqual({ event: 'table_created' });
  });

  it('causes a note as long as it has no client', async () => {
    await using opened = await open();
    const text = 'no client is registered, so nobody gets a token';
    expect(opened.readiness()).toMatchObject({ ready: true, note: { text, fix: expect.stringContaining('add') } });
    const { add, remove } = clientsTable(database);
    await add(A_CLIENT);
    await until(() => !('note' in opened.readiness()), 'the note has ended');
    await remove(A_CLIENT.clientId);
    await until(() => 'note' in opened.readiness(), 'the note is back');
  });

  it('prevents the start if the role may not create it', async () => {
    const { url } = await database.createRole();
    await expect(open(url)).rejects.toThrow('table clients does not exist, and the database role may not create it');
  });
});

describe('a table clients of another application', () => {
  it('may have more columns, and is never altered', async () => {
    await database.query(`${TABLE.slice(0, -1)}, created_at timestamptz default now(), notes text[])`);
    await clientsTable(database).add(A_CLIENT);
    const before = await columns();
    await using opened = await open();
    expect((await opened.repository.findByClientId('client-1')).kind).toBe('found');
    expect(await columns()).toEqual(before);
    expect(lines).toEqual([MAY_WRITE]);
  });

  it('keeps a column, an index, a trigger and a table of others at startup and in a migration', async () => {
    await database.query(`${TABLE.slice(0, -1)}, notes text);
      create index clients_notes on clients (notes); create table others (id int);
      create function keep_notes() returns trigger language plpgsql as $$ begin return new; end $$;
      create trigger notes before update on clients for each row execute function keep_notes()`);
    const found = () =>
      database.query(`select attname::text as name from pg_attribute where attrelid = 'clients'::regclass and attname = 'notes'
        union all select relname::text from pg_class where relname in ('clients_notes', 'others')
        union all select tgname::text from pg_trigger where tgname = 'notes'`);
    const before = await found();
    expect(before).toHaveLength(4);
    await openAndClose();
    await migrateDatabase(database.url);
    await openAndClose();
    expect(await found()).toEqual(before);
    await database.query('drop table others; drop table clients; drop function keep_notes');
  });

  it('may be written by the role of the service, which is one doubt at startup and in the doctor, until it may only read', async () => {
    await database.query(TABLE);
    const role = await database.createRole();
    const found = async () => {
      lines = [];
      await openAndClose(role.url);
      return [lines, (await inspectDatabase(role.url)).filter(({ text }) => text.startsWith(MAY_WRITE.event))];
    };
    await database.query(`grant select on clients to ${role.name}`);
    expect(await found()).toEqual([[], []]);
    for (const right of ['insert', 'update', 'delete', 'truncate']) {
      await database.query(`grant ${right} on clients to ${role.name}`);
      const doubt = expect.objectContaining({ state: 'note', fix: MAY_WRITE.fix });
      expect(await found()).toEqual([[{ ...MAY_WRITE, role: role.name }], [doubt]]);
      await database.query(`revoke ${right} on clients from ${role.name}`);
    }
  });

  it.each(['id', 'client_id', 'client_secret', 'client_name', 'scope'])(
    'prevents the start if it lacks %s',
    async (name) => {
      await database.query(TABLE);
      await database.query(`alter table clients drop column ${name}`);
      await expect(open()).rejects.toThrow(
        `table clients has no column ${name} as the service needs it: docs/operate.md, Roles and grants, has the columns`,
      );
    },
  );

  it('prevents the start if it is a view', async () => {
    await database.query(`${TABLE}; alter table clients rename to own; create view clients as select * from own`);
    await expect(open()).rejects.toThrow(/^table clients has no column .*client_id.* as the service needs it/);
  });

  it('requires only SELECT', async () => {
    await database.query(TABLE);
    await clientsTable(database).add(A_CLIENT);
    const role = await database.createRole();
    await database.query(`grant select on clients to ${role.name}`);
    await using opened = await open(role.url);
    expect((await opened.repository.findByClientId('client-1')).kind).toBe('found');
  });

  it('requires SELECT only on the five columns', async () => {
    await database.query(`${TABLE.slice(0, -1)}, internal_notes text)`);
    await clientsTable(database).add(A_CLIENT);
    const role = await database.createRole();
    await database.query(`grant select (id, client_id, client_secret, client_name, scope) on clients to ${role.name}`);
    await using opened = await open(role.url);
    expect((await opened.repository.findByClientId('client-1')).kind).toBe('found');
  });

  it('prevents the start if the role may not read it', async () => {
    await database.query(TABLE);
    const role = await database.createRole();
    await database.query(`grant select (id, client_id, client_name) on clients to ${role.name}`);
    await expect(open(role.url)).rejects.toThrow(
      'the database role may not use table clients as the service does: npm run migrate -- --grant-to <role>',
    );
  });
});

function open(url = database.url): Promise<OpenRepository> {
  return openRepository({ url, poolSize: 2, deadlineMs: 5_000 }, (line) => lines.push(line));
}

async function openAndClose(url?: string): Promise<void> {
  await (await open(url)).close();
}

async function columns(): Promise<unknown[][]> {
  const rows = await database.query(
    `select column_name, data_type, is_nullable, is_identity, collation_name from information_schema.columns
      where table_name = 'clients' order by ordinal_position`,
  );
  return rows.map((row) => Object.values(row));
}
